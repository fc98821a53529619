"""Encoders from files with pretrained weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError, ScaleError, UnknownNameError
from scale.models import default_rng, open_encoder, read_pretrained
from scale.models.efficientnet_lite import EfficientNetLite0, SameConv
from scale.models.mobilenetv2 import MobileNetV2
from scale.models.resnet import ResNet18, ResNet34, ResNet50

TIMM_STAGES = (1, 2, 3, 4, 3, 3, 1)  # blocks of MobileNetV2


def weights_of(kind: type[nn.Module], seed: int = 0) -> dict[str, Tensor]:
    with default_rng(torch.Generator().manual_seed(seed)):
        return kind().state_dict()


def write(
    folder: Path, state: dict[str, Tensor], name: str = "w.safetensors", **texts: str
) -> Path:
    save_file({key: one.contiguous() for key, one in state.items()}, folder / name, texts)
    return folder / name


@pytest.fixture(scope="module")
def mobilenet() -> dict[str, Tensor]:
    return weights_of(MobileNetV2)


@pytest.fixture
def weights(tmp_path: Path, mobilenet: dict[str, Tensor]) -> Path:
    return write(tmp_path, mobilenet, license="MIT")


def timm_names() -> list[str]:
    """The weights of timm's mobilenetv2_100 in the order of its layers."""
    layers = ["conv_stem", "bn1"]
    for stage, blocks in enumerate(TIMM_STAGES):
        parts = ["conv_dw", "bn1", "conv_pw", "bn2"]
        if stage > 0:
            parts = ["conv_pw", "bn1", "conv_dw", "bn2", "conv_pwl", "bn3"]
        layers += [f"blocks.{stage}.{i}.{part}" for i in range(blocks) for part in parts]
    layers += ["conv_head", "bn2"]
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    return [
        f"{layer}.{one}"
        for layer in layers
        for one in (norm if layer.split(".")[-1].startswith("bn") else ("weight",))
    ]


def test_a_file_gives_the_networks_features_and_its_record(weights, mobilenet):
    made = open_encoder(f"mobilenetv2@{weights}", (3, 32, 32), torch.Generator())
    network = MobileNetV2()
    network.load_state_dict(mobilenet)
    images = torch.rand(2, 3, 96, 96)
    with torch.no_grad():
        assert torch.equal(made.module.eval()(images), network.eval()(images))
    assert (made.features, made.side) == (1280, 96)
    assert made.weights.licence == "MIT"
    assert made.weights.mean == (0.485, 0.456, 0.406)
    assert len(made.weights.sha256) == 64


@pytest.mark.parametrize(
    ("side", "given", "expected"),
    [(32, None, 96), (100, None, 100), (500, None, 224), (32, 64, 64)],
)
def test_the_side_is_that_of_the_weights_unless_given(weights, side, given, expected):
    spec = f"mobilenetv2@{weights}"
    assert open_encoder(spec, (1, side, side), torch.Generator(), side=given).side == expected


def test_timms_names_fit(tmp_path, mobilenet):
    state = dict(zip(timm_names(), mobilenet.values(), strict=True))
    state["classifier.weight"] = torch.zeros(10, 1280)
    spec = f"mobilenetv2@{write(tmp_path, state)}"
    assert all(torch.equal(one, mobilenet[name]) for name, one in read_pretrained(spec)[1].items())


@pytest.mark.parametrize(("kind", "name"), [(ResNet18, "resnet18"), (ResNet50, "resnet50")])
def test_a_resnets_weights_fit_with_their_classifier(tmp_path, kind, name):
    state = weights_of(kind)
    path = write(tmp_path, {**state, "fc.weight": torch.zeros(5, kind.output_dim)})
    record, read = read_pretrained(f"{name}@{path}")
    assert record.features == kind.output_dim
    assert read.keys() == state.keys()


@pytest.mark.parametrize(
    ("kind", "millions"),
    [(ResNet34, 21.3), (ResNet50, 23.5), (MobileNetV2, 2.2), (EfficientNetLite0, 3.4)],
)
def test_networks_have_the_published_number_of_parameters(kind, millions):
    count = sum(one.numel() for one in kind().parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.05)


