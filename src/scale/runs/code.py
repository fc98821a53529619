"""The code that makes a run's numbers: a digest of its source, and the commit."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from scale.data import DATASETS, registered_name
from scale.memory import POLICIES
from scale.methods import METHODS
from scale.models import ENCODERS
from scale.runs.config import RunConfig
from scale.runs.parameters import parameters
from scale.runs.source import Source, digest_of
from scale.streams import STREAMS

PACKAGE = Path(__file__).resolve().parents[1]
LOOP = "runs/run.py"
FLOOR = "random"  # every run measures it; the other floors are imported
NOT_RECORDED = "code not recorded"
GIT_SECONDS = 5.0
LIBRARIES = {"torch", "torchvision", "numpy", "scipy", "sklearn"}  # a record has their versions


def code_of(config: RunConfig) -> dict[str, Any]:
    """Return the code that a run of `config` uses here.

    Returns
    -------
    dict
        ``digest``: 16 hex digits of a hash of the source that can change the run's numbers.
        ``commit``: that of the package's git checkout, or None. ``changed``: whether the package
        has uncommitted changes, or None without a checkout.
    """
    params = parameters(config.method, config.dataset, given=config.params)
    named = (
        (METHODS, config.method),
        (METHODS, FLOOR),
        (DATASETS, registered_name(config.dataset)),
        (STREAMS, config.stream),
        (POLICIES, params.get("memory_policy")),
        (ENCODERS, _network(params.get("encoder"))),
    )
    roots = [Source("scale.runs.run", PACKAGE / LOOP)]
    for registry, name in named:
        if name in registry:  # not a folder of images, and not a user's module
            roots += sources_of(registry[name])  # type: ignore[index]
        elif name is not None and not isinstance(name, str):
            roots += sources_of(name)
    return {"digest": _digest(tuple(dict.fromkeys(roots))), **_commit()}


def _network(encoder: Any) -> Any:
    """Return the network of an encoder's specification, ``NETWORK@FILE``."""
    return encoder.partition("@")[0] if isinstance(encoder, str) else encoder


def code_label(record: Mapping[str, Any]) -> str:
    """Return a record's code as text; a run that other code resumed has several.

    Examples
    --------
    >>> code_label({"code": {"digest": "1a2b3c4d5e6f7a8b", "commit": "5064942" + "0" * 33}})
    'digest 1a2b3c4d, commit 5064942'
    >>> code_label({"run": {}})
    'code not recorded'
    """
    begun = record.get("code")
    if not begun:
        return NOT_RECORDED
    return ", then ".join(_label(code) for code in (begun, *record.get("later_code", ())))


def digests_in(record: Mapping[str, Any]) -> list[str]:
    """Return the digests of all code that ran a record's run; empty if not recorded."""
    codes = [record.get("code"), *record.get("later_code", ())]
    return [code["digest"] for code in codes if code]


def sources_of(part: object) -> list[Source]:
    """Return the modules of a class and its bases, of a function, or of an object's class."""
    kind: Any = part if inspect.isclass(part) or inspect.isroutine(part) else type(part)
    return _sources(kind)


@lru_cache(maxsize=1024)
def _sources(kind: Any) -> list[Source]:
    found = []
    for one in kind.__mro__ if inspect.isclass(kind) else (kind,):
        module: str = one.__module__
        if module.split(".")[0] in sys.stdlib_module_names | LIBRARIES:
            continue
        try:
            path = inspect.getsourcefile(one)
        except (TypeError, OSError):  # defined at a prompt, without source
            continue
        if path is not None and Path(path).is_file():
            found.append(Source(module, Path(path).resolve()))
    return found


def _label(code: Mapping[str, Any]) -> str:
    commit = code.get("commit")
    changed = " with changes" if code.get("changed") else ""
    return f"digest {code['digest'][:8]}" + (f", commit {commit[:7]}{changed}" if commit else "")


@lru_cache(maxsize=1024)
def _digest(roots: tuple[Source, ...]) -> str:
    return digest_of(roots, PACKAGE)


@lru_cache(maxsize=1)
def _commit() -> dict[str, Any]:
    try:
        _git("ls-files", "--error-unmatch", "__init__.py")  # not a copy inside another checkout
        commit = _git("rev-parse", "HEAD").strip()
        changed = bool(_git("status", "--porcelain", "--", ".").strip())
    except (OSError, subprocess.SubprocessError):
        return {"commit": None, "changed": None}
    return {"commit": commit, "changed": changed}


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=True,
        timeout=GIT_SECONDS,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
    )
    return done.stdout
