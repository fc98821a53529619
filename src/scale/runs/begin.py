"""Start or resume a run: its folder, its data, its learner and its config."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from scale._errors import InputError, ScaleError
from scale._files import as_path, atomic_path, write_atomic
from scale.methods import METHODS, Learner
from scale.runs.checkpoint import Checkpoints
from scale.runs.code import code_label, code_of
from scale.runs.config import CONFIG, RunConfig, has_begun, read_config, versions
from scale.runs.display import Display
from scale.runs.mark import mark_of, refuse_other_learner
from scale.runs.parameters import complete
from scale.runs.room import at_most_this_machine, refuse_too_large
from scale.runs.run_folder import refuse_held
from scale.runs.same_data import data_change
from scale.runs.setting import Setting, prepare, stored_protocol
from scale.runs.start import load_start, take_over
from scale.streams import class_over_time


def begin(
    config: RunConfig, out: Path, resume: bool, display: Display
) -> tuple[RunConfig, dict[str, Any] | None]:
    """Return the config of a run with every value written out, and what it recorded before.

    The second value is None for a new run. A resumed run keeps the image size that it recorded.
    """
    config.check()
    out = as_path("out", out)
    if resume and has_begun(out):
        kept = RunConfig.read(out)
        side = config.image_size or kept.image_size
        full = complete(dataclasses.replace(config, image_size=side))
        if full.start_from == kept.start_from:
            full.start_digest = kept.start_digest
        _refuse_other_options(out, kept, full)
        return full, read_config(out)
    full = complete(config)
    if (out / CONFIG).exists():
        raise InputError(f"{out} already holds a run; add --resume to go on, or choose a new --out")
    if (out / "summary.json").exists():
        raise InputError(
            f"{out} holds a finished run without its {CONFIG}; put that back, or choose a new --out"
        )
    refuse_held(out, "watch.json")
    if full.start_from is not None:
        full = take_over(full)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the folder {out}: {error.strerror}; choose another --out"
        ) from error
    if full.image_size != config.image_size:
        display.message(f"images are resized to {full.image_size} pixels a side (--image-size)")
    return full, None


def _refuse_other_options(out: Path, kept: RunConfig, given: RunConfig) -> None:
    then, now = _options(kept), _options(given)
    for name in {**now, **then}:
        if now.get(name) != then.get(name):
            raise InputError(
                f"the run in {out} was started with {name} = {then.get(name)}, not "
                f"{now.get(name)}; resume it without that option, or start another with a new --out"
            )


def _options(config: RunConfig) -> dict[str, Any]:
    """Return all options and parameters that a resumed run may not change."""
    options = complete(config).to_json()
    del options["threads"]
    params = options.pop("params")
    plain: dict[str, Any] = json.loads(json.dumps({**options, **params}))
    return plain


def set_up(
    config: RunConfig,
    out: Path,
    begun: dict[str, Any] | None,
    display: Display,
    command: Mapping[str, Any],
) -> Setting:
    """Load the data and start the learner; write the config, or check that data did not change."""
    _set_threads(config, begun, display)
    learner = _learner_to_go_on(config, out, begun)
    setting = prepare(config, display.loading, stored_protocol(begun), learner)
    for note in setting.notes:
        display.message(note)
    refuse_too_large(setting)
    if setting.learner.image_shape_ is None:
        channels, height, width = setting.stream.images.shape[1:]
        with at_most_this_machine():
            setting.learner.start((channels, height, width))  # refuses bad parameters
    if begun is None:
        described = _describe(config, setting, command)
        _write_config(out, described, setting)
    else:
        described = begun
        refuse_other_learner(out, begun, setting.learner)
        _tell_versions(begun.get("versions", {}), display)
        _refuse_other_data(config, out, begun, setting)
        _note_code(out, begun, config, display)
    if config.start_from is not None:
        setting.seen_before = described["start"]["images"]
        display.message(
            f"goes on from the learner in {config.start_from}; the guard and the floor of its "
            "encoder compare with what that learner began with, not with the learner"
        )
        if setting.learner.needs_labels:
            display.message(
                f"{config.method} learns from labels: a class must have the same number as before"
            )
    setting.begun = mark_of(described)
    return setting


def tell_new_data(config: RunConfig, out: Path, begun: dict[str, Any], display: Display) -> None:
    """Say that the run is finished and, if its data has changed, how to learn from the new data."""
    try:
        now = prepare(config, None, stored_protocol(begun)).facts()
        change = data_change(begun.get("data", {}), now)
    except ScaleError:  # the data is gone, which matters no more
        change = None
    if change is None:
        display.message(f"the run in {out} is finished")
    else:
        display.message(
            f"the run in {out} is finished, and the data in {config.dataset} has changed since: "
            f"{change}; {_go_on_with(config, out)}"
        )


def _go_on_with(config: RunConfig, out: Path) -> str:
    words = ["scale", "run", "--from", str(out), "--dataset", config.dataset, "--out", "OTHER"]
    return f"learn from the new data in another run: {shlex.join(words)}"


def _refuse_other_data(
    config: RunConfig, out: Path, begun: dict[str, Any], setting: Setting
) -> None:
    change = data_change(begun.get("data", {}), setting.facts())
    if change is not None:
        raise InputError(
            f"the data in {config.dataset} changed since the run began: {change}; restore the "
            f"data, start again with a new --out, or {_go_on_with(config, out)}"
        )


def _learner_to_go_on(config: RunConfig, out: Path, begun: dict[str, Any] | None) -> Learner | None:
    """Return the learner that a run goes on from, or an empty one if it has checkpoints."""
    if begun is not None and Checkpoints(out / "checkpoints").paths():
        described = begun["learner"]
        empty = METHODS[config.method](**described["params"])
        empty.recall(described)  # what it started from, which the checkpoint has
        return empty
    return None if config.start_from is None else load_start(config)


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


def _describe(config: RunConfig, setting: Setting, command: Mapping[str, Any]) -> dict[str, Any]:
    described = {
        "run": config.to_json(),
        "learner": setting.learner.describe(),
        "data": setting.facts(),
        "protocol": dataclasses.asdict(setting.protocol),
        "threads": torch.get_num_threads(),
        "versions": versions(),
        "code": code_of(config),
    }
    if command:
        described["command"] = dict(command)
    if config.start_from is not None:
        memory = setting.learner.memory_
        described["start"] = {
            "learner": config.start_from,
            "digest": config.start_digest,
            "images": 0 if memory is None else memory.seen,
        }
    return described


def _write_config(out: Path, described: dict[str, Any], setting: Setting) -> None:
    if setting.labels is not None:
        order = np.arange(len(setting.labels))
        shares = class_over_time(order, setting.labels, len(setting.class_names))
        with atomic_path(out / "stream.npy") as part, open(part, "wb") as file:
            np.save(file, shares)
    _write(out, described)


def _write(out: Path, described: dict[str, Any]) -> None:
    write_atomic(out / CONFIG, json.dumps(described, indent=1) + "\n")
