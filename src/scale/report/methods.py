"""Facts about each registered method and memory policy: description, inputs and costs."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import re
import textwrap
from typing import Any

from scale.memory import POLICIES
from scale.methods import DEFAULT_METHOD, METHODS, Learner
from scale.report.paper_table import paper_table

Facts = dict[str, Any]


def method_facts(name: str) -> Facts:
    """Return the facts of a method, as plain values with fixed keys.

    The keys are ``name``, ``description`` (first line of its docstring), ``about`` (the rest up to
    the first section), ``default`` (whether it is the default method), ``reference``, ``knows``
    (labels, boundaries, num_classes, many_passes), ``learns``, ``memory``, ``views`` and
    ``backwards`` (per stream image), ``replayed_views`` (per stream batch), ``presets``, and
    ``parameters`` (name, default and help of each). A dataset's card may change costs and defaults.

    Examples
    --------
    >>> facts = method_facts("er")
    >>> facts["memory"], facts["backwards"], facts["knows"]["labels"]
    ('1280 images', 20, False)
    """
    method = METHODS[name]
    learner = method()
    description, about = _prose(method)
    return {
        "name": name,
        "description": description,
        "about": about,
        "default": name == DEFAULT_METHOD,
        "reference": _section(method, "References"),
        "knows": dataclasses.asdict(method.knows),
        "learns": method.learns,
        **dataclasses.asdict(learner.costs()),
        "presets": method.presets,
        "parameters": [
            {"name": parameter, "default": default, "help": _help(method, parameter)}
            for parameter, default in learner.get_params().items()
        ],
    }


def policy_facts(name: str) -> Facts:
    """Return a memory policy's ``name``, ``description`` and what it ``knows``."""
    policy = POLICIES[name]
    return {
        "name": name,
        "description": _prose(policy)[0],
        "knows": dataclasses.asdict(policy.knows),
    }


def all_facts() -> dict[str, list[Facts]]:
    """Return the facts of all ``methods`` and ``memory_policies``, in the order of their names.

    ``paper_table`` has the rows of the paper's Table 1.
    """
    return {
        "methods": [method_facts(name) for name in METHODS],
        "memory_policies": [policy_facts(name) for name in POLICIES],
        "paper_table": paper_table(),
    }


def _docstring(kind: type) -> str:
    """Return a class's docstring, but not the signature that `dataclass` puts in its place."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return "" if text.startswith(f"{kind.__name__}(") else text


def _prose(kind: type) -> tuple[str, str]:
    """Return the first line of a docstring, and the paragraphs before its first section."""
    text = re.split(r"^.+\n-{3,}$", _docstring(kind), maxsplit=1, flags=re.M)[0]
    first, _, rest = text.partition("\n")
    paragraphs = [" ".join(lines.split()) for lines in rest.strip().split("\n\n")]
    return first.strip(), "\n\n".join(paragraphs)


def _section(kind: type, title: str) -> str:
    """Return the text of a docstring's section in one line; empty without the section."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n|\Z)", _docstring(kind), re.M | re.S)
    return " ".join(found[1].split()) if found else ""


def _help(method: type[Learner], parameter: str) -> str:
    """Return the text under a field, from the first class of the MRO that has one."""
    texts = (_field_texts(kind).get(parameter) for kind in method.__mro__)
    return next((text for text in texts if text), "")


@functools.cache  # finding the source of a class is slow
def _field_texts(kind: type) -> dict[str, str]:
    """Return the string under each field of a class, from its source; Python drops them."""
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # not from a file
        return {}
    body = node.body if isinstance(node, ast.ClassDef) else []
    texts = {}
    for field, text in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            texts[field.target.id] = " ".join(text.value.value.split())
    return texts
