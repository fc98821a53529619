"""CCSL: the queues, the teacher, the losses, the least varying images."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from scale.losses import queue_contrast, similarity_distillation
from scale.memory.minvar import least_of_each

from .learners import differences, fit, images, learn, make, state


def unit(n: int, seed: int, dim: int = 5) -> torch.Tensor:
    z = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def views(n: int, seed: int) -> torch.Tensor:
    return torch.randn(2 * n, 1, 28, 28, generator=torch.Generator().manual_seed(seed))


def test_the_contrast_is_minus_the_log_share_of_the_key():
    q, k, queue = unit(4, 0), unit(4, 1), unit(7, 2)
    slow = 0.0
    for i in range(4):
        own = math.exp(float(q[i] @ k[i]) / 0.3)
        others = sum(math.exp(float(q[i] @ queue[j]) / 0.3) for j in range(7))
        slow -= math.log(own / (own + others)) / 4
    assert float(queue_contrast(q, k, queue, 0.3)) == pytest.approx(slow, rel=1e-12)


def test_the_distillation_is_a_divergence_and_zero_for_a_teacher_like_the_learner():
    dots, teacher = unit(3, 0) @ unit(6, 1).T, unit(3, 2) @ unit(6, 3).T
    assert float(similarity_distillation(dots, dots, 0.1, 0.1)) == pytest.approx(0, abs=1e-12)
    slow = 0.0
    for i in range(3):
        p = [math.exp(float(v) / 0.2) for v in dots[i]]
        q = [math.exp(float(v) / 0.1) for v in teacher[i]]
        for a, b in zip(p, q, strict=True):
            slow += b / sum(q) * math.log((b / sum(q)) / (a / sum(p))) / 3
    assert float(similarity_distillation(dots, teacher, 0.2, 0.1)) == pytest.approx(slow)


def test_without_memory_it_is_moco():
    learner = fit(make("ccsl", memory_size=0), last=2)
    assert set(learner.diagnostics_) == {"loss", "contrastive"}
    assert learner.diagnostics_["loss"] == learner.diagnostics_["contrastive"]


def test_without_weights_it_is_moco_with_replay():
    learner = fit(make("ccsl", extra_weight=0.0, distillation=0.0), last=3)
    assert set(learner.diagnostics_) == {"loss", "contrastive"}


def test_the_loss_weighs_its_three_terms():
    learner = fit(make("ccsl"), last=2)
    found = learner.losses(views(4, 0), learner.replay_views())
    expected = found["contrastive"] + 0.1 * found["extra"] + 0.1 * found["distillation"]
    torch.testing.assert_close(found["loss"], expected)


def test_keys_carry_no_gradient_and_their_encoder_only_follows():
    learner = fit(make("ccsl", key_momentum=1.0), last=2)
    start = make("ccsl")
    start.start((1, 28, 28))
    for slow, first in zip(learner.key_.parameters(), start.key_.parameters(), strict=True):
        assert torch.equal(slow, first)
        assert slow.grad is None
    assert not learner.queue_.latest().requires_grad


def keys_of_updates(learner, monkeypatch) -> list[torch.Tensor]:
    """Return a list to which every update adds its keys, of stream and then replayed images."""
    made: list[torch.Tensor] = []
    push = learner.queue_.push
    monkeypatch.setattr(learner.queue_, "push", lambda k: (made.append(k), push(k)))
    return made


def test_the_queue_holds_the_last_keys_in_order_for_any_batch_size(monkeypatch):
    learner = make("ccsl", queue=50, steps_per_batch=1, memory_size=0)
    learner.start((1, 28, 28))
    made = keys_of_updates(learner, monkeypatch)
    for seed in range(7):  # 12 does not divide 50
        learn(learner, images(seed=seed))
    assert torch.equal(learner.queue_.latest(), torch.cat(made)[-50:])


def test_the_extra_queue_begins_with_stream_keys_and_then_holds_replayed_ones_only(monkeypatch):
    learner = make("ccsl", extra_queue=16, memory_batch=8, steps_per_batch=1)
    learner.start((1, 28, 28))
    made = keys_of_updates(learner, monkeypatch)
    learn(learner, images())
    assert torch.equal(learner.extra_.latest(), made[0])
    fit(learner, 1, 3)  # 16 replayed keys
    assert torch.equal(learner.extra_.latest(), torch.cat([k[12:] for k in made[1:]]))


def test_the_second_contrast_is_of_all_queries_with_the_extra_queue():
    learner = fit(make("ccsl", tau=0.2), last=2)
    stream, memory = views(4, 0), views(3, 1)
    extra = learner.extra_.latest()
    twin = copy.deepcopy(learner)
    found = learner.losses(stream, memory)["extra"]
    q = twin.project_all(torch.cat([stream[:4], memory[:3]]))
    k = twin._slow(twin.key_, torch.cat([stream[4:], memory[3:]]))
    torch.testing.assert_close(found, queue_contrast(q, k, extra, 0.2))


def test_with_negatives_from_the_batch_the_second_contrast_has_replayed_ones_only():
    learner = fit(make("ccsl", queue=0, tau=0.2), last=2)
    stream, memory = views(2, 0), views(3, 1)
    twin = copy.deepcopy(learner)
    found = learner.losses(stream, memory)["extra"].item()
    z = twin.project(torch.cat([stream, memory])).detach().double()  # 4 and 6
    partner = [2, 3, 0, 1, 7, 8, 9, 4, 5, 6]
    slow = 0.0
    for i, j in enumerate(partner):
        others = {k for k in range(4, 10) if k != i} | {j}
        total = sum(math.exp(float(z[i] @ z[k]) / 0.2) for k in others)
        slow -= math.log(math.exp(float(z[i] @ z[j]) / 0.2) / total) / 10
    assert found == pytest.approx(slow, rel=1e-4)


def test_the_teacher_moves_only_after_a_batch():
    learner = fit(make("ccsl", teacher_momentum=0.0, steps_per_batch=3), last=1)
    present = torch.nn.Sequential(learner.encoder_, learner.projector_)
    for slow, now in zip(learner.teacher_.parameters(), present.parameters(), strict=True):
        torch.testing.assert_close(slow, now)
    before = [p.clone() for p in learner.teacher_.parameters()]
    seen = []
    step = learner.step
    learner.step = lambda losses: (
        seen.append(
            all(
                torch.equal(a, b)
                for a, b in zip(before, learner.teacher_.parameters(), strict=True)
            )
        ),
        step(losses),
    )
    fit(learner, 1, 2)
    assert seen == [True, True, True]


def test_the_steadiest_image_of_a_cluster_stays():
    deviation = torch.tensor([3.0, 0.0, 2.0, 9.0, 8.0, 7.0])
    cluster = torch.tensor([0, 0, 0, 1, 1, 1])
    assert least_of_each(deviation, cluster, 4).tolist() == [1, 2, 4, 5]
    assert least_of_each(deviation, torch.tensor([0, 0, 0, 0, 0, 1]), 3).tolist() == [1, 2, 5]


def test_an_image_that_no_view_changes_deviates_least():
    learner = make("ccsl")
    learner.start((1, 28, 28))
    batch = torch.from_numpy(images(5))
    batch[2] = 0  # black stays black under shifts, turns and brightness
    deviation = learner.view_deviation(batch)
    assert deviation.argmin() == 2
    assert deviation[2] < 1e-9


def test_memory_keeps_no_more_than_its_size_and_remembers_deviations():
    learner = fit(make("ccsl"), last=4)
    assert len(learner.memory_) == 20
    assert learner.memory_.columns["deviation"].shape == (20,)


def test_other_policies_and_negatives_from_the_batch_work_too():
    learner = fit(make("ccsl", memory_policy="reservoir", queue=0), last=3)
    assert learner.memory_.columns == {}
    assert set(learner.diagnostics_) == {"loss", "contrastive", "extra", "distillation"}


def test_with_negatives_from_the_batch_and_no_extras_it_is_er():
    def shared(learner):
        names = ("encoder.", "projector.", "view_rng.", "memory.images")
        return {k: v for k, v in state(learner).items() if k.startswith(names)}

    params = {"queue": 0, "extra_weight": 0.0, "distillation": 0.0, "memory_policy": "reservoir"}
    assert differences(shared(fit(make("ccsl", **params))), shared(fit(make("er")))) == []
