from __future__ import annotations

import pytest
import torch
from torch import nn

from scale._errors import InputError, ScaleError, UnknownNameError
from scale.models import build_encoder, build_projector

SHAPE = (3, 32, 32)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def same(a: nn.Module, b: nn.Module) -> bool:
    return all(
        torch.equal(x, y)
        for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    )


def flat(features: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, features))


def test_building_moves_the_given_generator_on():
    source = generator(1)
    first, _ = build_encoder("cnn", SHAPE, source)
    second, _ = build_encoder("cnn", SHAPE, source)
    assert not same(first, second)


def test_the_global_generator_is_left_alone_even_when_building_fails():
    before = torch.get_rng_state()
    with pytest.raises(UnknownNameError, match="did you mean 'resnet18'"):
        build_encoder("resnet19", SHAPE, generator(1))
    assert torch.equal(before, torch.get_rng_state())


def test_projections_have_unit_length_and_seeded_weights():
    projector = build_projector(20, 8, generator(1))
    z = projector(torch.randn(5, 20, generator=generator(0)))
    torch.testing.assert_close(z.norm(dim=1), torch.ones(5))
    assert z.shape == (5, 8)
    assert same(projector, build_projector(20, 8, generator(1)))
    assert not same(projector, build_projector(20, 8, generator(2)))


def test_a_module_is_copied_with_its_weights():
    module = flat(10)
    encoder, dim = build_encoder(module, SHAPE, generator(0))
    assert encoder is not module
    assert dim == 10
    assert same(encoder, module)
    nn.init.zeros_(encoder[1].weight)
    assert not same(encoder, module)


def test_a_module_may_say_its_dimension():
    module = flat(6)
    module.output_dim = 6
    assert build_encoder(module, SHAPE, generator(0))[1] == 6


def test_finding_the_dimension_changes_nothing_in_the_module():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.Flatten())
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    state = torch.get_rng_state()
    encoder, dim = build_encoder(module, SHAPE, generator(0))
    assert dim == 4 * 30 * 30
    assert encoder.training
    for name, tensor in encoder.state_dict().items():
        assert torch.equal(before[name], tensor)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(
    "module",
    [
        nn.Conv2d(1, 4, 3),  # other channels: RuntimeError of torch
        nn.Linear(7, 4),  # other width
        nn.BatchNorm1d(3),  # ValueError of torch
        nn.Flatten(5),  # IndexError of torch
        nn.Bilinear(3, 3, 3),  # TypeError: wants two inputs
    ],
    ids=["channels", "width", "dimensions", "axis", "arguments"],
)
def test_a_module_that_cannot_take_the_images_is_refused(module):
    with pytest.raises(InputError, match=r"does not accept images of shape \(3, 32, 32\)"):
        build_encoder(module, SHAPE, generator(0))


class Tuple(nn.Module):
    def forward(self, images):
        return images.flatten(1), images


@pytest.mark.parametrize("module", [nn.Identity(), nn.Flatten(0), Tuple()], ids=str)
def test_a_module_without_feature_vectors_is_refused(module):
    with pytest.raises(InputError, match=r"must map \(n, c, h, w\) images to \(n, d\) features"):
        build_encoder(module, SHAPE, generator(0))


@pytest.mark.parametrize("thing", [None, 42, nn.Flatten], ids=["None", "number", "class"])
def test_something_that_is_neither_name_nor_module_is_refused(thing):
    with pytest.raises(ScaleError, match="encoder"):
        build_encoder(thing, SHAPE, generator(0))
