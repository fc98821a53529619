"""Start or resume a run: its folder, its data, its learner and its config."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from scale._errors import DamagedFileError, InputError
from scale._files import atomic_path, write_atomic
from scale.evaluate import Protocol
from scale.runs.code import code_label, code_of
from scale.runs.config import CONFIG, RunConfig, has_begun, read_config, versions
from scale.runs.display import Display
from scale.runs.parameters import complete
from scale.runs.same_data import refuse_other_data
from scale.runs.setting import Setting, prepare
from scale.streams import class_over_time


def begin(
    config: RunConfig, out: Path, resume: bool, display: Display
) -> tuple[RunConfig, dict[str, Any] | None]:
    """Return the config of a run with every value written out, and what it recorded before.

    The second value is None for a new run. A resumed run keeps the image size that it recorded.
    """
    config.check()
    full = complete(config)
    begun = _claim(out, full, resume)
    if begun is not None:
        return dataclasses.replace(full, image_size=RunConfig.read(out).image_size), begun
    if full.image_size != config.image_size:
        display.message(f"images are resized to {full.image_size} pixels a side (--image-size)")
    return full, None


def _claim(out: Path, config: RunConfig, resume: bool) -> dict[str, Any] | None:
    """Make the folder of a new run, or return the config of a resumed run after checking it."""
    if resume and has_begun(out):
        begun = read_config(out)
        _refuse_other_options(out, config)
        return begun
    if (out / CONFIG).exists():
        raise InputError(f"{out} already holds a run; add --resume to go on, or choose a new --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {out}: {error.strerror}; choose another --out"
        ) from error
    return None


def _refuse_other_options(out: Path, config: RunConfig) -> None:
    kept, given = (_options(one) for one in (RunConfig.read(out), config))
    for name in given:
        if given[name] != kept.get(name):
            raise InputError(
                f"the run in {out} was started with {name} = {kept.get(name)}, not {given[name]}; "
                "resume it without that option, or start another with a new --out"
            )


def _options(config: RunConfig) -> dict[str, Any]:
    """Return all options and parameters that a resumed run may not change."""
    options = complete(config).to_json()
    del options["threads"]
    params = options.pop("params")
    plain: dict[str, Any] = json.loads(json.dumps({**options, **params}))
    return plain


def set_up(config: RunConfig, out: Path, begun: dict[str, Any] | None, display: Display) -> Setting:
    """Load the data and start the learner; write the config, or check that data did not change."""
    _set_threads(config, begun, display)
    protocol = None if begun is None else _stored_protocol(out, begun)
    setting = prepare(config, display.loading, protocol)
    for note in setting.notes:
        display.message(note)
    channels, height, width = setting.stream.images.shape[1:]
    setting.learner.start((channels, height, width))  # refuses bad parameters
    if begun is None:
        _write_config(out, config, setting)
    else:
        _tell_versions(begun.get("versions", {}), display)
        refuse_other_data(config.dataset, begun.get("data", {}), setting.facts())
        _note_code(out, begun, config, display)
    return setting


def _set_threads(config: RunConfig, begun: dict[str, Any] | None, display: Display) -> None:
    """Use the run's first number of threads, unless the user gives another."""
    before = None if begun is None else begun.get("threads")
    threads = config.threads or before or torch.get_num_threads()
    if before is not None and threads != before:
        display.message(
            f"the run began with {before} threads and goes on with {threads}: its numbers may "
            "differ in the last digits from those of a run that was not stopped"
        )
    threadpool_limits(threads, user_api="blas")  # numpy's and scipy's, in the evaluation
    torch.set_num_threads(threads)


def _tell_versions(before: dict[str, str], display: Display) -> None:
    changed = [
        f"{name} {before[name]} then, {now} now"
        for name, now in versions().items()
        if before.get(name, now) != now
    ]
    if changed:
        display.message(
            f"versions changed since the run began ({'; '.join(changed)}): its numbers may differ "
            "in the last digits from those of a run that was not stopped"
        )


def _note_code(out: Path, begun: dict[str, Any], config: RunConfig, display: Display) -> None:
    """Record and report that other code resumes the run."""
    later = begun.get("later_code", [])
    last, now = (later or [begun.get("code")])[-1], code_of(config)
    if last is None or last["digest"] == now["digest"]:
        return
    display.message(
        f"the code changed since the run began ({code_label({'code': last})} then, "
        f"{code_label({'code': now})} now): its numbers may differ from those of a run that was "
        "not stopped"
    )
    _write(out, {**begun, "later_code": [*later, now]})


def _stored_protocol(out: Path, begun: dict[str, Any]) -> Protocol | None:
    try:
        return Protocol(**begun["protocol"]) if "protocol" in begun else None
    except TypeError as error:
        raise DamagedFileError(f"{out / CONFIG} cannot be read: {error}") from error


def _write_config(out: Path, config: RunConfig, setting: Setting) -> None:
    described = {
        "run": config.to_json(),
        "learner": setting.learner.describe(),
        "data": setting.facts(),
        "protocol": dataclasses.asdict(setting.protocol),
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "code": code_of(config),
    }
    if setting.labels is not None:
        order = np.arange(len(setting.labels))
        shares = class_over_time(order, setting.labels, len(setting.class_names))
        with atomic_path(out / "stream.npy") as part, open(part, "wb") as file:
            np.save(file, shares)
    _write(out, described)


def _write(out: Path, described: dict[str, Any]) -> None:
    write_atomic(out / CONFIG, json.dumps(described, indent=1) + "\n")
