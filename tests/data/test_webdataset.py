from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import scale
from scale._errors import DamagedFileError, InputError, NoSplitError
from scale.data import load_dataset
from scale.data.open_archive import open_archive
from scale.runs.parameters import default_image_size

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
NCHW = PIXELS.transpose(0, 3, 1, 2)


def png(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return path


def shard(path: Path, numbers: range, labels: str = "cls") -> Path:
    members: dict[str, bytes] = {}
    for i in numbers:
        members[f"{i:04d}.png"] = png(PIXELS[i])
        if labels == "cls":
            members[f"{i:04d}.cls"] = str(i % 3).encode()
        elif labels == "json":
            members[f"{i:04d}.json"] = json.dumps({"label": f"k{i % 3}", "hue": i}).encode()
    return write_tar(path, members)


@pytest.fixture
def shards(tmp_path: Path) -> str:
    for n in range(4):
        shard(tmp_path / f"set/part-{n:03d}.tar", range(3 * n, 3 * n + 3))
    return str(tmp_path / "set/part-{000..003}.tar")


def test_a_pattern_names_shards_in_order(shards: str) -> None:
    found = load_dataset(shards)
    np.testing.assert_array_equal(found.images, NCHW)
    assert found.labels is not None
    assert found.labels.tolist() == [i % 3 for i in range(12)]
    assert found.class_names == ("0", "1", "2")


def test_a_folder_of_shards_is_the_same(shards: str) -> None:
    found = load_dataset(Path(shards).parent)
    np.testing.assert_array_equal(found.images, NCHW)


def test_one_shard_is_a_train_split(shards: str) -> None:
    file = shards.replace("{000..003}", "002")
    np.testing.assert_array_equal(load_dataset(file).images, NCHW[6:9])
    with pytest.raises(NoSplitError):
        load_dataset(file, "test")


def test_nothing_is_written_to_disk_at_full_size(shards: str, own_cache: Path) -> None:
    load_dataset(shards)
    list(scale.batches(shards, 5))
    assert not list(own_cache.rglob("*.images"))
    load_dataset(shards, image_size=4)
    assert [file.stat().st_size < 2000 for file in own_cache.rglob("*.images")] == [True]


def test_splits_are_words_of_the_file_name_and_share_their_classes(tmp_path: Path) -> None:
    shard(tmp_path / "s/a-train-000.tar", range(6), "json")
    shard(tmp_path / "s/a-val-000.tar", range(1, 2), "json")
    (tmp_path / "s/README.md").write_text("about")
    train, test = load_dataset(tmp_path / "s"), load_dataset(tmp_path / "s", "test")
    assert train.class_names == test.class_names == ("k0", "k1", "k2")
    assert test.labels is not None
    assert test.labels.tolist() == [1]


def test_splits_may_be_folders(tmp_path: Path) -> None:
    shard(tmp_path / "s/train/0.tar", range(6))
    shard(tmp_path / "s/test/0.tar", range(2))
    assert len(load_dataset(tmp_path / "s", "test")) == 2


def test_another_label_of_the_json_can_be_chosen(tmp_path: Path) -> None:
    path = shard(tmp_path / "a.tar", range(3), "json")
    found = load_dataset(path, label="hue")
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1, 2]
    with pytest.raises(InputError, match=r"no label 'hew'.*it.*json has: label, hue"):
        load_dataset(path, label="hew")


def test_without_labels_there_are_none(tmp_path: Path) -> None:
    assert load_dataset(shard(tmp_path / "a.tar", range(3), "")).labels is None


def test_batches_stream_from_shards_and_resize(shards: str) -> None:
    got = list(scale.batches(shards, 5))
    assert [len(batch) for batch in got] == [5, 5, 2]
    np.testing.assert_array_equal(np.concatenate(got), NCHW)
    assert next(scale.batches(shards, 5, image_size=6)).shape == (5, 3, 6, 6)


def test_an_archive_reads_any_part(shards: str, tmp_path: Path) -> None:
    archive = open_archive(shards, None, tmp_path / "list")
    piece = next(archive.part(4, 8).pieces(0, 4, 10))
    np.testing.assert_array_equal(piece.decode(8, 8)[0], NCHW[4:8])
    places = archive.columns(2, 4)
    assert [Path(one).name for one in places["source"]] == ["part-000.tar", "part-001.tar"]
    assert places["index"] == [2, 0]


