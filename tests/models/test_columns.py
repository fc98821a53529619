"""The columns of a progressive network."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale.models import Columns, build_encoder, default_rng
from scale.models.cnn import CNN
from scale.models.columns import stages


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def columns(count: int) -> Columns:
    """Small CNNs, in single precision and training mode."""
    with default_rng(torch.Generator().manual_seed(0)):
        network = Columns(CNN(width=8))
        for _ in range(1, count):
            network.grow(CNN(width=8), torch.zeros(1, 1, 16, 16))
    return network


@pytest.mark.parametrize("side", [16, 32])
@pytest.mark.parametrize("name", ["resnet18", "resnet18_cifar", "cnn"])
def test_stages_one_after_the_other_are_the_encoder(name, side):
    encoder, _ = build_encoder(name, (3, side, side), torch.Generator().manual_seed(0))
    images = draw(2, 3, side, side)
    assert torch.equal(nn.Sequential(*stages(encoder))(images), encoder(images))
    assert len(stages(encoder)) == 4


def test_a_subclass_that_may_compute_something_else_is_one_stage():
    class Other(CNN):
        pass

    other = Other()
    assert stages(other) == [other]


def test_one_column_is_the_encoder():
    network = columns(1)
    images = draw(3, 1, 16, 16)
    assert torch.equal(network(images), network.columns[0].encoder(images))


def test_features_are_those_of_the_formula():
    network = columns(3).double().eval()
    images = draw(3, 1, 16, 16).double()
    outputs: list[list[Tensor]] = []
    for column in network.columns:
        x, own = images, []
        for i, layer in enumerate(column.encoder.layers):
            x = layer(x)
            x = x.mean(dim=(2, 3)) if i == 3 else x
            if outputs:
                alpha, v = column.adapters[i][0].alpha, column.adapters[i][1]
                a = alpha * torch.cat([older[i] for older in outputs], dim=1)
                weight = v.weight.reshape(len(v.weight), -1)
                lateral = torch.einsum("oc,nc...->no...", weight, a)
                x = x + F.relu(lateral + v.bias.view(-1, *[1] * (a.ndim - 2)))
            own.append(x)
        outputs.append(own)
    torch.testing.assert_close(network(images), outputs[-1][-1])


def test_the_newest_column_sees_the_older_and_not_the_reverse():
    network = columns(2).eval()
    images = draw(3, 1, 16, 16)
    newest, first = network(images), network.columns[0](images, [])[-1]
    with torch.no_grad():
        next(network.columns[1].parameters()).add_(1)
    assert not torch.equal(network(images), newest)
    assert torch.equal(network.columns[0](images, [])[-1], first)
    newest = network(images)
    with torch.no_grad():
        next(network.columns[0].parameters()).add_(1)
    assert not torch.equal(network(images), newest)


def test_gradients_reach_the_newest_column_and_its_adapters_only():
    network = columns(3)
    network(draw(4, 1, 16, 16)).square().sum().backward()
    *older, newest = network.columns
    assert all(p.grad is None for column in older for p in column.parameters())
    assert all(p.grad is not None and p.grad.any() for p in newest.parameters())


def test_statistics_of_older_columns_stay_in_any_mode():
    network = columns(2)
    before = {name: t.clone() for name, t in network.columns[0].state_dict().items()}
    for mode in (True, False, True):
        assert network.train(mode) is network
        network(draw(4, 1, 16, 16))
    assert all(torch.equal(t, before[name]) for name, t in network.columns[0].state_dict().items())
    assert network.columns[1].training
    assert not network.columns[0].training


def test_a_column_of_any_module_has_a_lateral_connection_at_its_features():
    network = Columns(nn.Sequential(nn.Flatten(), nn.Linear(16, 5)))
    network.grow(nn.Sequential(nn.Flatten(), nn.Linear(16, 5)), torch.zeros(1, 1, 4, 4))
    images = draw(3, 1, 4, 4)
    first, second = network.columns
    linear = second.adapters[0][1]
    expected = second.encoder(images) + F.relu(linear(0.1 * first.encoder(images)))
    torch.testing.assert_close(network(images), expected)
