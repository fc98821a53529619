"""Whether a change of place is one event: two videos as one stream, in either order.

``python -m benchmarks.what_is_new [--seeds N] [--encoder NAME] [VIDEO ...]`` watches every ordered
pair of videos as ``scale watch FIRST SECOND`` does, with its usual options. By default the videos
are those in ``$SCALE_DATA/video``. It prints one row per stream: frames that the gate kept of the
first video, events before the splice, events after it, and the kept frame after it at which the
first of them was noticed. ``--json FILE`` keeps the rows, ``--table FILE`` prints kept ones.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._lines import keep, kept, parser_of, table
from benchmarks._measure import Row
from scale.live import Knowledge, WatchConfig, Watcher

LEAST = 30  # kept frames of a first video, so that something is known
SOON = 20  # kept frames after the splice


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if every stream has exactly one event, soon after the splice."""
    parser = parser_of("what_is_new", __doc__)
    parser.add_argument("videos", nargs="*", type=Path, metavar="VIDEO")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--encoder", default="resnet18")
    args = parser.parse_args(arguments)
    if args.table is not None:
        sys.stdout.write(table(kept(args.table, "what_is_new")))
        return 0
    videos = args.videos or sorted((Path(os.environ["SCALE_DATA"]) / "video").iterdir())
    rows = keep(args.json, "what_is_new", measure(videos, args.encoder, args.seeds))
    sys.stdout.write(table(rows))
    good = {"events before": 0, "events after": 1}
    return int(any({**row, **good} != row or int(str(row["noticed at"])) > SOON for row in rows))


def measure(videos: Sequence[Path], encoder: str, seeds: int) -> Iterator[Row]:
    """Yield a row for each ordered pair of videos and each seed."""
    for first, second in itertools.permutations(videos, 2):
        for seed in range(seeds):
            taken, found = run(first, second, seed, encoder)
            if taken < LEAST:
                break
            after = [at for at in found if at > 0]
            yield {
                "stream": f"{first.stem}, {second.stem}",
                "encoder": encoder,
                "seed": seed,
                "kept of the first": taken,
                "events before": len(found) - len(after),
                "events after": len(after),
                "noticed at": after[0] if after else "",
            }


def run(first: Path, second: Path, seed: int, encoder: str) -> tuple[int, list[int]]:
    """Return the frames kept of the first video, and the places of events after the splice."""
    config = WatchConfig(seed=seed, params={"encoder": encoder})
    with tempfile.TemporaryDirectory() as out:
        watcher = Watcher(out, [str(first), str(second)], config=config)
        knowledge = Knowledge(watcher.store, watcher.learner)
        watcher.observers.append(knowledge)
        watcher.run()
        kept = watcher.store.query("SELECT COUNT(*) FROM images WHERE source = 1")[0][0]
        events = [event.image - kept for event in knowledge.events()]
        watcher.close()
        return kept, events


if __name__ == "__main__":
    sys.exit(main())
