"""Osiris-R: the three losses, the two projectors."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_metric_learning.losses import NTXentLoss

from scale._errors import InputError
from scale.losses import cross_contrastive_loss, dot_products

from .learners import fit, images, learn, make


def twin(i: int, n: int) -> int:
    """The other view of the image that view i of 2n shows."""
    return (i + n) % (2 * n)


def unit_views(views: int, dim: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(views, dim, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def slow_cross(z: torch.Tensor, n: int, tau: float) -> float:
    """One anchor and one pair at a time; the first 2n rows are those of the stream."""
    stream, memory = z[: 2 * n].tolist(), z[2 * n :].tolist()
    sides = []
    for own, other in ((stream, memory), (memory, stream)):
        total = 0.0
        for i, anchor in enumerate(own):
            dots = [
                sum(p * q for p, q in zip(anchor, row, strict=True)) / tau
                for row in (own[twin(i, len(own) // 2)], *other)
            ]
            total -= dots[0] - math.log(sum(math.exp(dot) for dot in dots))
        sides.append(total / len(own))
    return (sides[0] + sides[1]) / 2


def views(n: int, seed: int) -> torch.Tensor:
    return torch.randn(2 * n, 1, 28, 28, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 5), m=st.integers(1, 5), seed=st.integers(0, 99), tau=st.floats(0.05, 1))
def test_the_cross_loss_is_the_slow_formula(n, m, seed, tau):
    z = unit_views(2 * (n + m), 6, seed)
    found = cross_contrastive_loss(dot_products(z), n, tau)
    assert float(found) == pytest.approx(slow_cross(z, n, tau), rel=1e-9)


def test_pairs_inside_either_side_do_not_count():
    n, m = 3, 2
    dots = dot_products(unit_views(2 * (n + m), 6, 0))
    dots.requires_grad_()
    cross_contrastive_loss(dots, n, 0.1).backward()
    for i in range(2 * (n + m)):
        for j in range(2 * (n + m)):
            same_side = (i < 2 * n) == (j < 2 * n)
            twins = same_side and j == (twin(i, n) if i < 2 * n else 2 * n + twin(i - 2 * n, m))
            assert (dots.grad[i, j] != 0) == (twins or not same_side)


def test_the_loss_is_present_plus_half_of_cross_and_past():
    learner = fit(make("osiris-r"), last=2)
    stream, memory = views(5, 0), views(4, 1)
    found = learner.losses(stream, memory)
    with torch.no_grad():
        h = learner.encoder_(torch.cat([stream, memory]))
        present, other = learner.projector_(h[:10]), learner.heads_["past_projector"](h)
    nt_xent = NTXentLoss(temperature=learner.tau)
    torch.testing.assert_close(found["present"], nt_xent(present, torch.arange(5).repeat(2)))
    torch.testing.assert_close(found["past"], nt_xent(other[10:], torch.arange(4).repeat(2)))
    assert found["cross"].item() == pytest.approx(slow_cross(other.double(), 5, 0.1), rel=1e-5)
    torch.testing.assert_close(
        found["loss"], found["present"] + 0.5 * (found["cross"] + found["past"])
    )


def test_before_memory_holds_anything_only_the_first_loss_exists():
    learner = learn(make("osiris-r"), images())
    assert set(learner.diagnostics_) == {"loss", "present"}
    assert set(fit(learner, 1, 2).diagnostics_) == {"loss", "present", "cross", "past"}


def test_before_memory_holds_anything_it_equals_simclr():
    simclr, ours = (learn(make(name), images()) for name in ("simclr", "osiris-r"))
    for a, b in zip(simclr.encoder_.parameters(), ours.encoder_.parameters(), strict=True):
        assert torch.equal(a, b)


def projector_pairs(learner):
    second = learner.heads_["past_projector"]
    return zip(learner.projector_.parameters(), second.parameters(), strict=True)


def test_the_second_projector_starts_from_the_first_when_memory_begins_and_then_goes_its_own_way():
    learner = learn(make("osiris-r"), images())
    pairs = zip(
        learner.projector_.parameters(), learner.heads_["past_projector"].parameters(), strict=True
    )
    assert all(torch.equal(a, b) for a, b in pairs)
    fit(learner, 1, 2)
    pairs = zip(
        learner.projector_.parameters(), learner.heads_["past_projector"].parameters(), strict=True
    )
    assert not any(torch.equal(a, b) for a, b in pairs)


def test_the_stream_loss_does_not_touch_the_second_projector_nor_memory_the_first():
    learner = fit(make("osiris-r"), last=2)
    losses = learner.losses(views(5, 0), views(4, 1))
    for name, untouched in (
        ("present", learner.heads_["past_projector"]),
        ("cross", learner.projector_),
        ("past", learner.projector_),
    ):
        gradients = torch.autograd.grad(
            losses[name], list(untouched.parameters()), retain_graph=True, allow_unused=True
        )
        assert all(gradient is None for gradient in gradients)


def test_an_impossible_temperature_is_refused():
    with pytest.raises(InputError, match="tau must be above 0"):
        learn(make("osiris-r", tau=0.0), images())
