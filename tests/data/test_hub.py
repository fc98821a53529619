from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import InputError, ScaleError
from scale.data import load_dataset

IMAGES = [np.full((4, 4, 3), i, np.uint8) for i in range(24)]


@pytest.fixture
def hub(tmp_path: Path, write_parquet: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `$SCALE_DATA` with two small datasets under the ids of real ones."""
    fine, coarse = [i % 4 for i in range(24)], [i % 2 for i in range(24)]
    names = {"fine_label": list("abcd"), "coarse_label": ["x", "y"]}
    for split in ("train", "test"):
        write_parquet(
            tmp_path / f"uoft-cs/cifar100/cifar100/{split}-00000-of-00001.parquet",
            IMAGES, {"fine_label": fine, "coarse_label": coarse}, names, "img",
        )  # fmt: skip
    for split in ("train", "valid"):
        write_parquet(
            tmp_path / f"zh-plus/tiny-imagenet/data/{split}-00000-of-00001-ab12.parquet",
            [b"never decoded" if i >= 10 else one for i, one in enumerate(IMAGES)],
            {"label": list(range(24))}, {"label": [f"n{i}" for i in range(200)]},
        )  # fmt: skip
    monkeypatch.setenv("SCALE_DATA", str(tmp_path))
    return tmp_path


def test_cifar100_has_coarse_labels_unless_fine_are_asked_for(hub: Path) -> None:
    assert load_dataset("cifar100").class_names == ("x", "y")
    assert load_dataset("cifar100", label="fine_label").class_names == tuple("abcd")


def test_labels_share_one_decoded_copy(hub: Path, own_cache: Path) -> None:
    load_dataset("cifar100")
    load_dataset("cifar100", label="fine_label")
    assert len(list((own_cache / "decoded").glob("*.images"))) == 1


def test_tinyimagenet10_decodes_its_first_ten_classes_only(hub: Path) -> None:
    for split in ("train", "test", "valid"):
        loaded = load_dataset("tinyimagenet10", split)
        assert loaded.labels is not None
        assert loaded.labels.tolist() == list(range(10))
        assert loaded.class_names == tuple(f"n{i}" for i in range(10))


def test_a_hub_id_works_like_a_name(hub: Path) -> None:
    assert len(load_dataset("uoft-cs/cifar100", label="fine_label")) == 24


def test_the_users_cache_is_searched_too(
    hub: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SCALE_DATA")
    (own_cache / "hub").mkdir(parents=True)
    (hub / "uoft-cs").rename(own_cache / "hub" / "uoft-cs")
    assert len(load_dataset("cifar100", "test")) == 24


def test_a_missing_dataset_names_the_searched_folders(
    hub: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody answers there
    for name in ("mnist", "ylecun/mnist"):
        with pytest.raises(ScaleError) as caught:
            load_dataset(name)
        message = str(caught.value)
        assert str(hub / "ylecun/mnist") in message
        assert str(own_cache / "hub/ylecun/mnist") in message
    assert "scale data get ylecun/mnist" in message


def test_without_the_hubs_library_the_command_and_the_extra_are_named(hub: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['huggingface_hub'] = None\n"
        "from scale.data import load_dataset\n"
        "try: load_dataset('mnist')\n"
        "except Exception as error: sys.exit(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "get it with `scale data get mnist` (after pip install 'scale-lifelong[hub]')" in (
        done.stderr
    )


def test_a_missing_split_says_which_there_are(hub: Path) -> None:
    with pytest.raises(InputError, match="it has: test, train"):
        load_dataset("cifar100", "extra")


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        pytest.param("cifar100", (3, 32, 32), 20, marks=pytest.mark.slow),
        pytest.param("mnist", (1, 28, 28), 10, marks=pytest.mark.slow),
        ("tinyimagenet10", (3, 64, 64), 10),
    ],
)
def test_real_datasets_load(
    real_data: Path, name: str, shape: tuple[int, ...], classes: int
) -> None:
    loaded = load_dataset(name, "test")
    assert loaded.images.shape[1:] == shape
    assert loaded.num_classes == classes
    assert loaded.labels is not None
    assert set(loaded.labels.tolist()) == set(range(classes))
    assert np.ptp(np.bincount(loaded.labels)) == 0
