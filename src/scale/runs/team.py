"""A run in several processes, as torchrun starts them: the first leads, the others follow.

The leader runs as a single process would: it reads and writes the run's folder and evaluates. The
others get its config and its learner, then learn from the same batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

from scale._errors import InputError, ScaleError
from scale._text import shell_line
from scale.evaluate import Protocol
from scale.methods.core.group import Group, make_group
from scale.runs.config import RunConfig
from scale.runs.setting import Setting, prepare

PATIENCE = timedelta(days=1)  # the others wait while the leader evaluates
LOST = ("Connection closed by peer", "Connection reset", "Broken pipe", "gloo", "NCCL")


class ProcessLostError(ScaleError):
    """Another process of the run has ended, so that this one cannot go on."""

    exit_status = 1


@contextlib.contextmanager
def telling_of_loss(out: Path) -> Iterator[None]:
    """Turn the error of a broken connection into a message that says how to go on."""
    try:
        yield
    except RuntimeError as error:
        if not is_lost(error):
            raise
        again = shell_line(["scale", "run", "--out", str(out), "--resume"])
        raise ProcessLostError(
            "another process of this run has ended; the run is saved up to its last checkpoint; go "
            f"on with one process or several: {again}"
        ) from error


def other_processes(begun: dict[str, Any], team: Team | None) -> str | None:
    """Return a message if a run goes on with another number of processes than it began with."""
    before = begun.get("command", {}).get("processes", 1)
    now = 1 if team is None else team.size
    if before == now:
        return None
    return (
        f"the run began with {before} processes and goes on with {now}: its numbers may differ in "
        "the last digits from those of a run that was not stopped"
    )


def is_lost(error: BaseException) -> bool:
    """Return whether an error says that another process no longer answers."""
    return isinstance(error, dist.DistError) or any(sign in str(error) for sign in LOST)


@contextlib.contextmanager
def team(device: str) -> Iterator[Team | None]:
    """Join the processes that torchrun started, for the block; None in a single process."""
    if not _started_together():
        yield None
        return
    joined = Team(device)
    try:
        yield joined
    finally:
        joined.end()


def _started_together() -> bool:
    if "RANK" not in os.environ or "MASTER_ADDR" not in os.environ:
        return False
    try:
        return int(os.environ.get("WORLD_SIZE", "1")) > 1
    except ValueError:
        raise InputError(
            f"WORLD_SIZE must be a number, got {os.environ['WORLD_SIZE']!r}; start with torchrun"
        ) from None


class Team:
    """The processes of one run.

    Parameters
    ----------
    device
        Device of the learner: GPUs talk by NCCL, CPUs by gloo.

    Attributes
    ----------
    rank, size
        Number of this process, and of all.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.on_gpu = device.startswith("cuda")
        if self.on_gpu:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        make_group("nccl" if self.on_gpu else "gloo", timeout=PATIENCE)
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._waiting = self.rank == 0  # the others wait for their work

    def share(self, config: RunConfig, setting: Setting) -> None:
        """Give the others the config, the place in the stream and the learner; then learn together.

        For the leader.
        """
        setting.learner.join(Group())
        work = {
            "run": config.to_json(),
            "protocol": dataclasses.asdict(setting.protocol),
            "cursor": setting.stream.cursor,
            "threads": torch.get_num_threads(),
        }
        self._waiting = False
        self._send(json.dumps(work).encode())
        state = {name: t.detach().cpu() for name, t in setting.learner.state_dict().items()}
        self._send(to_bytes({name: t.clone().contiguous() for name, t in state.items()}))

    def tell(self, stop: bool) -> None:
        """Tell the others whether the run stops after this batch. For the leader."""
        dist.broadcast(self._bytes(bytes([stop])), 0)

    def end(self) -> None:
        """Leave the others; those that still wait for their work have none."""
        with contextlib.suppress(RuntimeError):  # they may have ended already
            if self._waiting:
                self._waiting = False
                self._send(b"{}")
        dist.destroy_process_group()

    def follow(self) -> None:
        """Learn with the leader until it stops. For all others."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader decides
        try:
            work = json.loads(self._receive())
            if work:
                self._learn(work, from_bytes(self._receive()))
        except RuntimeError as error:
            if not is_lost(error):
                raise
            raise ProcessLostError("the leading process of this run has ended") from error

    def _learn(self, work: dict[str, Any], state: dict[str, Tensor]) -> None:
        torch.set_num_threads(work["threads"])
        setting = prepare(RunConfig(**work["run"]), protocol=Protocol(**work["protocol"]))
        stream, learner = setting.stream, setting.learner
        channels, height, width = stream.images.shape[1:]
        learner.start((channels, height, width))
        learner.load_state_dict(state)
        learner.join(Group())
        stream.seek(work["cursor"])
        for batch in stream:
            learner.partial_fit(batch, setting.labels_for_learner(len(batch)))
            flag = self._bytes(bytes(1))
            dist.broadcast(flag, 0)
            if flag.item():
                return

    def _send(self, message: bytes) -> None:
        dist.broadcast(self._place(torch.tensor([len(message)])), 0)
        dist.broadcast(self._bytes(message), 0)

    def _receive(self) -> bytes:
        length = self._place(torch.tensor([0]))
        dist.broadcast(length, 0)
        message = self._bytes(bytes(int(length.item())))
        dist.broadcast(message, 0)
        return message.cpu().numpy().tobytes()

    def _bytes(self, message: bytes) -> Tensor:
        return self._place(torch.frombuffer(bytearray(message), dtype=torch.uint8))

    def _place(self, tensor: Tensor) -> Tensor:
        return tensor.cuda() if self.on_gpu else tensor
