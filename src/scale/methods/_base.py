"""The contract of every learner."""

from __future__ import annotations

import contextlib
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from scale._errors import DamagedFileError, InputError, NonFiniteFeaturesError
from scale._from_file import place_of
from scale._tensors import read_tensors, write_tensors
from scale.methods._checks import LARGEST_SEED, check_numbers
from scale.methods._facts import Costs, Knowledge
from scale.methods._images import as_batch, as_labels
from scale.methods._registry import METHODS
from scale.models import ImageShape

FORMAT = "scale-learner-1"
CHUNK = 512  # images that transform takes through the encoder at once


@dataclass(kw_only=True)
class Learner(ABC):
    """Learns from batches of unlabelled images, each seen once; gives embeddings at any moment.

    A subclass is a dataclass whose fields are its parameters. Learned attributes end in ``_`` and
    are made in `_start`, from the first images that come.
    """

    name: ClassVar[str]
    """What the method is registered under."""
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    """Named sets of parameters that differ from the defaults."""
    knows: ClassVar[Knowledge] = Knowledge()
    """What the method is told beyond the images."""
    learns: ClassVar[bool] = True
    """Whether the stream changes the features; floors may not learn."""
    seeded: ClassVar[bool] = True
    """Whether the seed matters."""

    seed: tyro.conf.Fixed[int] = 0  # a run has one seed for all its parts
    """Seed of everything random: weights, views, memory."""
    device: str = "cpu"
    """Where to compute: cpu, cuda, mps, ... The memory stays on the CPU."""

    def partial_fit(self, images: object, labels: object = None) -> Self:
        """Learn from the next batch of the stream.

        Parameters
        ----------
        images
            uint8 array or tensor, n x c x h x w or n x h x w x c. It is not kept or changed.
        labels
            Class of each image, (n,) integers, for the few learners with `needs_labels`; all others
            refuse them.
        """
        batch = as_batch(images, self._image_shape)
        if len(batch) == 0:
            raise InputError("partial_fit got an empty batch; pass at least one image")
        classes = self._check_labels(labels, len(batch))
        with self._as_before_if_it_fails():
            if self._image_shape is None:
                self.start(_shape_of(batch))
            self._learn(batch, classes)
        return self

    def transform(self, images: object) -> np.ndarray:
        """Return the features of images, n x d float32, without learning from them.

        Before the first batch they are those of what learning would start from; images of another
        shape may still follow.
        """
        return self._in_chunks(type(self)._embed, images)

    def _in_chunks(self, embed: Callable[[Self, Tensor], Tensor], images: object) -> np.ndarray:
        batch = as_batch(images, self._image_shape)
        if len(batch) == 0:
            raise InputError("transform got an empty batch; pass at least one image")
        learner = self if self._image_shape is not None else self._start_of(_shape_of(batch))
        try:
            with torch.no_grad():
                chunks = [embed(learner, part).float().cpu() for part in torch.split(batch, CHUNK)]
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            # Of NaN no matrix can be taken apart.
            raise _diverged(self.name) from error
        features = torch.cat(chunks)
        if not torch.isfinite(features).all():
            raise _diverged(self.name)
        return features.numpy()

    def save(self, path: str | Path) -> None:
        """Write the learner to one safetensors file, from which `scale.load` goes on exactly."""
        if self._image_shape is None:
            raise InputError("nothing to save yet: call partial_fit first")
        write_tensors(Path(path), self.state_dict(), self.describe())

    def describe(self) -> dict[str, Any]:
        """What is needed, beside the state, to make this learner again."""
        return {
            "format": FORMAT,
            "method": self.name,
            **_file_of(type(self)),
            "params": {
                key: f"module:{type(value).__name__}" if isinstance(value, nn.Module) else value
                for key, value in self.get_params().items()
            },
            "image_shape": list(self._image_shape or ()),
        }

    def get_params(self) -> dict[str, Any]:
        """Parameters by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @property
    def needs_labels(self) -> bool:
        """Whether `partial_fit` has to be given labels; by the method's or its memory's wish."""
        return self.knows.labels

    def costs(self) -> Costs:
        """Return what the method spends on each image of the stream."""
        return Costs()

    @abstractmethod
    def state_dict(self) -> dict[str, Tensor]:
        """Everything learned, generators included, as tensors by name."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from a `state_dict`; called on a started learner."""

    @abstractmethod
    def _start(self, image_shape: ImageShape) -> None:
        """Make the learned attributes."""

    @abstractmethod
    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        """Learn from a checked uint8 batch, (n, c, h, w) with n >= 1.

        `labels`, (n,), are there only when the learner `needs_labels`.
        """

    @abstractmethod
    def _embed(self, batch: Tensor) -> Tensor:
        """Return the features of a checked uint8 batch; changes nothing."""

    @property
    def _image_shape(self) -> ImageShape | None:
        shape: ImageShape | None = getattr(self, "image_shape_", None)
        return shape

    def _check_labels(self, labels: object, n: int) -> Tensor | None:
        if self.needs_labels and labels is None:
            raise InputError(
                f"{self.name!r} with these parameters learns from labels; pass them too: "
                "partial_fit(images, labels)"
            )
        if not self.needs_labels and labels is not None:
            raise InputError(f"{self.name!r} may not see labels; call partial_fit(images)")
        return None if labels is None else as_labels(labels, n)

    def _start_of(self, image_shape: ImageShape) -> Self:
        """Return what a learner that has not started would start from, and keep it to be asked."""
        start: Self | None = getattr(self, "_asked", None)
        if (
            start is None
            or start.image_shape_ != image_shape
            or start.get_params() != self.get_params()
        ):
            start = dataclasses.replace(self)
            start.start(image_shape)
            self._asked = start
        return start

    @contextlib.contextmanager
    def _as_before_if_it_fails(self) -> Iterator[None]:
        """Leave a learner that had not started unstarted when its first batch fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            if "image_shape_" not in before:
                vars(self).clear()
                vars(self).update(before)
            raise

    def start(self, image_shape: ImageShape) -> None:
        """Make the learner ready for images of this shape; the first batch does it otherwise."""
        check_numbers(self, "seed", least=0, most=LARGEST_SEED, whole=True)
        try:
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"device {self.device!r} cannot be used here: {error}") from error
        with self._as_before_if_it_fails():
            self._start(image_shape)
            self.image_shape_ = image_shape
        vars(self).pop("_asked", None)


def _file_of(method: type[Learner]) -> dict[str, str]:
    place = place_of(method)
    return {} if place is None else {"file": place}


def _shape_of(batch: Tensor) -> ImageShape:
    channels, height, width = batch.shape[1:]
    return channels, height, width


def _diverged(name: str) -> NonFiniteFeaturesError:
    return NonFiniteFeaturesError(
        f"the features of {name!r} are NaN or infinite: what it learned has diverged; go on from "
        "an earlier checkpoint, or start again with a lower learning rate"
    )


def load(
    path: str | Path,
    *,
    encoder: nn.Module | None = None,
    method: str | None = None,
    device: str = "cpu",
) -> Learner:
    """Read a learner that `Learner.save` wrote.

    Parameters
    ----------
    path
        The file.
    encoder
        The module, when the learner was made with one of the user's own: its architecture is not in
        the file, its weights are.
    method
        The method, when it is in a file of the user's own: ``path.py`` or ``path.py:Name``. A
        learner's file says which one it needs, but `load` runs no code that a file names.
    device
        Where to compute from now on.
    """
    state, meta = read_tensors(Path(path))
    return restore(state, meta, encoder=encoder, method=method, device=device, origin=str(path))


def restore(
    state: dict[str, Tensor],
    meta: dict[str, Any],
    *,
    encoder: nn.Module | None = None,
    method: str | None = None,
    device: str = "cpu",
    origin: str = "the file",
) -> Learner:
    """Make a learner from its state and its description."""
    found = meta.get("format") if isinstance(meta, dict) else None
    if found != FORMAT:
        raise DamagedFileError(f"{origin} holds {found or 'something'!r}, not a learner ({FORMAT})")
    params, shape = meta.get("params"), meta.get("image_shape")
    if not isinstance(params, dict) or not isinstance(shape, list) or len(shape) != 3:
        raise DamagedFileError(f"{origin} is damaged: it does not say how to make its learner")
    params = {**params, "device": device}
    if encoder is not None:
        params["encoder"] = encoder
    elif str(params.get("encoder", "")).startswith("module:"):
        raise InputError(
            f"{origin} was saved with an encoder of your own ({params['encoder'][7:]}); pass the "
            "module again: scale.load(path, encoder=...)"
        )
    made_by = _method_of(meta, method, origin)
    try:
        learner = made_by(**params)
        learner.start((shape[0], shape[1], shape[2]))
        learner.load_state_dict(state)
    except (TypeError, RuntimeError, KeyError) as error:
        raise DamagedFileError(
            f"{origin} does not fit this version of {meta.get('method')!r}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return learner


def _method_of(meta: dict[str, Any], given: str | None, origin: str) -> type[Learner]:
    """Return the method of a description; one in a file must be loaded already, or given."""
    if given is not None:
        return METHODS[given]
    name, place = meta.get("method"), meta.get("file")
    for known in (place, name):
        if isinstance(known, str) and known in METHODS:
            return METHODS[known]
    raise InputError(
        f"{origin} needs the method {name!r}, which is not known here; it is in "
        f"{place or 'a file of your own or another package'}: import that, or pass it as "
        f"scale.load(path, method={place or 'path.py'!r})"
    )
