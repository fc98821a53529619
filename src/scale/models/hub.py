"""Pretrained weights of the Hugging Face hub, by huggingface_hub."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._hub import offline, without_attempts
from scale._text import first_line
from scale.data.hub import is_hub_id
from scale.models.weight_files import Found, read_safetensors, sha256_of
from scale.models.weights import Facts

TRANSFORMERS = "transformers"
NETWORKS = {
    "resnet18": "resnet18",
    "resnet34": "resnet34",
    "resnet50": "resnet50",
    "mobilenetv2_100": "mobilenetv2",
    "tf_efficientnet_lite0": "efficientnet-lite0",
}
"""Networks by their name in timm."""
VITS = ("vit", "deit", "dinov2", "dinov2_with_registers")
"""Networks by their name in transformers."""
WEIGHTS, CONFIG, PIXELS = "model.safetensors", "config.json", "preprocessor_config.json"
EXTRA = "pip install 'scale-lifelong[pretrained]'"


def read_hub(hub_id: str) -> Found:
    """Return the weights of a repository of the hub, downloaded or from huggingface_hub's cache."""
    if not is_hub_id(hub_id):
        raise InputError(f"hf:{hub_id} is not a hub id; write hf:OWNER/NAME")
    config = _read_json(_fetch(hub_id, CONFIG))
    if config.get("architecture") in NETWORKS:
        return _of_timm(hub_id, config)
    if config.get("model_type") in VITS:
        return _of_transformers(hub_id)
    name = config.get("architecture") or config.get("model_type") or "nothing known"
    raise InputError(
        f"hf:{hub_id} holds {name}, which cannot be used here; use one of timm's "
        f"{', '.join(NETWORKS)}, or one of transformers' {', '.join(VITS)}"
    )


def _of_timm(hub_id: str, config: dict[str, Any]) -> Found:
    path = _fetch(hub_id, WEIGHTS)
    trained = config.get("pretrained_cfg") or {}
    facts = Facts(
        mean=_colours(trained.get("mean")),
        std=_colours(trained.get("std")),
        licence=trained.get("license") or _licence(hub_id),
        sha256=_checked(path),
    )
    return Found(NETWORKS[config["architecture"]], read_safetensors(path)[0], facts, {})


def _of_transformers(hub_id: str) -> Found:
    from scale.models.vit import load_vit

    path = _fetch(hub_id, WEIGHTS)
    pixels = _read_json(_optional(hub_id, PIXELS))
    facts = Facts(
        mean=_colours(pixels.get("image_mean")),
        std=_colours(pixels.get("image_std")),
        side=_side(pixels.get("crop_size") or pixels.get("size")),
        licence=_licence(hub_id),
        sha256=_checked(path),
    )
    config, state = load_vit(path.parent, f"hf:{hub_id}")
    return Found(TRANSFORMERS, state, facts, config)


def _fetch(hub_id: str, name: str) -> Path:
    """Return the path of a repository's file."""
    # huggingface_hub reads HF_ENDPOINT only once, when it is imported.
    found = _download(hub_id, name, os.environ.get("HF_ENDPOINT") or None)
    if found is None:
        raise InputError(f"hf:{hub_id} has no {name}; choose another repository")
    return found


@functools.lru_cache(maxsize=64)
def _download(hub_id: str, name: str, endpoint: str | None) -> Path | None:
    """Return the path of a repository's file; None if it has no such file."""
    try:
        import huggingface_hub
        from huggingface_hub.errors import LocalEntryNotFoundError, RemoteEntryNotFoundError
    except ImportError as error:
        raise ScaleError(f"weights of the hub need huggingface_hub; run: {EXTRA}") from error
    try:
        with without_attempts():
            found = huggingface_hub.hf_hub_download(
                hub_id, name, endpoint=endpoint, token=False, local_files_only=(away := offline())
            )
        return Path(found)
    except RemoteEntryNotFoundError:
        return None
    except LocalEntryNotFoundError as error:
        why = "and it is not in its cache; check the network and run again"
        if away:
            raise ScaleError(f"the hub cannot be reached for hf:{hub_id}, {why}") from error
        raise ScaleError(f"the hub did not answer for {name} of hf:{hub_id}, {why}") from error
    except Exception as error:  # The errors of huggingface_hub differ between its versions.
        raise ScaleError(
            f"cannot get {name} of hf:{hub_id} ({first_line(error)}); check the name and the "
            "network, and run again"
        ) from error


def _optional(hub_id: str, name: str) -> Path | None:
    """Return the path of a file that a repository may lack, or that cannot be got now."""
    try:
        return _download(hub_id, name, os.environ.get("HF_ENDPOINT") or None)
    except ScaleError:
        return None


def _checked(path: Path) -> str:
    """Return the SHA-256 of a downloaded file; the hub names large files by it."""
    digest, named = sha256_of(path), path.resolve().name
    if re.fullmatch("[0-9a-f]{64}", named) and named != digest:
        raise DamagedFileError(
            f"the SHA-256 of {path} is {digest[:16]}..., and the hub says {named[:16]}...; delete "
            f"{path.resolve()} and run again"
        )
    return digest


def _read_json(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        table = json.loads(path.read_bytes())
    except ValueError as error:
        raise DamagedFileError(f"{path} is not valid JSON; delete it and run again") from error
    return table if isinstance(table, dict) else {}


def _licence(hub_id: str) -> str | None:
    """Return the licence in the front matter of a repository's README."""
    path = _optional(hub_id, "README.md")
    if path is None:
        return None
    found = re.search(r"^license:\s*(\S+)", path.read_text("utf-8", "replace"), re.MULTILINE)
    return found and found[1]


def _colours(values: Any) -> Any:
    fits = isinstance(values, list) and len(values) == 3
    return tuple(map(float, values)) if fits else None


def _side(size: Any) -> int | None:
    if isinstance(size, dict):
        size = size.get("height") or size.get("shortest_edge")
    return size if isinstance(size, int) else None
