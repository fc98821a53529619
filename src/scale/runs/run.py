"""One run: learn from a stream, evaluate and record; resumable at any moment."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import DamagedFileError, InputError, NonFiniteLossError
from scale._files import write_atomic
from scale._numbers import check_number
from scale.methods import Learner
from scale.methods.core.loading import put_state
from scale.runs.begin import begin, set_up, tell_new_data
from scale.runs.checkpoint import Checkpoints, Meta, State
from scale.runs.config import RunConfig
from scale.runs.display import Display
from scale.runs.health import describe_batch
from scale.runs.interrupt import IN_STREAM, Interrupts, RunInterrupted
from scale.runs.mark import refuse_edited
from scale.runs.measure import measure, measure_floors, summarise
from scale.runs.memory_sample import keep_memory, sampled
from scale.runs.meter import Meter
from scale.runs.metrics import MetricsFile
from scale.runs.probe import announce
from scale.runs.run_folder import LEARNER, SUMMARY_REMEDY, only_here, read_json, sweep_if_free
from scale.runs.setting import Setting
from scale.runs.team import Team, other_processes, telling_of_loss

WHILE_LOADING = "stopping when the images are loaded"
WHILE_MEASURING = "stopping after this measurement"
LONGEST = 365 * 24 * 3600.0  # seconds between two checkpoints


def run(
    config: RunConfig,
    out: Path,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 60.0,
    display: Display | None = None,
    tell_cost: bool = False,
    command: Mapping[str, Any] | None = None,
    team: Team | None = None,
) -> dict[str, Any]:
    """Run to the end, or resume a stopped run, and return its summary.

    A killed and resumed run ends with the same metrics and weights, bit for bit, as an undisturbed
    one.

    Parameters
    ----------
    config
        Options of the run.
    out
        Folder of the run: config, metrics, checkpoints, learner, summary.
    resume
        Resume from the last checkpoint in `out`; start if there is no run yet.
    checkpoint_seconds
        Seconds between two checkpoints; 0 writes one after every batch.
    display
        Shows progress. The default shows nothing.
    tell_cost
        Show an estimate of the run's time at the start.
    command
        Options of the command to keep in config.json, for the command that resumes the run.
    team
        The processes that torchrun started, of which this one is the leader.
    """
    display, out = display or Display(), Path(out)
    check_number("checkpoint_seconds", checkpoint_seconds, least=0, most=LONGEST)
    config, begun = begin(config, out, resume, display)
    if begun is not None and (out / "summary.json").is_file():
        finished = read_json(out / "summary.json", SUMMARY_REMEDY)
        sweep_if_free(out)
        tell_new_data(config, out, begun, display)
        return finished
    with only_here(out), Interrupts(display.message, WHILE_LOADING) as interrupts, display:

        def stop_early() -> None:
            if interrupts.requested:
                raise RunInterrupted(out, "stopped")

        setting = set_up(config, out, begun, display, command or {})
        stop_early()
        if tell_cost and begun is None and (cost := announce(config, setting)) is not None:
            display.message(cost)
        stop_early()
        checkpoints = Checkpoints(out / "checkpoints")
        metrics, meter = _restore(setting, checkpoints, out, display)
        if config.start_from is not None and not checkpoints.paths():
            _save(setting, checkpoints, metrics, meter)  # from now on its start may change
        if begun is not None and (other := other_processes(begun, team)) is not None:
            display.message(other)
        if team is not None:
            team.share(config, setting)
        stream, learner = setting.stream, setting.learner
        saved = time.monotonic()
        display.start(config, setting)
        interrupts.plan = WHILE_MEASURING
        floors = measure_floors(config, setting, out, metrics, display, stop_early)
        stop_early()
        interrupts.plan = IN_STREAM
        due = evaluation_points(len(stream), config.evaluations)

        for batch in stream:
            with telling_of_loss(out):
                _learn(learner, batch, setting.labels_for_learner(len(batch)), checkpoints)
            _observe(setting, out, metrics, due, display)
            stop = interrupts.requested
            if team is not None:
                team.tell(stop)
            if stop or time.monotonic() - saved >= checkpoint_seconds:
                _save(setting, checkpoints, metrics, meter)
                saved = time.monotonic()
            if stop:
                raise RunInterrupted(out)

        learner.save(out / LEARNER)
        summary = summarise(config, setting, metrics, floors)
        summary["timing"] = _timing(meter, setting)
        metrics.close()
        write_atomic(out / "summary.json", json.dumps(summary, indent=1) + "\n")
        display.finish(summary)
        return summary


def evaluation_points(batches: int, evaluations: int) -> set[int]:
    """Return the batches to evaluate after: evenly spaced, with the last one.

    Examples
    --------
    >>> sorted(evaluation_points(10, 4))
    [2, 5, 8, 10]
    """
    return {round((i + 1) * batches / evaluations) for i in range(evaluations)} - {0}


def _restore(
    setting: Setting, checkpoints: Checkpoints, out: Path, display: Display
) -> tuple[MetricsFile, Meter]:
    """Restore stream, learner and metrics from the newest undamaged checkpoint."""

    def use(state: State, meta: Meta) -> tuple[MetricsFile, Meter]:
        mine: dict[str, Any] = json.loads(json.dumps(setting.learner.describe()))
        if any(meta["learner"][key] != mine[key] for key in ("method", "params")):
            raise InputError(
                f"the checkpoints in {out} are of another run; start again with a new --out"
            )
        if meta.get("begun") is not None:  # older checkpoints have none
            refuse_edited(out, meta["begun"], setting.begun)
        origin = f"the checkpoint at image {meta['cursor']} in {checkpoints.folder}"
        if meta["cursor"] > setting.stream.num_samples:
            raise DamagedFileError(f"{origin} is beyond the end of the stream")
        put_state(setting.learner, state, origin)
        digest = meta.get("metrics_digest")  # older checkpoints have none
        metrics = MetricsFile(out / "metrics.jsonl", meta["metrics_bytes"], digest)
        setting.stream.seek(meta["cursor"])
        display.message(f"going on from image {meta['cursor']} of {setting.stream.num_samples}")
        # Older checkpoints have only the wall time.
        return metrics, Meter(meta.get("spent") or {"wall_seconds": meta["elapsed_seconds"]})

    found = checkpoints.read(display.message, use)
    return found or (MetricsFile(out / "metrics.jsonl"), Meter())


def _learn(
    learner: Learner, batch: np.ndarray, labels: np.ndarray | None, checkpoints: Checkpoints
) -> None:
    try:
        learner.partial_fit(batch, labels)
    except NonFiniteLossError as error:
        good = checkpoints.paths()
        where = f"the last good checkpoint is {good[-1]}" if good else "there is no checkpoint yet"
        raise NonFiniteLossError(f"{error}; {where}") from error


def _observe(
    setting: Setting, out: Path, metrics: MetricsFile, due: set[int], display: Display
) -> None:
    """Record and show the last batch, and evaluate if due."""
    stream = setting.stream
    number = -(-stream.cursor // stream.batch_size)
    record = describe_batch(setting, number)
    metrics.append(record)
    display.batch(record)
    if number in due:
        if number in sampled(due):
            keep_memory(setting, out)
        display.evaluation(measure(setting, out, metrics, full=number == len(stream)))


def _save(setting: Setting, checkpoints: Checkpoints, metrics: MetricsFile, meter: Meter) -> None:
    meta = {
        "learner": setting.learner.describe(),
        "cursor": setting.stream.cursor,
        "metrics_bytes": metrics.sync(),
        "metrics_digest": metrics.digest(),
        "spent": meter.spent(),
        "begun": setting.begun,
    }
    checkpoints.write(setting.stream.cursor, setting.learner.state_dict(), meta)


def _timing(meter: Meter, setting: Setting) -> dict[str, float]:
    spent = meter.spent()
    speed = setting.stream.num_samples / max(spent["wall_seconds"], 1e-9)
    return {**spent, "images_per_second": speed}
