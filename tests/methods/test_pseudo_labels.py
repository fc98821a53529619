"""Pseudo labels: clusters, prototypes, the classifier and its teacher."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from .learners import fit, images, learn, make
from .toys import left_or_right


def started(**params):
    learner = make("pseudo-labels", **params)
    learner.start((1, 28, 28))
    return learner


def directions(*places: float) -> torch.Tensor:
    """Unit rows of 128 features: a turn by each angle."""
    rows = torch.zeros(len(places), 128)
    angle = torch.tensor(places)
    rows[:, 0], rows[:, 1] = angle.cos(), angle.sin()
    return rows


def views(n: int, seed: int) -> torch.Tensor:
    return torch.randn(2 * n, 1, 28, 28, generator=torch.Generator().manual_seed(seed))


def test_without_distillation_it_is_cross_entropy_over_opened_labels():
    learner = fit(make("pseudo-labels", distillation=0.0), last=1)
    opened = int(learner.prototypes_.opened)
    targets = torch.tensor([0, 1, 0, 1, 0, 1, 0, 1])
    found = learner.losses(views(4, 0), targets, old=2, weight=0.0)
    z = learner.projector_(learner.encoder_(views(4, 0)))
    cosines = z @ F.normalize(learner.heads_["classes"].weight, dim=1).T
    expected = F.cross_entropy(cosines[:, :opened] / learner.tau, targets)
    torch.testing.assert_close(found["loss"], expected)
    found["loss"].backward()
    gradient = learner.heads_["classes"].weight.grad
    assert not gradient[opened:].any()
    assert gradient[:opened].any()


def test_the_first_batch_has_no_distillation_and_later_ones_have():
    learner = learn(make("pseudo-labels"), images())
    assert "distillation" not in learner.diagnostics_
    assert "distillation" in fit(learner, 1, 2).diagnostics_


def test_the_old_answers_weigh_as_their_share_of_the_labels_up_to_a_limit(monkeypatch):
    learner = fit(make("pseudo-labels", clusters=6, distillation=0.5, novelty=0.0), last=1)
    weights = []
    losses = learner.losses

    def spy(views, targets, old, weight):
        weights.append((old, weight))
        return losses(views, targets, old, weight)

    monkeypatch.setattr(learner, "losses", spy)
    fit(learner, 1, 2)
    learner.clusters = 24
    fit(learner, 2, 3)
    (first, half), (second, less) = weights[0], weights[-1]
    assert half == first / (first + 6) if first < 6 else half == 0.5
    assert less == pytest.approx(second / (second + 24))
    assert less < 0.5


def test_before_the_first_update_the_old_answers_cost_nothing():
    learner = fit(make("pseudo-labels"), last=2)
    learner.past_.freeze()
    learner.encoder_.eval()  # the teacher's mode
    targets = torch.zeros(8, dtype=torch.int64)
    found = learner.losses(views(4, 0), targets, old=2, weight=0.5)
    assert found["distillation"].item() == pytest.approx(0, abs=1e-6)


def test_the_teacher_stays_while_a_batch_is_learned():
    learner = fit(make("pseudo-labels", steps_per_batch=3), last=1)
    before = [p.clone() for p in learner.encoder_.parameters()]
    fit(learner, 1, 2)
    for a, b in zip(before, learner.past_.encoder.parameters(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("lr", [0.0, 0.03])
def test_the_same_batch_again_opens_no_label(lr):
    learner = make("pseudo-labels", lr=lr, memory_size=40, clusters=3)
    learn(learner, images())
    assert learner.diagnostics_["pseudo_labels"] == 3
    learn(learner, images())
    assert learner.diagnostics_["pseudo_labels"] == 3


def test_a_far_cluster_opens_a_label_and_a_near_one_does_not():
    learner = started(clusters=1)
    near = directions(0.0, 0.1, 0.2, 0.1)
    assert learner.label(near).tolist() == [0, 0, 0, 0]
    assert learner.label(near + 1e-4).tolist() == [0, 0, 0, 0]
    assert learner.label(directions(1.5, 1.6)).tolist() == [1, 1]
    assert learner.label(directions(0.1, 0.15)).tolist() == [0, 0]


def test_the_number_of_labels_never_falls_and_has_a_limit():
    learner = make("pseudo-labels", novelty=0.0, clusters=4, max_classes=9)
    grown = [fit(learner, i, i + 1).diagnostics_["pseudo_labels"] for i in range(5)]
    assert grown == sorted(grown)
    assert grown[-1] == 9


def test_another_order_of_clusters_only_renames_labels():
    a, b = started(clusters=2), started(clusters=2, seed=5)
    rows = directions(0.0, 0.05, 1.5, 1.55)
    first, second = a.label(rows), b.label(rows)
    assert len(set(first.tolist())) == 2
    same = [(first[i] == first[j]) == (second[i] == second[j]) for i in range(4) for j in range(4)]
    assert all(same)


def test_prototypes_follow_the_encoder():
    learner = fit(make("pseudo-labels"), last=2)
    learner.renew_prototypes()
    label = int(learner.memory_.columns["pseudo"][0])
    own = learner.memory_.columns["pseudo"] == label
    expected = F.normalize(learner.unit_features(learner.memory_.images[own]).mean(0), dim=0)
    torch.testing.assert_close(learner.prototypes_.directions[label], expected)


def test_two_kinds_in_sequence_get_different_labels():
    learner = make("pseudo-labels", clusters=1, memory_size=40)
    for seed in range(3):
        learn(learner, left_or_right(12, False, seed))
    assert learner.diagnostics_["pseudo_labels"] == 1
    learn(learner, left_or_right(12, True))
    assert learner.diagnostics_["pseudo_labels"] == 2
