from __future__ import annotations

import pytest
import torch
from torch import nn

from scale.models.resnet import ResNet18


def multiplications(model: nn.Module, images: torch.Tensor) -> int:
    """Multiply-accumulates of all convolutions for one image, counted as torch would do them."""
    total = 0

    def count(conv: nn.Module, inputs: tuple[torch.Tensor], out: torch.Tensor) -> None:
        nonlocal total
        total += conv.weight.numel() * out.shape[2] * out.shape[3]

    hooks = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        model.eval()(images)
    for hook in hooks:
        hook.remove()
    return total


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [32, 64])
@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
def test_features_are_512_for_any_image(channels, side, stem):
    model = ResNet18(channels, stem).eval()
    with torch.no_grad():
        assert model(torch.zeros(2, channels, side, side)).shape == (2, 512)


def test_it_has_the_parameters_of_resnet18_without_classifier():
    assert sum(p.numel() for p in ResNet18(3).parameters()) == 11_176_512


@pytest.mark.parametrize(("stem", "millions"), [("imagenet", 37), ("cifar", 556)])
def test_cost_of_a_small_image_is_the_documented_one(stem, millions):
    cost = multiplications(ResNet18(3, stem), torch.zeros(1, 3, 32, 32))
    assert round(cost / 1e6) == pytest.approx(millions, abs=1)


def test_it_computes_what_plain_convolutions_compute():
    torch_model = ResNet18(3).double().eval()
    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0)).double()
    with torch.no_grad():
        ours = torch_model(images)
        for module in torch_model.modules():
            if isinstance(module, nn.Conv2d):
                module.__class__ = nn.Conv2d
        torch.testing.assert_close(ours, torch_model(images))


def test_parameters_have_the_names_and_shapes_of_torchvision() -> None:
    widths = {"layer1": 64, "layer2": 128, "layer3": 256, "layer4": 512}
    expected = {"conv1.weight": (64, 3, 7, 7), **batch_norm("bn1", 64)}
    before = 64
    for layer, c in widths.items():
        for block, c_in in ((0, before), (1, c)):
            name = f"{layer}.{block}"
            expected[f"{name}.conv1.weight"] = (c, c_in, 3, 3)
            expected[f"{name}.conv2.weight"] = (c, c, 3, 3)
            expected |= batch_norm(f"{name}.bn1", c) | batch_norm(f"{name}.bn2", c)
            if c_in != c:
                expected[f"{name}.downsample.0.weight"] = (c, c_in, 1, 1)
                expected |= batch_norm(f"{name}.downsample.1", c)
        before = c
    state = ResNet18().state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == expected


def batch_norm(name: str, c: int) -> dict[str, tuple[int, ...]]:
    of_channels = ("weight", "bias", "running_mean", "running_var")
    return {**{f"{name}.{key}": (c,) for key in of_channels}, f"{name}.num_batches_tracked": ()}
