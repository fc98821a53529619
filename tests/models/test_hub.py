"""Weights of a small hub that runs in the test."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from scale._errors import DamagedFileError, InputError, ScaleError
from scale.models import hub as hub_module
from scale.models import open_encoder, read_pretrained
from scale.models.resnet import ResNet18

huggingface_hub = pytest.importorskip("huggingface_hub")

COMMIT = "1234567890abcdef1234567890abcdef12345678"
TIMM = {"architecture": "resnet18", "pretrained_cfg": {"mean": [0.1, 0.2, 0.3], "std": [0.5] * 3}}
VIT = {
    "model_type": "dinov2",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}


class Hub(ThreadingHTTPServer):
    """Repositories by their files, ``owner/name/file``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        path = self.path.split("?")[0].lstrip("/").replace("/resolve/main/", "/")
        path = path.replace(f"/resolve/{COMMIT}/", "/")
        content = self.server.files.get(path)
        known = any(one.startswith(path.rsplit("/", 1)[0]) for one in self.server.files)
        self.send_response(404 if content is None else 200)
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
        digest = hashlib.sha256(content or b"").hexdigest()
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{self.server.etags.get(path, digest)}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content or b"")

    do_HEAD = do_GET

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    hub_module._download.cache_clear()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def put(hub: Hub, name: str, config: dict, weights: bytes, **more: bytes) -> None:
    hub.files[f"{name}/config.json"] = json.dumps(config).encode()
    hub.files[f"{name}/model.safetensors"] = weights
    hub.files[f"{name}/README.md"] = b"---\nlicense: apache-2.0\n---\n"
    hub.files |= {f"{name}/{file}": content for file, content in more.items()}


def resnet() -> bytes:
    return save(ResNet18(3).state_dict())


def test_timms_weights_arrive_with_their_normalisation_and_licence(hub):
    content = resnet()
    put(hub, "timm/resnet18.a1_in1k", TIMM, content)
    record, state = read_pretrained("hf:timm/resnet18.a1_in1k")
    assert (record.network, record.features, record.licence) == ("resnet18", 512, "apache-2.0")
    assert record.mean == (0.1, 0.2, 0.3)
    assert record.sha256 == hashlib.sha256(content).hexdigest()
    assert "layer4.1.bn2.weight" in state


def test_what_was_downloaded_works_offline(hub, monkeypatch):
    put(hub, "timm/resnet18", TIMM, resnet())
    first, _ = read_pretrained("hf:timm/resnet18")
    hub_module._download.cache_clear()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert read_pretrained("hf:timm/resnet18")[0] == first


@pytest.mark.slow  # huggingface_hub tries several times
def test_offline_without_a_download_is_one_message(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ScaleError, match=r"did not answer for config\.json of hf:timm/none"):
        read_pretrained("hf:timm/none")


def test_without_a_network_the_hub_is_not_asked_in_vain(hub, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    with pytest.raises(ScaleError, match="cannot be reached for hf:timm/none"):
        read_pretrained("hf:timm/none")


def test_a_wrong_checksum_is_refused(hub):
    put(hub, "timm/resnet18", TIMM, resnet())
    hub.etags["timm/resnet18/model.safetensors"] = "0" * 64
    with pytest.raises(DamagedFileError, match="the hub says 0000"):
        read_pretrained("hf:timm/resnet18")


@pytest.mark.parametrize("config", [{"architecture": "vgg11"}, {"model_type": "bert"}, {}])
def test_other_networks_are_refused(hub, config):
    put(hub, "me/other", config, b"")
    with pytest.raises(InputError, match="cannot be used here; use one of"):
        read_pretrained("hf:me/other")


def test_a_repository_without_safetensors_is_refused(hub):
    put(hub, "me/pickled", TIMM, b"")
    del hub.files["me/pickled/model.safetensors"]
    with pytest.raises(InputError, match=r"has no model\.safetensors"):
        read_pretrained("hf:me/pickled")


def test_a_vision_transformer_is_that_of_transformers(hub):
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(**VIT)).eval()
    pixels = json.dumps({"image_mean": [0.4] * 3, "image_std": [0.3] * 3, "crop_size": 28}).encode()
    state = {name: one.clone() for name, one in model.state_dict().items()}
    put(hub, "me/dino", VIT, save(state, {"format": "pt"}))
    hub.files["me/dino/preprocessor_config.json"] = pixels
    made = open_encoder("hf:me/dino", (3, 32, 32), torch.Generator())
    assert (made.features, made.side, made.weights.std) == (32, 28, (0.3,) * 3)
    images = torch.rand(2, 3, 28, 28)
    with torch.no_grad():
        expected = model(pixel_values=images).last_hidden_state[:, 0]
        torch.testing.assert_close(made.module.eval()(images), expected)
    known = open_encoder("hf:gone/gone", (3, 32, 32), torch.Generator(), known=made.weights)
    assert known.module.state_dict().keys() == made.module.state_dict().keys()
    with pytest.raises(InputError, match="multiple of 14"):
        open_encoder("hf:me/dino", (3, 32, 32), torch.Generator(), side=30)
