"""The command `scale encoders`."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import save_file

from scale.cli import main
from scale.models.mobilenetv2 import MobileNetV2


def test_the_list_has_every_name_and_form(capsys):
    assert main(["encoders"]) == 0
    text = capsys.readouterr().out
    for word in ("resnet18_cifar", "efficientnet-lite0", "NETWORK@FILE", "hf:OWNER/NAME"):
        assert word in text


def test_weights_are_described(capsys, tmp_path):
    save_file(MobileNetV2().state_dict(), tmp_path / "w.safetensors", {"license": "MIT"})
    spec = f"mobilenetv2@{tmp_path / 'w.safetensors'}"
    assert main(["encoders", spec]) == 0
    assert "96 to 224 pixels" in capsys.readouterr().out
    assert main(["encoders", spec, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["features"], facts["licence"], facts["sides"]) == (1280, "MIT", [96, 224])


@pytest.mark.parametrize("spec", ["resnet", "resnet18@none.safetensors", "hf:x", "@", "hf:"])
def test_a_mistake_gets_one_line(capsys, spec):
    assert main(["encoders", spec]) == 2
    error = capsys.readouterr().err
    assert error.startswith("scale: ")
    assert error.count("\n") == 1
