"""Tiny data, runs, benches and records that every case starts from; the program makes them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hypothesis.configuration import set_hypothesis_home_dir
from PIL import Image

from chaos import execute
from chaos.execute import Around
from chaos.hooks import at_write, kill_here
from chaos.texts import ARCHIVE_NOTES, EXPERIMENT, METHOD, NOTES

CLASSES = ("a", "b", "c")
TRAIN, TEST, SIDE = 8, 4, 8
"""Images of each class, and their side."""
QUICK = ("--stream-batch", "8", "--evaluations", "2", "--threads", "1")
LIVE = "live"
"""The folder of the live learner, which cases copy: commands may change it."""


@dataclass(frozen=True)
class World:
    """The folder of all templates. Cases read them and never write to them."""

    root: Path
    seed: int = 0
    short: bool = False
    """Only some of everything is tried."""

    @property
    def cases(self) -> Path:
        """The folder for the cases, outside the templates."""
        return self.root.parent / "cases"

    @property
    def outside(self) -> Path:
        """The file with a line for each attempt to write outside the campaign's folder."""
        return self.root.parent / "outside.txt"

    @property
    def npz(self) -> Path:
        return self.root / "data" / "tiny.npz"

    @property
    def photos(self) -> Path:
        return self.root / "data" / "photos"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def stopped(self) -> Path:
        return self.root / "stopped"

    @property
    def other(self) -> Path:
        """A finished run of another method on other data."""
        return self.root / "other"

    @property
    def bench(self) -> Path:
        return self.root / "bench"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def live(self) -> Path:
        return self.root / LIVE

    @property
    def pushed(self) -> Path:
        """A learner as `scale push` leaves it in a folder."""
        return self.root / "pushed"

    @property
    def experiment(self) -> Path:
        return self.root / "two.toml"

    def quick(self, method: str = "scale-plus", data: Path | None = None) -> list[str]:
        """Return the options of a run that takes about a second."""
        from scale.methods import METHODS

        wanted = {"encoder": "cnn", "steps_per_batch": "1", "memory_size": "16", "clusters": "8"}
        fields = METHODS[method].__dataclass_fields__
        if "receptive_fields" in fields:  # they are larger than our images
            wanted["image_side"] = "24"
        chosen = [(f"--{k.replace('_', '-')}", v) for k, v in wanted.items() if k in fields]
        given = [one for pair in chosen for one in pair]
        return ["--dataset", str(data or self.npz), "--method", method, *QUICK, *given]

    def watching(self) -> list[str]:
        """Return the options of a live learner that takes about a second."""
        method = self.quick("er")[2:]
        kept = [one for pair in zip(method[::2], method[1::2], strict=True)
                if pair[0] not in QUICK for one in pair]  # fmt: skip
        return [*kept, "--batch-size", "8", "--image-size", "8"]

    def copy_live(self, arguments: Sequence[str], folder: Path) -> None:
        """Copy the live learner to the folder of a case whose command uses it."""
        if LIVE in arguments:
            shutil.copytree(self.live, folder / LIVE)

    def state(self) -> dict[str, tuple[int, int]]:
        """Return the size and time of change of every file."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                if name.startswith(".") or name.endswith(".lock") or "/cache" in folder:
                    continue
                about = os.stat(os.path.join(folder, name), follow_symlinks=False)
                found[os.path.relpath(os.path.join(folder, name), self.root)] = (
                    about.st_size,
                    about.st_mtime_ns,
                )
        return found


@contextlib.contextmanager
def world(seed: int = 0, *, short: bool = False) -> Iterator[World]:
    """Make the templates in a temporary folder, and import all that commands need."""
    base = Path(tempfile.mkdtemp(prefix="scale-chaos-")).resolve()
    root = base / "world"
    sys.dont_write_bytecode = True
    try:
        made = World(root, seed, short)
        execute.FENCE.update(base=base, log=made.outside)
        made.cases.mkdir(parents=True)
        _surroundings(root)
        _make_data(root / "data")
        _make_text_files(made)
        _import_all()
        _fill_caches()
        _make_runs(made)
        yield made
    finally:
        execute.FENCE.clear()
        _unmount(base)
        shutil.rmtree(base, ignore_errors=True)


@contextlib.contextmanager
def scratch(cases: Path) -> Iterator[Path]:
    """Yield an empty folder two levels below one of its own, and delete that afterwards."""
    top = Path(tempfile.mkdtemp(prefix="case-", dir=cases))
    inner = top / "a" / "b"
    inner.mkdir(parents=True)
    try:
        yield inner
    finally:
        shutil.rmtree(top, ignore_errors=True)


def _unmount(base: Path) -> None:
    """Take away small disks that a stopped campaign left."""
    mounts = Path("/proc/mounts")
    for line in mounts.read_text().splitlines() if mounts.exists() else ():
        place = line.split()[1]
        if place.startswith(f"{base}{os.sep}"):
            subprocess.run(["umount", "--lazy", place], check=False)


def _surroundings(root: Path) -> None:
    """Keep the user's home, cache, data and network out of the cases."""
    home, temporary = root.parent / "home", root.parent / "tmp"
    for folder in (home, temporary):
        folder.mkdir()
    tempfile.tempdir = None
    set_hypothesis_home_dir(temporary)
    os.environ.update(
        HOME=str(home),
        TMPDIR=str(temporary),
        TORCHINDUCTOR_CACHE_DIR=str(temporary / "inductor"),
        XDG_CACHE_HOME=str(home / "cache"),
        XDG_CONFIG_HOME=str(home / "config"),
        PYTHONDONTWRITEBYTECODE="1",
        SCALE_CACHE=str(root / "cache"),
        SCALE_DATA=str(root / "data"),
        HF_HUB_OFFLINE="1",
        COLUMNS="200",
    )


