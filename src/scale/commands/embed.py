"""The command ``scale embed``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from scale.commands._terminal import console, say

SECONDS = 10.0  # between two lines of progress where there is no terminal


def embed(
    run: Positional[Annotated[Path, arg(metavar="RUN")]],
    images: Positional[Annotated[str, arg(metavar="IMAGES")]],
    *,
    out: Path,
    split: str | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
    workers: int | None = None,
    restart: bool = False,
    engine: Literal["local", "ray"] = "local",
    address: str = "auto",
) -> None:
    """Embed new images with a run's learner. The same command goes on after a stop or a kill.

    Args:
        run: Folder of a run, finished or not, or of a live learner, or a saved learner.
        images: An image, a folder of images, .npy, .npz, .parquet, or a dataset's name. It may be
            larger than memory.
        out: The file to write, one row of float32 features per image. z.parquet has the path of
            each image (or source and index) beside its embedding. z.npy is an array; z.files.txt
            names the file of each row. Until the file is whole, finished parts are kept in a
            folder beside it that ends in .parts.
        split: Which split, for example test. By default all images of a folder, in the order of
            their paths, and the train split of other sources.
        on_bad: Stop at a file that is not a readable image, or skip it.
        workers: Threads that decode images; with --engine ray, tasks at once. Default: one per
            core.
        restart: Begin again, without the parts of an embedding that was not finished.
        engine: local: this machine; ray: the nodes of a Ray cluster, which need the images under
            the same paths.
        address: Ray cluster: auto uses the one of this machine, local starts one here.
    """
    from scale.runs import embed_images

    with _Progress() as progress, _telling_where(out):
        done = embed_images(
            run,
            images,
            out,
            split=split,
            on_bad=on_bad,
            workers=workers,
            restart=restart,
            engine=engine,
            address=address,
            progress=progress,
            warn=lambda text: say(f"warning: {text}"),
        )
    for name in done.skipped:
        say(f"skipped {name}")
    count, dim = done.shape
    beside = "" if done.names is None else f", the file of each row in {done.names}"
    left_out = f"; {len(done.skipped)} unreadable files skipped" if done.skipped else ""
    say(f"{count} embeddings of {dim} numbers in {out}{beside}{left_out}")
    if done.new:
        say(f"{done.new} files are new in {images} since it was listed and are not embedded")
    if done.changed:
        say(f"warning: {done.changed} files of {images} changed or are gone since it was listed")


@contextlib.contextmanager
def _telling_where(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        parts = out.with_name(f"{out.name}.parts")
        if parts.exists():
            say(f"the finished parts are in {parts}; the same command goes on from them")
        raise


class _Progress:
    """A bar with rate and time left on a terminal, and a line every few seconds elsewhere."""

    def __init__(self) -> None:
        self._console = console()
        self._show: Callable[[int, int], None] = self._line
        self._begun: tuple[float, int] | None = None
        self._last = time.monotonic()

    def __enter__(self) -> _Progress:
        if self._console.is_terminal:
            from rich.progress import MofNCompleteColumn, Progress, TextColumn

            columns = (*Progress.get_default_columns(), MofNCompleteColumn())
            rate = TextColumn("{task.fields[rate]}")
            self._bar = Progress(*columns, rate, console=self._console)
            self._task = self._bar.add_task("images", total=None, rate="")
            self._bar.start()
            self._show = self._update
        return self

    def __exit__(self, *error: object) -> None:
        if self._show == self._update:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        if self._begun is None:
            self._begun = (time.monotonic(), done)
            if done:
                say(f"going on: {done} of {total} images are embedded")
        self._show(done, total)

    def _rate(self, done: int) -> float:
        assert self._begun is not None
        begin, first = self._begun
        return (done - first) / max(time.monotonic() - begin, 1e-9)

    def _update(self, done: int, total: int) -> None:
        rate = f"{self._rate(done):.0f} images/s"
        self._bar.update(self._task, completed=done, total=total, rate=rate)

    def _line(self, done: int, total: int) -> None:
        if time.monotonic() - self._last < SECONDS or not self._rate(done):
            return
        from scale.runs.probe import duration

        self._last = time.monotonic()
        left = duration((total - done) / self._rate(done))
        say(f"image {done} of {total}  {self._rate(done):.0f} images/s  {left} left")
