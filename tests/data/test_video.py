"""Videos as datasets."""

from __future__ import annotations

import pytest

from scale._errors import InputError
from scale.data import load_dataset
from scale.runs.parameters import default_image_size
from scale.streams import make_order
from tests.live.tools import make_video

pytest.importorskip("av")


def test_all_frames_come_in_their_order_without_labels(tmp_path):
    film = make_video(tmp_path / "film.avi", 3)
    found = load_dataset(str(film), image_size=16)
    assert found.images.shape == (6, 3, 16, 16)
    assert found.labels is None
    assert make_order("frames", None, num_samples=6).tolist() == list(range(6))
    assert default_image_size(str(film)) == 64


@pytest.mark.parametrize("content", [b"", b"no video" * 100])
def test_another_file_is_refused(tmp_path, content):
    (tmp_path / "film.mp4").write_bytes(content)
    with pytest.raises(InputError, match=r"film\.mp4"):
        load_dataset(str(tmp_path / "film.mp4"))
