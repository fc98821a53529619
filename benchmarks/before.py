"""scale-plus beside an earlier commit, ResNet-18, a full memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._measure import Row, row

COMMIT = "6c509da"  # the last one before embeddings were kept up to date
ROOT = Path(__file__).parents[1]
CHILD = """
import json, sys, time
import torch
from scale.methods import ScalePlus
torch.set_num_threads(1)
n, size, updates = map(int, sys.argv[1:])
generator = torch.Generator().manual_seed(0)
images = torch.randint(0, 256, (size + n, 3, 32, 32), dtype=torch.uint8, generator=generator)
learner = ScalePlus(memory_size=size, memory_batch=n, steps_per_batch=updates)
learner.start((3, 32, 32))
learner.memory_.update(images[:size])
learner.step_ = 1000  # early, it refreshes more of its read-out
if hasattr(learner, "readout_"):  # a stream would have filled it
    learner._refresh_readout(n)
clock = [time.process_time()]
for images in (images[size:], images[:n]):
    (learner.transform if len(clock) > 1 else learner.partial_fit)(images)
    clock.append(time.process_time())
print(json.dumps([clock[1] - clock[0], clock[2] - clock[1]]))
"""


def main(quick: bool = False) -> list[Row]:
    """Time a batch and the first embedding after it, each code in a process of its own."""
    sizes = (8, 64, 1) if quick else (128, 1280, 5)
    with tempfile.TemporaryDirectory() as folder:
        if not unpack(Path(folder)):
            return []
        before, ours = (measure(place / "src", sizes) for place in (Path(folder), ROOT))
    names = (
        f"a batch of {sizes[0]} with {sizes[2]} updates",
        f"first embedding of {sizes[0]} after it",
    )
    return [
        row(f"scale-plus, {name}", now * 1e3, (f"commit {COMMIT}", then * 1e3))
        for name, now, then in zip(names, ours, before, strict=True)
    ]


def unpack(folder: Path) -> bool:
    """Write the earlier code to a folder; return whether this is a checkout that has it."""
    archive = ["git", "-C", str(ROOT), "archive", COMMIT, "src"]
    found = subprocess.run(archive, capture_output=True, check=False)
    if found.returncode == 0:
        subprocess.run(["tar", "-x", "-C", str(folder)], input=found.stdout, check=True)
    return found.returncode == 0


def measure(source: Path, sizes: tuple[int, int, int]) -> list[float]:
    """Return the seconds of a batch and of the first embedding after it, with this code."""
    command = [sys.executable, "-c", CHILD, *map(str, sizes)]
    env = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    seconds: list[float] = json.loads(done.stdout.splitlines()[-1])
    return seconds
