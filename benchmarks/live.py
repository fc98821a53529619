"""What a live learner costs: images a second, memory over many images, clients of its page.

``python -m benchmarks.live speed [--encoders NAME ...]`` prints the processor time of an image
from `feed` to learned, with the usual options and 5 or 1 updates a batch, and how many images a
second one core keeps up with. ``memory [--images N] [--method NAME]`` watches N small images and
prints the memory of the process on the way. ``clients`` compares the time of a batch with that
while 100 clients do not read and two pages follow the learner.
``--json FILE`` keeps the rows, ``--table FILE`` prints kept ones.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from time import process_time

import numpy as np

from benchmarks import live_page
from benchmarks._lines import keep, kept, parser_of, table
from benchmarks._measure import Row
from scale.live import Knowledge, WatchConfig, Watcher
from scale.live.budget import resident_bytes

HEIGHT, WIDTH, ZOOM, CHUNK = 6, 8, 10, 128  # coloured parts, and pixels a side of each
PARTS = ("speed", "memory", "clients")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table of one part; return 0."""
    parser = parser_of("live", __doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--encoders", nargs="+", default=["cnn", "resnet18"])
    parser.add_argument("--method", default="patches", help="of memory; a cheap one")
    parser.add_argument("--images", type=int, help="default: 256 for speed, 100,000 for memory")
    args = parser.parse_args(arguments)
    name = f"live {args.part}"
    if args.table is not None:
        sys.stdout.write(table(kept(args.table, name)))
        return 0
    made: Iterator[Row]
    if args.part == "speed":
        pairs = [(one, steps) for one in args.encoders for steps in (5, 1)]
        made = (speed(*pair, args.images or 256) for pair in pairs)
    elif args.part == "memory":
        made = memory(args.method, args.images or 100_000)
    else:
        made = clients()
    sys.stdout.write(table(keep(args.json, name, made)))
    return 0


def speed(encoder: str, steps: int, count: int) -> Row:
    """Return what an image costs from `feed` to learned."""
    config = WatchConfig(params={"encoder": encoder, "steps_per_batch": steps})
    with watching(config) as watcher:
        feed(watcher, 2 * config.batch_size)  # so that the memory is in use
        watcher.flush()
        start = process_time()
        feed(watcher, count)
        watcher.flush()
        whole = (process_time() - start) / count
    return {
        "encoder": encoder,
        "updates a batch": steps,
        "ms an image": f"{1000 * whole:.1f}",
        "images a second and core": f"{1 / whole:.1f}",
    }


def memory(method: str, count: int) -> Iterator[Row]:
    """Yield the memory of the process after a tenth, a quarter, half and all of the images."""
    config = WatchConfig(method=method, image_size=16)
    with watching(config) as watcher:
        done = 0
        for part in (0.1, 0.25, 0.5, 1.0):
            feed(watcher, int(part * count) - done, zoom=2)
            watcher.flush()
            done = int(part * count)
            held = f"{resident_bytes() / 1e6:,.0f} MB"
            yield {"method": method, "images": f"{done:,}", "memory": held}


def clients() -> Iterator[Row]:
    """Yield the time of a batch without and with clients, and what clients alone cost."""
    batch, share = live_page.main()
    alone, watched = float(str(batch["limit_cost"])), float(str(batch["ours"]))
    yield {"what": "a batch, without clients", "figure": f"{alone:.0f} ms"}
    yield {"what": "a batch, with clients", "figure": f"{watched:.0f} ms"}
    yield {"what": "with clients, relative to without", "figure": f"{watched / alone:.3f}"}
    used = float(str(share["ours"])) / 1000
    yield {"what": "share of a core for clients, nothing to learn", "figure": f"{used:.3f}"}


@contextlib.contextmanager
def watching(config: WatchConfig) -> Iterator[Watcher]:
    """Yield a running watcher with all that `scale watch` has, in a folder that vanishes."""
    with tempfile.TemporaryDirectory() as out:
        watcher = Watcher(out, config=config)
        watcher.observers.append(Knowledge(watcher.store, watcher.learner))
        with watcher:
            yield watcher


def feed(watcher: Watcher, count: int, zoom: int = ZOOM) -> None:
    """Give images of random coloured parts."""
    rng = np.random.default_rng(count)
    for at in range(0, count, CHUNK):
        n = min(CHUNK, count - at)
        parts = rng.integers(0, 256, (n, HEIGHT, WIDTH, 3), dtype=np.uint8)
        watcher.feed(parts.repeat(zoom, axis=1).repeat(zoom, axis=2))


if __name__ == "__main__":
    sys.exit(main())