@pytest.mark.parametrize("side", [7, 8])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 2)])
def test_tensorflows_padding_sees_the_right_pixels(side, kernel, stride):
    """By TensorFlow's rule, output i sees the input from i * stride - before on."""
    out = -(-side // stride)
    before = max((out - 1) * stride + kernel - side, 0) // 2
    conv = SameConv(1, 1, kernel, stride, bias=False)
    image = torch.rand(1, 1, side, side)
    padded = nn.functional.pad(image, (before, kernel, before, kernel))
    with torch.no_grad():
        slow = [
            [
                (padded[0, 0, i : i + kernel, j : j + kernel] * conv.weight[0, 0]).sum()
                for j in range(0, out * stride, stride)
            ]
            for i in range(0, out * stride, stride)
        ]
        torch.testing.assert_close(conv(image)[0, 0], torch.tensor(slow))


def test_facts_beside_the_file_win(weights):
    facts = {"mean": [0.5, 0.5, 0.5], "std": [0.2, 0.2, 0.2], "side": 128, "licence": "mine"}
    weights.with_suffix(".json").write_text(json.dumps(facts))
    record, _ = read_pretrained(f"mobilenetv2@{weights}")
    assert (record.mean, record.licence, record.side_for((3, 32, 32))) == ((0.5,) * 3, "mine", 128)


def test_a_network_without_usual_input_needs_facts(tmp_path):
    from scale.models.cnn import CNN

    path = write(tmp_path, CNN(3).state_dict())
    with pytest.raises(InputError, match="which pixels"):
        read_pretrained(f"cnn@{path}")
    path.with_suffix(".json").write_text('{"mean": [0, 0, 0], "std": [1, 1, 1]}')
    assert read_pretrained(f"cnn@{path}")[0].features == 128


def test_weights_are_found_in_the_shared_folder(weights, monkeypatch):
    monkeypatch.setenv("SCALE_WEIGHTS", str(weights.parent))
    assert read_pretrained("mobilenetv2@w.safetensors")[0].network == "mobilenetv2"


def test_a_pth_is_read_without_running_code(tmp_path, mobilenet):
    torch.save({"state_dict": mobilenet}, tmp_path / "w.pth")
    assert read_pretrained(f"mobilenetv2@{tmp_path / 'w.pth'}")[0].features == 1280
    torch.save(MobileNetV2(), tmp_path / "code.pth")
    with pytest.raises(DamagedFileError, match="could run code"):
        read_pretrained(f"mobilenetv2@{tmp_path / 'code.pth'}")


def without(state: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key: one for key, one in state.items() if key != name}


STEM = "features.0.0.weight"
WRONG = {
    "missing": (lambda s: without(s, STEM), f"{STEM} of MobileNetV2 is missing"),
    "unknown": (lambda s: {**s, "extra.weight": torch.zeros(1)}, "has no extra.weight"),
    "shape": (lambda s: {**s, STEM: torch.zeros(32, 1, 3, 3)}, "has shape .32, 1, 3, 3."),
    "whole": (lambda s: {**s, STEM: torch.zeros(32, 3, 3, 3, dtype=torch.int64)}, "whole numbers"),
    "nan": (lambda s: {**s, STEM: torch.full((32, 3, 3, 3), np.nan)}, "not finite"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_weights_that_do_not_fit_are_refused(tmp_path, mobilenet, wrong):
    change, message = WRONG[wrong]
    path = write(tmp_path, change(mobilenet))
    with pytest.raises(InputError, match=message):
        read_pretrained(f"mobilenetv2@{path}")


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("mobilenetv2@nowhere.safetensors", InputError, "there is no file"),
        ("mobilnetv2@w.safetensors", UnknownNameError, "did you mean 'mobilenetv2'"),
        ("hf:not-an-id", InputError, "hf:OWNER/NAME"),
    ],
)
def test_a_wrong_specification_is_refused(spec, error, message):
    with pytest.raises(error, match=message):
        read_pretrained(spec)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "w.safetensors").write_bytes(b"not tensors")
    with pytest.raises(DamagedFileError, match="not a safetensors file"):
        read_pretrained(f"mobilenetv2@{tmp_path / 'w.safetensors'}")


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ('{"sha256": "00"}', "SHA-256"),
        ("{", "not valid JSON"),
        ('{"men": 1}', "did you mean 'mean'"),
        ('{"mean": 1}', "mean must be a list"),
    ],
)
def test_wrong_facts_beside_the_file_are_refused(weights, facts, message):
    weights.with_suffix(".json").write_text(facts)
    with pytest.raises(ScaleError, match=message):
        read_pretrained(f"mobilenetv2@{weights}")


def test_images_with_alpha_are_refused(weights):
    with pytest.raises(InputError, match="4 channels"):
        open_encoder(f"mobilenetv2@{weights}", (4, 32, 32), torch.Generator())


def test_weights_of_another_network_are_recognised(weights):
    with pytest.raises(InputError, match="they are weights of mobilenetv2: write mobilenetv2@FILE"):
        read_pretrained(f"resnet18@{weights}")


def test_names_of_a_wrapped_network_fit(tmp_path, mobilenet):
    wrapped = {f"module.{name}": one for name, one in mobilenet.items()}
    assert read_pretrained(f"mobilenetv2@{write(tmp_path, wrapped)}")[1].keys() == mobilenet.keys()


def test_a_counter_of_another_shape_does_not_matter(tmp_path, mobilenet):
    counter = "features.0.1.num_batches_tracked"
    path = write(tmp_path, {**mobilenet, counter: torch.zeros(2, 2)})
    assert read_pretrained(f"mobilenetv2@{path}")[1][counter].shape == ()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"mean": "hello"}, r"mean in .*w\.safetensors must be a list of three numbers"),
        ({"mean": "[1, 2]"}, r"w\.safetensors: mean"),
        ({"std": "[0, 0, 0]"}, "std above 0"),
        ({"mean": "[NaN, 0, 0]"}, "must be numbers"),
    ],
)
def test_wrong_texts_in_the_file_are_refused(tmp_path, mobilenet, texts, message):
    with pytest.raises(InputError, match=message):
        read_pretrained(f"mobilenetv2@{write(tmp_path, mobilenet, **texts)}")
