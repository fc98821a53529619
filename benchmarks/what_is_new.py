"""Whether a change of place is one event: two videos as one stream, in either order.

``python -m benchmarks.what_is_new [--seeds N] [--every FRAMES] [VIDEO ...]`` feeds every ordered
pair of videos to a live learner with its usual options. By default the videos are those in
``$SCALE_DATA/video``. It prints one row per stream: frames that the gate kept of the first video,
events before the splice, events after it, and the kept frame after it at which the first of them
was noticed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scale.live import Knowledge, WatchConfig, Watcher
from scale.live.video import import_av
from scale.report.formats import markdown

Frames = NDArray[np.uint8]
LEAST = 30  # kept frames of a first video, so that something is known


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if every stream has exactly one event, soon after the splice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.what_is_new", description=__doc__)
    parser.add_argument("videos", nargs="*", type=Path, metavar="VIDEO")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--every", type=int, default=3, help="take one of so many frames")
    parser.add_argument("--encoder", default="resnet18")
    args = parser.parse_args(arguments)
    videos = args.videos or sorted((Path(os.environ["SCALE_DATA"]) / "video").iterdir())
    frames = {path.stem: np.stack(list(read(path, args.every))) for path in videos}
    rows, good = [], True
    for first, second in itertools.permutations(frames, 2):
        for seed in range(args.seeds):
            kept, found = run(frames[first], frames[second], seed, args.encoder)
            if kept < LEAST:
                continue
            before = sum(at <= 0 for at in found)
            after = [at for at in found if at > 0]
            good &= before == 0 and len(after) == 1 and after[0] <= 20
            cells = (f"{first}, {second}", seed, kept, before, len(after), *after[:1])
            rows.append([str(cell) for cell in cells])
            sys.stderr.write(" ".join(rows[-1]) + "\n")
    head = ["stream", "seed", "kept of the first", "events before", "events after", "noticed at"]
    sys.stdout.write(markdown(head, rows))
    return 0 if good else 1


def read(path: Path, every: int) -> Iterator[Frames]:
    """Yield one of `every` frames of a video, (h, w, 3), small enough for memory."""
    with import_av().open(str(path)) as video:
        for number, frame in enumerate(video.decode(video=0)):
            if number % every == 0:
                width, height = max(frame.width // 4, 64), max(frame.height // 4, 64)
                yield frame.to_ndarray(format="rgb24", width=width, height=height)


def run(first: Frames, second: Frames, seed: int, encoder: str) -> tuple[int, list[int]]:
    """Return the frames kept of the first video, and the places of events after the splice."""
    config = WatchConfig(seed=seed, params={"encoder": encoder})
    with tempfile.TemporaryDirectory() as out, Watcher(out, config=config) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner)
        watcher.observers.append(knowledge)
        kept = len(watcher.feed(first))
        watcher.feed(second)
        watcher.flush()
        return kept, [event.image - kept for event in knowledge.events()]


if __name__ == "__main__":
    sys.exit(main())
