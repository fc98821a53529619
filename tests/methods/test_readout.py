"""The read-out that is kept up to date: which features it refreshes, and what it fits."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from scale.methods.readout.readout import Readout, Size
from scale.methods.readout.whitening import contrast_whitening

DIM = 6


def readout(images: int = 40, views: int = 1) -> Readout:
    return Readout(images, views, {"encoder": Size(DIM, 3)}, ridge=0.2)


class Images:
    """Random features of a memory whose image i arrived as number `arrivals[i]`."""

    def __init__(self, arrivals: Tensor, age: int = 0) -> None:
        self.arrivals, self.age = arrivals, age
        self.asked: list[int] = []

    def __call__(self, indices: Tensor) -> dict[str, Tensor]:
        self.asked = self.arrivals[indices].tolist()
        rows = [
            torch.randn(2, DIM, generator=torch.Generator().manual_seed(1000 * self.age + arrival))
            for arrival in self.asked
        ]
        return {"encoder": torch.stack(rows) if rows else torch.empty(0, 2, DIM)}


def refresh(kept: Readout, count: int, budget: int, age: int = 0) -> list[int]:
    """Refresh it with `count` images in memory; return the arrivals of the images it asked for."""
    images = Images(torch.arange(count).flip(0), age)
    kept.refresh(images.arrivals, budget, images)
    return images.asked


def test_new_images_come_first_and_then_the_oldest_features():
    kept = readout()
    assert sorted(refresh(kept, 20, budget=0)) == list(range(20))
    first = refresh(kept, 20, budget=8)
    second = refresh(kept, 23, budget=8)
    assert sorted(second[:3]) == [20, 21, 22]
    third = refresh(kept, 23, budget=4)
    assert sorted(first + second[3:] + third) == list(range(20)), "each once, in turn"


def test_features_of_an_image_that_left_memory_are_dropped():
    kept = readout()
    refresh(kept, 20, budget=0)
    images = Images(torch.arange(5, 22))
    kept.refresh(images.arrivals, 0, images)
    assert sorted(images.asked) == [20, 21]
    assert sorted(kept.arrivals[kept.arrivals >= 0].tolist()) == list(range(5, 22))


def test_maps_are_those_of_the_stored_features():
    kept = readout()
    refresh(kept, 30, budget=0)
    refresh(kept, 30, budget=10, age=1)
    rows = kept.get_buffer("encoder_features")[:30]
    expected = contrast_whitening(rows[:, 0], [rows[:, 1]], 0.2, 3)
    found = kept.map_of("encoder", "cpu")
    assert found is not None
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_maps_change_only_when_a_quarter_of_the_features_did():
    kept = readout()
    refresh(kept, 40, budget=0)
    before = kept.get_buffer("encoder_matrix").clone()
    refresh(kept, 40, budget=9, age=1)
    assert torch.equal(kept.get_buffer("encoder_matrix"), before)
    refresh(kept, 40, budget=1, age=1)
    assert not torch.equal(kept.get_buffer("encoder_matrix"), before)


@pytest.mark.parametrize("first", [0, 10**12])
def test_of_more_images_than_rows_it_takes_a_lasting_sample_of_the_whole_stream(first):
    kept = readout(images=10)
    images = Images(first + torch.arange(1000))
    kept.refresh(images.arrivals, 0, images)
    places = torch.tensor(images.asked).sort().values - first
    assert (places.diff() < 250).all()
    assert places[0] < 250
    assert places[-1] > 750
    kept.refresh(images.arrivals[5:], 0, images)
    assert len(images.asked) <= 5, "the others stay"


def test_values_from_before_a_feature_changed_its_meaning_have_no_effect():
    matrices = []
    for old in (0.0, 1e3):
        kept = readout()
        refresh(kept, 40, budget=0)
        kept.get_buffer("encoder_features")[..., 2] += old
        kept.renew("encoder", torch.tensor([2]))
        refresh(kept, 40, budget=20, age=1)
        matrices.append(kept.get_buffer("encoder_matrix").clone())
    torch.testing.assert_close(*matrices)
    assert matrices[0][2].abs().max() > 1e-3, "its new values count"


def test_features_that_fail_leave_it_as_it_was():
    kept = readout()
    refresh(kept, 20, budget=0)
    before = {name: value.clone() for name, value in kept.state_dict().items()}

    def fail(indices: Tensor) -> dict[str, Tensor]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept.refresh(torch.arange(30), 5, fail)
    for name, value in kept.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_features_that_are_not_finite_do_not_replace_the_maps():
    kept = readout()
    refresh(kept, 20, budget=0)
    before = kept.get_buffer("encoder_matrix").clone()
    kept.get_buffer("encoder_features")[3] = torch.nan
    kept.fit()
    assert torch.equal(kept.get_buffer("encoder_matrix"), before)
