"""Whether a live learner that is killed again and again ends like one that was not.

``python -m benchmarks.live_soak [--minutes M] [--kills N] [--disk MB]`` copies real images into a
folder one after the other while ``scale watch`` looks at it, and kills it with SIGKILL at N random
moments. Each start is forked from a process that has imported all, so that it soon is at work.
With ``--disk`` the learner's folder is a small tmpfs, which is filled on the way and given
room again (only as root). Then the same images are watched in one go, in the order in which they
came. It compares both: every image once, the same pixels, the same batches, and the learner's bits.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benchmarks._lines import keep, kept, parser_of, table
from benchmarks._measure import Row
from scale._tensors import read_tensors
from scale.cli import main as scale_main

OPTIONS = ["--image-size", "32", "--batch-size", "16", "--steps-per-batch", "1", "--encoder", "cnn"]
OPTIONS += ["--checkpoint-seconds", "5", "--poll-seconds", "0.1", "--duplicates", "0"]
OPTIONS += ["--blanks", "0"]
END_SECONDS = 3600.0  # for what is left to learn after the last image; a busy machine is slow
BALLAST = "ballast"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was compared; return 0 if both are equal."""
    parser = parser_of("live_soak", __doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument(
        "--disk",
        type=int,
        metavar="MB",
        help="size of a tmpfs for the learner; 5 checkpoints of 20 MB have to fit, so at least 200",
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    if args.table is not None:
        sys.stdout.write(table(kept(args.table, "live_soak")))
        return 0
    found = sorted((Path(os.environ["SCALE_DATA"]) / "fruits" / "train").rglob("*.*g"))
    images = found[:: max(len(found) // args.images, 1)][: args.images]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        with disk(place / "broken", args.disk) as broken:
            kills = soak(place / "in", broken / "live", images, args)
            first = contents(broken / "live")
            watch_all(place / "in", place / "whole", order(broken / "live"))
            whole = contents(place / "whole")
    wrong = [name for name in whole if whole[name] != first[name]]
    row: Row = {
        "images": len(images),
        "minutes": args.minutes,
        "kills": kills,
        "disk filled": "no" if args.disk is None else f"{args.disk} MB",
        "stored": len(first["images"]),
        "batches": first["batches"],
        "beside the unbroken one": f"different: {', '.join(wrong)}" if wrong else "equal",
    }
    sys.stdout.write(table(keep(args.json, "live_soak", [row])))
    return 1 if wrong or len(first["images"]) != len(images) else 0


def soak(source: Path, out: Path, images: Sequence[Path], args: argparse.Namespace) -> int:
    """Watch while images come and kills too; return the number of kills."""
    rng, kills = random.Random(args.seed), 0
    length = args.minutes * 60
    moments = sorted(rng.uniform(0.02, 1) * length for _ in range(args.kills))
    source.mkdir()
    began, fed = time.monotonic(), 0
    filled = freed = args.disk is None
    watching = start(source, out)
    while fed < len(images) or moments:
        now = time.monotonic() - began
        while fed < min(len(images), int(len(images) * now / length) + 1):
            copy(images[fed], source / f"{fed:06d}{images[fed].suffix}")
            fed += 1
        if moments and now >= moments[0]:
            moments.pop(0)
            watching.kill()
            watching.join()
            kills += 1
            watching = start(source, out)
        if not filled and now > length / 3:
            fill(out.parent)
            filled = True
        if filled and not freed and now > length / 2:
            (out.parent / BALLAST).unlink()
            freed = True
        if watching.exitcode is not None:
            raise SystemExit(f"scale watch ended with {watching.exitcode}")
        time.sleep(0.01)
    finish(watching, out, len(images))
    return kills


def start(source: Path, out: Path) -> BaseProcess:
    """Start `scale watch` in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["scale.commands.watch", "scale.live"])
    watching = context.Process(target=watch, args=(source, out))
    watching.start()
    return watching


def watch(source: Path, out: Path) -> None:
    """Watch until a signal comes."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        status = scale_main(["watch", str(source), "--out", str(out), *OPTIONS])
    sys.exit(status)


def finish(watching: BaseProcess, out: Path, count: int) -> None:
    """Wait until all images are stored and all whole batches learned, then stop as Ctrl-C does."""
    end = time.monotonic() + END_SECONDS
    sql = "SELECT COUNT(*), SUM(batch IN (SELECT id FROM batches WHERE learned > 0)) FROM images"
    while time.monotonic() < end:
        time.sleep(0.2)
        with contextlib.suppress(sqlite3.Error), contextlib.closing(open_store(out)) as db:
            stored, learned = db.execute(sql).fetchone()
            if stored == count and (learned or 0) == count - count % 16:
                break
    else:
        watching.kill()
        raise SystemExit(f"scale watch did not learn {count} images in {END_SECONDS:.0f} seconds")
    os.kill(watching.pid or 0, signal.SIGINT)
    watching.join()


def watch_all(source: Path, out: Path, names: Sequence[str]) -> None:
    """Watch the same images in one go, named by the order in which the other took them."""
    ordered = source.with_name("ordered")
    ordered.mkdir()
    for at, name in enumerate(names):
        os.link(name, ordered / f"{at:06d}{Path(name).suffix}")
    finish(start(ordered, out), out, len(names))


def order(out: Path) -> list[str]:
    """Return the paths of images in the order in which they were stored."""
    with contextlib.closing(open_store(out)) as db:
        return [row[0] for row in db.execute("SELECT path FROM images ORDER BY id")]


def contents(out: Path) -> dict[str, Any]:
    """Return what has to be equal: images with their batches, and the learner's bits."""
    with contextlib.closing(open_store(out)) as db:
        images = db.execute("SELECT id, batch, pixels FROM images ORDER BY id").fetchall()
        batches = db.execute("SELECT COUNT(*) FROM batches WHERE learned > 0").fetchone()[0]
        steps = db.execute("SELECT id, steps FROM batches ORDER BY id").fetchall()
    state, _ = read_tensors(out / "learner.safetensors")
    learner = {name: tensor.numpy().tobytes() for name, tensor in state.items()}
    return {"images": images, "batches": batches, "updates": steps, "learner": learner}


def open_store(out: Path) -> sqlite3.Connection:
    """Open a store to read."""
    return sqlite3.connect(f"file:{out / 'store.sqlite'}?mode=ro", uri=True)


def copy(image: Path, to: Path) -> None:
    """Copy an image under its name at once; half a file is tested elsewhere."""
    part = to.with_name(f".{to.name}.part")
    part.write_bytes(image.read_bytes())
    part.rename(to)


@contextlib.contextmanager
def disk(folder: Path, megabytes: int | None) -> Iterator[Path]:
    """Make a folder, on a small tmpfs if a size is given."""
    folder.mkdir()
    if megabytes is None:
        yield folder
        return
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Fill the disk of a folder to the last byte."""
    with contextlib.suppress(OSError), (folder / BALLAST).open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


if __name__ == "__main__":
    sys.exit(main())
