"""Modules draw from a generator of the caller, and nobody else does."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scale.models import build_encoder, default_rng, forward
from scale.models._rng import restored_later, source_of

X = torch.linspace(-1, 1, 60).reshape(3, 20)
DRAWS = {
    "initialisers": lambda: torch.cat([p.flatten() for p in nn.Linear(50, 40).parameters()]),
    "orthogonal": lambda: nn.init.orthogonal_(torch.empty(4, 4)),
    "dropout": lambda: F.dropout(X, 0.3),
    "alpha dropout": lambda: F.alpha_dropout(X, 0.3, training=True),
    "rrelu": lambda: F.rrelu(X, training=True),
    "randn_like": lambda: torch.randn_like(X),
    "randint": lambda: torch.randint(2, 9, (20,)),
    "randperm": lambda: torch.randperm(9),
    "multinomial": lambda: torch.multinomial(torch.rand(4), 2),
    "attention": lambda: F.scaled_dot_product_attention(X[None], X[None], X[None], dropout_p=0.3),
}


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("what", DRAWS)
def test_numbers_are_those_of_torch_s_own_generator(what, mode):
    generator = torch.Generator().manual_seed(4)
    before = torch.get_rng_state()
    with default_rng(generator), mode():
        drawn = DRAWS[what]()
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(4)
        with mode():
            assert torch.equal(drawn, DRAWS[what]())
        assert torch.equal(torch.get_rng_state(), generator.get_state())


def test_a_generator_that_is_given_is_used():
    with default_rng(torch.Generator().manual_seed(4)):
        drawn = torch.rand(5, generator=torch.Generator().manual_seed(6))
    assert torch.equal(drawn, torch.rand(5, generator=torch.Generator().manual_seed(6)))


def test_other_threads_draw_as_before():
    generator, drawn = torch.Generator().manual_seed(4), []
    with torch.random.fork_rng():
        torch.manual_seed(1)
        with default_rng(generator):
            thread = threading.Thread(target=lambda: drawn.append(torch.rand(5)))
            thread.start()
            thread.join()
    assert torch.equal(drawn[0], torch.rand(5, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(generator.get_state(), torch.Generator().manual_seed(4).get_state())


@pytest.mark.parametrize("module", [nn.Dropout(0.5), nn.Sequential(nn.ReLU(), nn.Dropout(0.5))])
def test_a_module_that_draws_does_so_from_the_generator(module):
    first, second = (forward(module, X, torch.Generator().manual_seed(seed)) for seed in (1, 1))
    assert torch.equal(first, second)
    assert not torch.equal(first, forward(module, X, torch.Generator().manual_seed(2)))


class Noisy(nn.Linear):
    """A network of others: its buffer is drawn and not in its state."""

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__(image_shape[0], 4)
        self.register_buffer("noise", torch.randn(4), persistent=False)


def test_a_network_whose_state_follows_is_built_undrawn_unless_it_is_of_others() -> None:
    shape, own = (3, 8, 8), torch.Generator().manual_seed(1)
    with restored_later():
        restored, _ = build_encoder("cnn", shape, own)
        with source_of(Noisy, torch.Generator().manual_seed(2)):
            other = Noisy(shape)
    with default_rng(torch.Generator().manual_seed(2)):
        same = Noisy(shape)
    assert torch.equal(other.noise, same.noise)
    assert torch.equal(other.weight, same.weight)
    assert torch.equal(own.get_state(), torch.Generator().manual_seed(1).get_state())
    drawn, _ = build_encoder("cnn", shape, own)
    assert not torch.equal(own.get_state(), torch.Generator().manual_seed(1).get_state())
    restored.load_state_dict(drawn.state_dict())
    images = torch.linspace(0, 1, 2 * 3 * 64).reshape(2, *shape)
    assert torch.equal(restored.eval()(images), drawn.eval()(images))
