"""How well three named images of each kind name all others, while a live learner sees the kinds.

``python -m benchmarks.naming [--encoder NAME] [--seeds N] [--every N]`` feeds
``$SCALE_DATA/fruits/train`` in file order to a live learner. After one quarter, half and all of it,
3 images of each kind so far are named. It prints the accuracy of the names of all others so far and
of ``fruits/test``, beside pixels and beside the encoder that the learner started from. No answer is
"unknown" here. ``--json FILE`` keeps the rows, ``--table FILE`` prints kept ones.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._lines import keep, kept, parser_of, table
from benchmarks._measure import Row
from scale.data.pixels import read_pixels, to_rgb
from scale.live import Knowledge, WatchConfig, Watcher
from scale.live.names import vote

PARTS = (0.25, 0.5, 1.0)
NAMED = 3  # images of each kind

Images = NDArray[np.uint8]
Labelled = tuple[list[Images], NDArray[np.int64]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0."""
    parser = parser_of("naming", __doc__)
    parser.add_argument("--encoder", default="resnet18")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="take one of so many images")
    parser.add_argument("--image-size", type=int)
    args = parser.parse_args(arguments)
    if args.table is not None:
        sys.stdout.write(table(kept(args.table, "naming")))
        return 0
    root = Path(os.environ["SCALE_DATA"]) / "fruits"
    train, test = load(root / "train", args.every), load(root / "test", args.every)
    made = (
        row
        for seed in range(args.seeds)
        for row in measure(
            train,
            test,
            WatchConfig(
                seed=seed,
                duplicates=0,
                blanks=0,
                image_size=args.image_size,
                params={"encoder": args.encoder},
            ),
        )
    )
    sys.stdout.write(table(keep(args.json, "naming", made)))
    return 0


def measure(train: Labelled, test: Labelled, config: WatchConfig) -> Iterator[Row]:
    """Yield the rows of one learner: at each part of the stream, one for each kind of features."""
    frames, kinds = train
    with tempfile.TemporaryDirectory() as out, Watcher(out, config=config) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner)
        begin = watcher.learner.transform  # before the first batch
        small = np.stack([squeeze(watcher, one) for one in frames])
        tested = np.stack([squeeze(watcher, one) for one in test[0]])
        start = {name: begin(part) for name, part in (("train", small), ("test", tested))}
        done = 0
        for part in PARTS:
            end = int(part * len(frames))
            for at in range(done, end, 256):
                watcher.feed(frames[at : min(at + 256, end)])
                watcher.flush()
            done = end
            view = knowledge.views.follow(lag=10**9)
            seen = kinds[:end]
            asked = np.isin(test[1], seen)
            sets = {
                "the learner": (view.embed(small[:end]), view.embed(tested[asked])),
                "the encoder it started from": (start["train"][:end], start["test"][asked]),
                "pixels": (flat(small[:end]), flat(tested[asked])),
            }
            for name, (z, queries) in sets.items():
                found = accuracy(unit(z), seen, unit(queries), test[1][asked], config.seed)
                yield {
                    "encoder": config.params["encoder"],
                    "seed": config.seed,
                    "seen": f"{end} ({part:.0%})",
                    "kinds": len(set(seen)),
                    "features": name,
                    "the rest": found[0],
                    "fruits/test": found[1],
                }


def accuracy(
    z: NDArray[np.float32],
    kinds: NDArray[np.int64],
    queries: NDArray[np.float32],
    wanted: NDArray[np.int64],
    seed: int,
) -> list[str]:
    """Return the accuracy on the rest and on the test images, in percent, over 5 choices."""
    rng = np.random.default_rng(seed)
    right = []
    for _ in range(5):
        picks = [rng.choice(np.flatnonzero(kinds == k), NAMED, False) for k in np.unique(kinds)]
        named = np.concatenate(picks)
        rest = np.setdiff1d(np.arange(len(kinds)), named)
        right.append(
            [
                (vote(z[named], kinds[named], asked).best == truth).mean()
                for asked, truth in ((z[rest], kinds[rest]), (queries, wanted))
            ]
        )
    return [f"{100 * value:.1f}" for value in np.mean(right, axis=0)]


def load(folder: Path, every: int) -> Labelled:
    """Return images of one folder per kind, in file order, and the number of each one's kind."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    files = [
        (at, file) for at, path in enumerate(folders) for file in sorted(path.iterdir())[::every]
    ]
    return [to_rgb(read_pixels(file)) for _, file in files], np.array([at for at, _ in files])


def squeeze(watcher: Watcher, frame: Images) -> Images:
    """Return a frame as the learner gets it, (3, h, w)."""
    from scale.live.search import as_query

    assert watcher.config.image_size is not None
    return as_query(frame, watcher.config.image_size)[0]


def flat(images: Images) -> NDArray[np.float32]:
    """Return images as rows of numbers in 0..1."""
    return images.reshape(len(images), -1).astype(np.float32) / 255


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


if __name__ == "__main__":
    sys.exit(main())
