"""Each image is learned from once: a watcher that was killed ends like one that was not."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest
from PIL import Image

from scale._errors import InputError
from scale._tensors import read_tensors
from scale.live import Store, Watcher
from tests.live.tools import TINY, contents, make_images, make_video, watch
from tests.processes import start

ROOT = Path(__file__).parents[2]
KILLED = -signal.SIGKILL


def watch_killed(out: Path, sources: list[Path], uses: list[int], checkpoint: float) -> list[int]:
    """Watch in one process after the other, each killed at its n-th use of a file."""
    code = "import sys; from tests.live.killed import main; main(*sys.argv[1:])"
    given = [str(out), str(checkpoint), "|".join(map(str, sources)), *map(str, uses)]
    process = start(["-c", code, *given], cwd=ROOT)
    output, error = process.communicate()
    assert process.returncode == 0, error
    statuses = [int(line) for line in output.split()]
    assert set(statuses) <= {KILLED, 0}, error
    return statuses


def test_a_folder_is_learned_by_name_in_whole_batches_and_a_rest(tmp_path):
    make_images(tmp_path / "in", 20)
    watcher = watch(tmp_path / "live", [tmp_path / "in"])
    assert watcher.learner.step_ == 3
    kept = contents(tmp_path / "live")
    names = [Path(row["path"]).name for row in kept["images"]]
    assert names == [f"{i:03d}.png" for i in range(20)]
    assert [row["batch"] for row in kept["images"]] == [1] * 8 + [2] * 8 + [3] * 4
    assert TINY.batch_size == 8


def test_the_same_command_again_learns_nothing_twice(tmp_path):
    make_images(tmp_path / "in", 20)
    watch(tmp_path / "live", [tmp_path / "in"])
    before = contents(tmp_path / "live")
    watch(tmp_path / "live", [tmp_path / "in"])
    assert contents(tmp_path / "live") == before


@pytest.mark.slow
@pytest.mark.parametrize("checkpoint", [0, 1e6], ids=["checkpoints", "no checkpoint"])
def test_kills_at_any_use_of_a_file_change_nothing(tmp_path, checkpoint):
    pytest.importorskip("av")
    sources = [tmp_path / "in", make_video(tmp_path / "film.avi", 6)]
    make_images(tmp_path / "in", 12)
    watch(tmp_path / "whole", sources, checkpoint_seconds=checkpoint)
    rng = random.Random(checkpoint)
    uses = [rng.randrange(1, 90) for _ in range(6)]
    statuses = watch_killed(tmp_path / "live", sources, [*uses, 0], checkpoint)
    assert statuses.count(KILLED) >= 4
    assert statuses[-1] == 0
    assert contents(tmp_path / "live") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_many_kills_change_nothing(tmp_path):
    pytest.importorskip("av")
    sources = [tmp_path / "in", make_video(tmp_path / "film.avi", 20)]
    make_images(tmp_path / "in", 40)
    watch(tmp_path / "whole", sources, checkpoint_seconds=0.2)
    rng = random.Random(os.getpid())
    uses = [rng.randrange(1, 200) for _ in range(10)]
    assert watch_killed(tmp_path / "live", sources, [*uses, 0], 0.2)[-1] == 0
    assert contents(tmp_path / "live") == contents(tmp_path / "whole")


def test_a_stop_in_between_changes_nothing(tmp_path):
    make_images(tmp_path / "in", 20)
    watch(tmp_path / "whole", [tmp_path / "in"])
    watcher = Watcher(tmp_path / "live", [str(tmp_path / "in")], config=TINY, once=True)
    assert not watcher.run(lambda: watcher.learner.step_ >= 1)
    watcher.close()
    assert read_tensors(tmp_path / "live" / "learner.safetensors")[0]["step"] == 1
    watch(tmp_path / "live", [tmp_path / "in"])
    assert contents(tmp_path / "live") == contents(tmp_path / "whole")


def test_a_batch_is_learned_again_with_its_number_of_updates(tmp_path):
    make_images(tmp_path / "in", 16)
    watch(tmp_path / "whole", [tmp_path / "in"])
    with Watcher(tmp_path / "live", config=TINY) as watcher:
        for path in sorted((tmp_path / "in").iterdir()):
            with Image.open(path) as image:
                watcher.feed([image])
        watcher.flush()
    # The journal says two updates, and the checkpoint is gone: both count when it goes on.
    with Store(tmp_path / "live") as store, store.transaction() as db:
        db.execute("UPDATE batches SET steps = 2")
    for path in (tmp_path / "live" / "checkpoints").iterdir():
        path.unlink()
    with Watcher(tmp_path / "live", config=TINY) as watcher:
        watcher.flush()
        again = watcher.learner.state_dict()
        assert watcher.learner.steps_per_batch == 1
    once, _ = read_tensors(tmp_path / "whole" / "learner.safetensors")
    assert int(again["step"]) == int(once["step"]) == 2
    assert any(not (again[name] == once[name]).all() for name in once)


def test_two_processes_cannot_watch_into_one_folder(tmp_path):
    first = Watcher(tmp_path / "live", config=TINY)
    with pytest.raises(InputError, match="another process"):
        Watcher(tmp_path / "live", config=TINY)
    first.close()


def test_other_options_of_the_learner_are_refused(tmp_path):
    Watcher(tmp_path / "live", config=TINY).close()
    other = TINY.complete()
    other.params["tau"] = 0.5
    with pytest.raises(InputError, match=r"started with tau = 0\.1, not 0\.5"):
        Watcher(tmp_path / "live", config=other)