def _import_all() -> None:
    import torch

    import scale.bench
    import scale.cli
    import scale.report.plots
    import scale.testing  # noqa: F401

    torch.set_num_threads(1)


def _fill_caches() -> None:
    """Read here, once, what every run would read again: the program's source and its parsers."""
    from chaos.parser import options
    from scale.methods import METHODS
    from scale.runs import RunConfig, code_of

    options()
    for method in METHODS:
        code_of(RunConfig(method=method))


def _digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images (N, 8, 8), labels and which are for the test."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    each = TRAIN + TEST
    chosen = np.concatenate([np.flatnonzero(labels == c)[:each] for c in range(len(CLASSES))])
    pixels = (images[chosen] * 255 / 16).astype(np.uint8).reshape(-1, SIDE, SIDE)
    return pixels, labels[chosen], np.arange(len(chosen)) % 3 == 0


def _make_data(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    pixels, labels, test = _digits()
    sets = {"train": ~test, "test": test}
    arrays = {f"x_{name}": pixels[rows] for name, rows in sets.items()}
    arrays |= {f"y_{name}": labels[rows] for name, rows in sets.items()}
    np.savez(folder / "tiny.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    np.save(folder / "images.npy", pixels)
    shards = folder / "owner" / "shards" / "data"
    shards.mkdir(parents=True)
    for name, rows in sets.items():
        encoded = []
        for number, (image, label) in enumerate(zip(pixels[rows], labels[rows], strict=True)):
            end = ".jpg" if number % 5 == 4 else ".png"
            path = folder / "photos" / name / CLASSES[label] / f"{number}{end}"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
            encoded.append({"bytes": path.read_bytes(), "path": path.name})
        halves = np.array_split(np.arange(len(encoded)), 2)
        for number, half in enumerate(halves):
            columns = {"image": [encoded[i] for i in half], "label": labels[rows][half]}
            file = shards / f"{name}-{number:05d}-of-{len(halves):05d}.parquet"
            pq.write_table(pa.table(columns), file)


def _make_text_files(made: World) -> None:
    made.experiment.write_text(EXPERIMENT.format(data=made.npz))
    (made.root / "own.py").write_text(METHOD)


def _make_runs(made: World) -> None:
    """Make the runs, benches and records, and import here what that needed."""
    root, every = made.root, ["--checkpoint-seconds", "0"]
    bench = ["bench", str(made.experiment), "--out", str(made.bench), "--engine", "in-process"]
    other = made.quick("er", made.root / "data" / "owner" / "shards")
    execute.warm(
        [
            ["run", *made.quick(), *every, "--out", str(made.run)],
            [*bench, "--keep-learners"],
            ["run", *other, "--no-pictures", "--out", str(made.other)],
            ["embed", str(made.other), str(made.photos), "--out", str(root / "z.npy")],
            ["plot", str(made.bench), "--out", str(root / "figure.png")],
            ["table", str(made.bench)],
            ["data", "get", "owner/none"],
            ["watch", str(made.photos), *made.watching(), "--once", "--out", str(made.live)],
            ["name", str(made.live), "x", "1"],
            *([] if made.short else [["export", str(made.run), "--out", str(root / "m.onnx")]]),
        ],
        root,
    )
    made.pushed.mkdir()
    shutil.copy2(made.run / "learner.safetensors", made.pushed)
    stop = ["run", *made.quick(), *every, "--no-pictures", "--out", str(made.stopped)]
    execute.command(stop, root, Around(before=lambda: _stop_at_second(made.stopped)))
    archive = made.results / "archive"
    archive.mkdir(parents=True)
    records = (made.bench / "records.jsonl").read_bytes()
    for folder, notes in ((made.results, NOTES), (archive, ARCHIVE_NOTES)):
        (folder / "answer.jsonl").write_bytes(records)
        (folder / "answer.toml").write_text(notes)


def _stop_at_second(folder: Path) -> None:
    """Kill this process when it has written two checkpoints."""

    def act(kind: str, path: str) -> None:
        if len(list((folder / "checkpoints").glob("[0-9]*.safetensors"))) == 2:
            kill_here(kind, path)

    at_write(None, act, folder)
