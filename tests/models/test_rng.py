"""Modules draw from a generator of the caller, and nobody else does."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scale.models import default_rng, forward

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
