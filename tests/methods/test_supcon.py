"""SupCon's loss against its formula, and whose labels it takes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import SupConLoss
from pytorch_metric_learning.reducers import MeanReducer

from scale._errors import InputError
from scale.methods import SimCLR, SupCon
from tests.losses import slow

from .learners import images

COMMON = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}
SMALL = {**COMMON, "memory_size": 15, "memory_batch": 5}


def classes(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, n)


def weights(learner: SupCon | SimCLR) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in learner.encoder_.parameters()])


def test_the_loss_is_supcon_over_stream_and_replayed_views() -> None:
    learner = SupCon(**SMALL)
    for seed in range(3):
        learner.partial_fit(images(8, seed), classes(8, seed))
    batch, labels = torch.from_numpy(images(8, 3)), torch.from_numpy(classes(8, 3))
    stream = learner.draw_views(batch)
    memory = learner.replay_views()
    found = learner.losses(stream, memory, labels)["loss"]

    z = learner.project(torch.cat([stream, memory])).detach()
    of_memory = learner.memory_.columns["labels"][learner.replayed_]
    of_views = [*labels.tolist() * 2, *of_memory.tolist() * 2]
    assert len(of_views) == len(z) == 2 * (8 + 5)
    theirs = SupConLoss(temperature=learner.tau, reducer=MeanReducer())(z, torch.tensor(of_views))
    torch.testing.assert_close(found, theirs)
    positives = [
        {j for j in range(len(z)) if j != i and of_views[j] == of_views[i]} for i in range(len(z))
    ]
    by_hand = slow.contrastive(z.double().numpy(), positives, learner.tau)
    assert float(found.detach()) == pytest.approx(by_hand, rel=1e-5)


def test_replayed_images_carry_the_labels_that_they_came_with() -> None:
    learner = SupCon(**SMALL)
    label_of = {}
    for seed in range(6):
        batch, labels = images(8, seed), classes(8, seed)
        label_of.update({image.tobytes(): y for image, y in zip(batch, labels, strict=True)})
        learner.partial_fit(batch, labels)
        stored = learner.memory_.columns["labels"].tolist()
        assert stored == [label_of[image.numpy().tobytes()] for image in learner.memory_.images]


def test_with_a_class_for_every_image_and_no_memory_it_equals_simclr() -> None:
    supervised, plain = SupCon(**COMMON, memory_size=0), SimCLR(**COMMON)
    for seed in range(3):
        supervised.partial_fit(images(8, seed), np.arange(8))
        plain.partial_fit(images(8, seed))
    assert torch.equal(weights(supervised), weights(plain))


def test_the_labels_decide_what_is_learned() -> None:
    true, others = SupCon(**COMMON), SupCon(**COMMON)
    true.partial_fit(images(8), [0, 0, 0, 0, 1, 1, 1, 1])
    others.partial_fit(images(8), [0, 1, 0, 1, 0, 1, 0, 1])
    assert not torch.equal(weights(true), weights(others))


def test_the_names_of_the_classes_do_not_matter() -> None:
    small, large = SupCon(**SMALL), SupCon(**SMALL)
    for seed in range(4):
        small.partial_fit(images(8, seed), classes(8, seed))
        large.partial_fit(images(8, seed), classes(8, seed) * 10**9 + 7)
    assert torch.equal(weights(small), weights(large))


def test_memory_is_balanced_by_class_although_the_stream_is_not() -> None:
    learner = SupCon(**SMALL)
    for label in (0, 0, 0, 1, 2):
        learner.partial_fit(images(8, label), np.full(8, label))
    assert learner.memory_.columns["labels"].bincount().tolist() == [5, 5, 5]


def test_any_other_memory_policy_may_be_chosen() -> None:
    learner = SupCon(**SMALL, memory_policy="fifo")
    for seed in range(4):
        learner.partial_fit(images(8, seed), classes(8, seed))
    expected = np.concatenate([classes(8, 2), classes(8, 3)])[1:]
    assert learner.memory_.columns["labels"].tolist() == expected.tolist()


def test_it_learns_to_tell_the_classes_of_what_it_sees() -> None:
    learner = SupCon(**{**COMMON, "steps_per_batch": 15}, memory_batch=0)
    labels = np.arange(16) % 2
    first = learner.partial_fit(images(16), labels).diagnostics_["loss"]
    assert learner.partial_fit(images(16), labels).diagnostics_["loss"] < first


@pytest.mark.parametrize("tau", [0.0, -1.0])
def test_a_temperature_that_is_not_positive_is_refused(tau: float) -> None:
    with pytest.raises(InputError, match="tau must be above 0"):
        SupCon(**COMMON, tau=tau).partial_fit(images(4), [0, 1, 0, 1])
