"""Embeddings of archives: their numbers, their files, and going on after a stop."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from scale._errors import InputError, UnwritableError
from scale._locks import hold
from scale.data import load_dataset, load_files
from scale.data.registry import LoadOptions
from scale.methods import METHODS, Learner, load
from scale.runs.embed import embed_images
from scale.runs.embed_parts import PART, Parts
from tests.processes import start

SIDE = 8
MANY = 2 * PART + 100


def made_learner(path: Path, seed: int = 0) -> Path:
    """Save a learner that has seen 30 grey images."""
    learner = METHODS["er"](encoder="cnn", steps_per_batch=1, augmentation="mnist", seed=seed)
    pixels = np.random.default_rng(seed).integers(0, 256, (30, 1, SIDE, SIDE), dtype=np.uint8)
    learner.partial_fit(pixels).save(path)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_learner(tmp_path_factory.mktemp("learner") / "learner.safetensors")


@pytest.fixture(scope="module")
def learner(saved: Path) -> Learner:
    return load(saved)


@pytest.fixture(scope="module")
def array(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More images than two parts hold, as a .npy file of N x H x W x 1."""
    path = tmp_path_factory.mktemp("array") / "many.npy"
    rng = np.random.default_rng(1)
    np.save(path, rng.integers(0, 256, (MANY, SIDE, SIDE, 1), dtype=np.uint8))
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Grey and colour images of several sizes at several depths."""
    rng = np.random.default_rng(2)
    for i, name in enumerate(("b/2.png", "b/deep/er/1.png", "a.png", "c/10.jpg", "c/9.png")):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = (SIDE + i, SIDE + 2 * i, 3)[: 2 + i % 2]
        Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(path)
    return tmp_path / "photos"


def parquet(path: Path) -> tuple[list[dict[str, Any]], np.ndarray, dict[str, Any]]:
    """Return the places, the embeddings and the metadata of a file."""
    table = pq.read_table(path)
    z = np.array(table.column("embedding").to_pylist(), dtype=np.float32)
    about = json.loads(table.schema.metadata[b"scale"])
    return table.drop_columns("embedding").to_pylist(), z, about


class StopAfter:
    """A progress that fails after some images, as a process that is killed does."""

    def __init__(self, images: int) -> None:
        self.images = images
        self.seen: list[int] = []

    def __call__(self, done: int, total: int) -> None:
        self.seen.append(done)
        if done >= self.images:
            raise KeyboardInterrupt


def test_the_numbers_are_those_of_one_transform(
    saved: Path, learner: Learner, array: Path, tmp_path: Path
) -> None:
    expected = learner.transform(np.load(array).transpose(0, 3, 1, 2))
    done = embed_images(saved, str(array), tmp_path / "z.npy", workers=3)
    whole = io.BytesIO()
    np.save(whole, expected)
    assert (tmp_path / "z.npy").read_bytes() == whole.getvalue()
    assert done.shape == expected.shape
    embed_images(saved, str(array), tmp_path / "z.parquet", workers=1)
    places, z, _ = parquet(tmp_path / "z.parquet")
    np.testing.assert_array_equal(z, expected)
    assert places[-1] == {"source": str(array), "index": MANY - 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["z.npy", "z.parquet"]


def test_a_parquet_file_has_paths_and_says_which_learner_made_it(
    saved: Path, learner: Learner, photos: Path, tmp_path: Path
) -> None:
    embed_images(saved, str(photos), tmp_path / "z.parquet")
    places, z, about = parquet(tmp_path / "z.parquet")
    names = ["a.png", "b/2.png", "b/deep/er/1.png", "c/10.jpg", "c/9.png"]
    assert places == [{"path": str(photos / name)} for name in names]
    assert pq.read_schema(tmp_path / "z.parquet").field("embedding").type == pa.list_(
        pa.float32(), z.shape[1]
    )
    assert (about["method"], about["image_side"], about["images_seen"]) == ("er", SIDE, 30)
    assert len(about["learner"]) == 64
    assert about["code"]
    grey = [names.index(name) for name in ("b/2.png", "a.png", "c/9.png")]
    files = [photos / names[at] for at in grey]
    images = load_files(files, LoadOptions(image_size=SIDE)).images
    np.testing.assert_allclose(learner.transform(images), z[grey], rtol=1e-4, atol=1e-5)


def test_rows_of_parquet_files_keep_their_place(
    saved: Path, learner: Learner, tmp_path: Path
) -> None:
    folder = tmp_path / "hub"
    folder.mkdir()
    pixels = np.random.default_rng(3).integers(0, 256, (70, SIDE, SIDE), dtype=np.uint8)
    for shard, some in enumerate((pixels[:40], pixels[40:])):
        encoded = []
        for one in some:
            file = io.BytesIO()
            Image.fromarray(one).save(file, "PNG")
            encoded.append({"bytes": file.getvalue(), "path": None})
        table = pa.table({"image": encoded, "label": list(range(len(some)))})
        pq.write_table(table, folder / f"train-{shard:05d}-of-00002.parquet", row_group_size=16)
    embed_images(saved, str(folder), tmp_path / "z.parquet")
    places, z, _ = parquet(tmp_path / "z.parquet")
    np.testing.assert_array_equal(z, learner.transform(pixels[:, None]))
    files = sorted(folder.iterdir())
    assert places[39] == {"source": str(files[0]), "index": 39}
    assert places[40] == {"source": str(files[1]), "index": 0}


def test_a_registered_dataset_is_embedded(saved: Path, learner: Learner, tmp_path: Path) -> None:
    embed_images(saved, "digits8", tmp_path / "z.npy", split="test")
    images = load_dataset("digits8", "test", image_size=SIDE).images
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), learner.transform(images))


@pytest.mark.parametrize("name", ["z.npy", "z.parquet"])
def test_a_stopped_embedding_goes_on_and_ends_with_the_same_file(
    name: str, saved: Path, array: Path, tmp_path: Path
) -> None:
    whole, out = tmp_path / "whole" / name, tmp_path / "stopped" / name
    embed_images(saved, str(array), whole)
    for images in (PART + 1, 2 * PART + 1):
        with pytest.raises(KeyboardInterrupt):
            embed_images(saved, str(array), out, progress=StopAfter(images))
        assert not out.exists()
    last = StopAfter(MANY + 1)
    embed_images(saved, str(array), out, progress=last)
    assert last.seen[0] == 2 * PART, "the parts that were finished are not made again"
    assert out.read_bytes() == whole.read_bytes()
    assert [path.name for path in out.parent.iterdir()] == [name]


def test_a_stop_before_the_first_part_leaves_nothing(
    saved: Path, array: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed_images(saved, str(array), tmp_path / "z.npy", progress=StopAfter(1))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_is_made_again(saved: Path, array: Path, tmp_path: Path) -> None:
    out = tmp_path / "z.npy"
    with pytest.raises(KeyboardInterrupt):
        embed_images(saved, str(array), out, progress=StopAfter(2 * PART + 1))
    first = min(Parts(out).folder.glob("*.safetensors"))
    first.write_bytes(first.read_bytes()[:-10])
    told: list[str] = []
    embed_images(saved, str(array), out, warn=told.append)
    assert len(told) == 1
    assert "making it again" in told[0]
    embed_images(saved, str(array), tmp_path / "whole.npy")
    assert out.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_parts_of_another_learner_source_or_split_are_refused(
    saved: Path, array: Path, tmp_path: Path
) -> None:
    out = tmp_path / "z.npy"
    with pytest.raises(KeyboardInterrupt):
        embed_images(saved, str(array), out, progress=StopAfter(PART + 1))
    other = made_learner(tmp_path / "other.safetensors", seed=1)
    copy = tmp_path / "copy.npy"
    copy.write_bytes(array.read_bytes())
    with pytest.raises(InputError, match=r"begun with another learner.*--restart"):
        embed_images(other, str(array), out)
    with pytest.raises(InputError, match="begun from another source"):
        embed_images(saved, str(copy), out)
    with pytest.raises(InputError, match="begun from another split"):
        embed_images(saved, str(array), out, split="train")
    os.utime(array)
    with pytest.raises(InputError, match="when the source had other images"):
        embed_images(saved, str(array), out)
    begun = StopAfter(MANY + 1)
    embed_images(other, str(array), out, restart=True, progress=begun)
    assert begun.seen[0] == 0
    np.testing.assert_array_equal(
        np.load(out), load(other).transform(np.load(array).transpose(0, 3, 1, 2))
    )


@pytest.fixture(scope="module")
def many_photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More files than a part holds."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(4)
    for i in range(PART + 5):
        path = folder / f"{i // 500}" / f"{i % 500:03d}.pgm"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (SIDE, SIDE), dtype=np.uint8)).save(path)
    return folder


def test_the_list_made_at_the_start_decides(saved: Path, many_photos: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "z.parquet", tmp_path / "whole.parquet"
    embed_images(saved, str(many_photos), whole)
    with pytest.raises(KeyboardInterrupt):
        embed_images(saved, str(many_photos), out, progress=StopAfter(PART + 1))
    late = [many_photos / "0" / "late.pgm", many_photos / "later.pgm"]
    for path in late:
        path.write_bytes((many_photos / "0" / "000.pgm").read_bytes())
    done = embed_images(saved, str(many_photos), out)
    for path in late:
        path.unlink()
    assert (done.new, done.changed) == (2, 0)
    assert out.read_bytes() == whole.read_bytes()


def test_unreadable_files_are_skipped_and_named(
    saved: Path, learner: Learner, many_photos: Path, tmp_path: Path
) -> None:
    out = tmp_path / "z.npy"
    last = many_photos / "4" / "048.pgm"
    content = last.read_bytes()
    last.write_bytes(b"no image")
    try:
        with pytest.raises(InputError, match=r"048\.pgm"):
            embed_images(saved, str(many_photos), out)
        done = embed_images(saved, str(many_photos), out, on_bad="skip")
    finally:
        last.write_bytes(content)
    assert done.skipped == (str(last),)
    names = done.names.read_text().splitlines() if done.names else []
    assert len(names) == done.shape[0] == PART + 4
    assert str(last) not in names
    files = [Path(name) for name in names]
    images = load_files(files, LoadOptions(image_size=SIDE)).images
    expected = np.concatenate([learner.transform(images[at : at + PART]) for at in (0, PART)])
    np.testing.assert_array_equal(np.load(out), expected)


def test_a_folder_without_any_image_is_refused(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("no image")
    with pytest.raises(InputError, match="none of the 1 files"):
        embed_images(saved, str(tmp_path / "texts"), tmp_path / "z.npy", on_bad="skip")


def test_a_full_disk_keeps_the_parts(
    saved: Path, array: Path, tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("5m")
    out = disk / "z.npy"
    (disk / "other").write_bytes(bytes(2 * 2**20))  # room for the parts, but not for the file
    with pytest.raises(UnwritableError, match=r"no space left.*the same command goes on"):
        embed_images(saved, str(array), out)
    assert not out.exists()
    (disk / "other").unlink()
    rest = StopAfter(MANY + 1)
    embed_images(saved, str(array), out, progress=rest)
    assert rest.seen == [MANY], "no image is embedded again"
    embed_images(saved, str(array), tmp_path / "whole.npy")
    assert out.read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_two_processes_do_not_write_the_same_file(saved: Path, array: Path, tmp_path: Path) -> None:
    out = tmp_path / "z.npy"
    with hold(Parts(out).folder / ".lock"), pytest.raises(InputError, match="another process"):
        embed_images(saved, str(array), out)


def test_a_folder_of_others_is_not_touched(saved: Path, array: Path, tmp_path: Path) -> None:
    folder = Parts(tmp_path / "z.npy").folder
    folder.mkdir()
    (folder / "letters.txt").write_text("dear")
    with pytest.raises(InputError, match=r"other files \(letters\.txt\)"):
        embed_images(saved, str(array), tmp_path / "z.npy", restart=True)
    assert (folder / "letters.txt").read_text() == "dear"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_place_of_the_parts_is_not_touched(
    there: bool, saved: Path, array: Path, tmp_path: Path
) -> None:
    link, mine = tmp_path / "z.npy.parts", tmp_path / "mine"
    if there:
        mine.mkdir()
    link.symlink_to(mine)
    with pytest.raises(InputError, match=r"other files \(z\.npy\.parts\)"):
        embed_images(saved, str(array), tmp_path / "z.npy")
    assert link.is_symlink()
    assert mine.exists() == there


def test_a_name_that_is_not_utf_8_is_written_as_json(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    path = folder / b"\xff.png".decode(errors="surrogateescape")
    Image.fromarray(np.zeros((SIDE, SIDE), np.uint8)).save(path)
    embed_images(saved, str(folder), tmp_path / "z.parquet")
    (place,), _, _ = parquet(tmp_path / "z.parquet")
    assert json.loads(place["path"]) == str(path)


EMBED = """
import sys
from pathlib import Path
from scale.runs import embed_images
run, images, out = sys.argv[1:]
embed_images(Path(run), images, Path(out), progress=lambda done, total: print(done, flush=True))
"""


@pytest.mark.slow
def test_killed_at_random_moments_the_same_call_ends_with_the_same_file(
    saved: Path, array: Path, tmp_path: Path
) -> None:
    out, whole = tmp_path / "z.parquet", tmp_path / "whole.parquet"
    embed_images(saved, str(array), whole)
    for moment in np.random.default_rng(os.getpid()).integers(1, 4, size=3):
        process = start(["-c", EMBED, str(saved), str(array), str(out)])
        assert process.stdout is not None
        for _, _ in zip(range(moment), process.stdout, strict=False):
            pass
        process.kill()
        process.communicate()
    embed_images(saved, str(array), out)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole.parquet", "z.parquet"]