def test_large_images_are_resized_by_default(tmp_path: Path) -> None:
    large = write_tar(tmp_path / "a.tar", {"a.png": png(np.zeros((80, 90, 3), np.uint8))})
    assert default_image_size(str(large)) == 64
    assert default_image_size(str(shard(tmp_path / "b.tar", range(2)))) is None


def test_a_missing_shard_is_named(shards: str) -> None:
    Path(shards.replace("{000..003}", "001")).unlink()
    with pytest.raises(InputError, match=r"part-001\.tar; 1 of the 4 shards are missing"):
        load_dataset(shards)
    with pytest.raises(InputError, match="shard 1 is missing"):
        load_dataset(Path(shards).parent)
    np.testing.assert_array_equal(
        load_dataset(shards.replace("000..003", "000,002")).images, NCHW[[0, 1, 2, 6, 7, 8]]
    )


@pytest.mark.parametrize("pattern", ["a-{0..}.tar", "a-{3..1}.tar", "a-{.tar", "{0..9999999}.tar"])
def test_a_wrong_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InputError, match=r"range|fewer"):
        load_dataset(pattern)


def test_an_unreadable_image_is_named_or_skipped(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {"a.png": png(PIXELS[0]), "b.png": b"x", "c.txt": b"y"})
    with pytest.raises(InputError, match=r"b\.png in .*a\.tar: it is not an image"):
        load_dataset(path)
    assert len(load_dataset(path, on_bad="skip").skipped) == 2
    with pytest.raises(InputError, match=r"b\.png in"):
        list(scale.batches(path, 1))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.txt": b"x"}, "has no images"),
        ({"a.jpg": b"x", "a.png": b"x"}, "several images"),
        ({"a.png": b"x", "a.cls": b"1", "b.png": b"x"}, "'b.png'.*has no label"),
        ({"a.png": b"x", "a.cls": b" "}, "empty"),
        ({"a.png": b"x", "a.cls": b"\xff"}, "not text"),
        ({"a.png": b"x", "a.json": b"{"}, "cannot be read"),
        ({"a.png": b"x", "a.json": b'{"label": [1]}'}, "whole number or a word"),
        ({"a.png": b"x", "a.cls": b"9" * (1 << 21)}, "at most 1"),
    ],
)
def test_samples_that_make_no_sense_are_refused(
    tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset(write_tar(tmp_path / "a.tar", members))


def test_damaged_tars_are_refused_by_name(tmp_path: Path) -> None:
    good = shard(tmp_path / "good.tar", range(6)).read_bytes()
    member = 512 + -(-len(png(PIXELS[0])) // 512) * 512
    sparse = tarfile.TarInfo("a.png")
    sparse.type, sparse.size = tarfile.GNUTYPE_SPARSE, 1 << 40
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    contents = {
        "empty": b"",
        "noise": os.urandom(4096),
        "html": b"<html>" * 200,
        "half": good[: len(good) // 2],
        "a header is noise": good[:member] + b"\xff" * 512 + good[member + 512 :],
        "no end": good[: member + 1024],
        "terabytes": sparse.tobuf(tarfile.GNU_FORMAT) + bytes(10240),
        "a header of terabytes": header.tobuf(tarfile.GNU_FORMAT) + bytes(10240),
    }
    for name, content in contents.items():
        path = tmp_path / f"{name}.tar"
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=name) as caught:
            load_dataset(path)
        assert "\n" not in str(caught.value)


def test_a_compressed_tar_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("a.png"))
    with pytest.raises(InputError, match="compressed"):
        load_dataset(tmp_path / "a.tar")


def test_names_of_members_never_reach_the_file_system(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png(PIXELS[1]))
    members = {"../../evil.png": png(PIXELS[0]), str(tmp_path / "x.png"): png(PIXELS[2])}
    path = write_tar(tmp_path / "in/a.tar", members)
    with tarfile.open(path, "a") as tar:
        link = tarfile.TarInfo("link.png")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        tar.addfile(link)
    before = sorted(tmp_path.rglob("*"))
    np.testing.assert_array_equal(load_dataset(path).images, NCHW[[0, 2]])
    assert sorted(tmp_path.rglob("*")) == before


def test_webdataset_reads_the_same_samples(shards: str) -> None:
    webdataset = pytest.importorskip("webdataset")
    rows = list(webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8"))
    np.testing.assert_array_equal(
        load_dataset(shards).images, [r["png"].transpose(2, 0, 1) for r in rows]
    )
    assert load_dataset(shards).labels.tolist() == [row["cls"] for row in rows]  # type: ignore[union-attr]
