"""Vision transformers of the library transformers."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._text import first_line
from scale.models.weights import Tensors

EXTRA = "pip install 'scale-lifelong[pretrained]'"
UNUSED = ("pooler.", "classifier.")


class ViT(nn.Module):
    """A vision transformer; its features are those of the class token after the last layer.

    Parameters
    ----------
    config
        The model's configuration, as in its config.json.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        auto = _library()
        known = {name: value for name, value in config.items() if name != "model_type"}
        settings = auto.AutoConfig.for_model(config["model_type"], **known)
        self.model: nn.Module = _without_pooler(auto.AutoModel.from_config(settings))
        self.output_dim = int(settings.hidden_size)
        self._patch = int(settings.patch_size)
        options = inspect.signature(self.model.forward).parameters
        self._more = {"interpolate_pos_encoding": True}
        if "interpolate_pos_encoding" not in options:
            self._more = {}

    def forward(self, images: Tensor) -> Tensor:
        if images.shape[2] % self._patch or images.shape[3] % self._patch:
            raise InputError(f"its side must be a multiple of {self._patch}")
        features: Tensor = self.model(pixel_values=images, **self._more).last_hidden_state[:, 0]
        return features  # (n, d)


def load_vit(folder: Path, origin: str) -> tuple[dict[str, Any], Tensors]:
    """Return the configuration and the weights of a downloaded model, under the names of `ViT`."""
    auto = _library()
    try:
        model, told = auto.AutoModel.from_pretrained(
            folder,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise DamagedFileError(f"{origin} cannot be read ({first_line(error)})") from error
    missing = [name for name in told["missing_keys"] if not name.startswith(UNUSED)]
    if missing:
        raise InputError(f"the weights of {origin} do not fit: {sorted(missing)[0]} is missing")
    state = {f"model.{name}": one for name, one in _without_pooler(model).state_dict().items()}
    return model.config.to_dict(), {name: one.float().clone() for name, one in state.items()}


def _without_pooler(model: Any) -> Any:
    if hasattr(model, "pooler"):
        model.pooler = None  # a layer after the class token, which only classifiers use
    return model


def _library() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ScaleError(f"a vision transformer needs transformers; run: {EXTRA}") from error
    return transformers
