"""The contract of every learner."""

from __future__ import annotations

import contextlib
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import torch
import tyro
from torch import Tensor, nn

from scale._errors import InputError
from scale._files import as_path
from scale._from_file import place_of
from scale._images import as_batch, as_labels
from scale._names import did_you_mean, shown
from scale._schema import misfit
from scale._tensors import write_tensors
from scale.memory import Buffer
from scale.methods.core.checks import Seed, check_device, check_memory, check_params
from scale.methods.core.divergence import diverged
from scale.methods.core.facts import Costs, Knowledge, sklearn_tags
from scale.methods.core.group import Group
from scale.methods.core.sharing import Sharing
from scale.methods.core.state import Part, State, check_saved, step_in, unflatten
from scale.models import ImageShape

FORMAT = "scale-learner-3"
CHUNK = 512  # images that transform passes through the encoder at once
FIT_BATCH = 128  # images of a batch in fit


@dataclass(kw_only=True)
class Learner(ABC):
    """Learns from batches of unlabelled images, each seen once, and embeds images at any time.

    A method is a dataclass whose fields are its parameters. It defines four functions: `setup`
    makes the learned attributes, `learn` learns from a batch, `embed` returns embeddings, and
    `parts` names everything to save. Learned attributes end in ``_``.

    Several threads may use one learner. `transform`, `save` and `state_dict` work at any time: they
    see the state after a whole batch and never change it. Learning waits for them no longer than a
    copy of the weights takes. Batches of two threads come one after the other. All other
    attributes are those of the thread that learns; `reading` gives them to others.

    Attributes
    ----------
    image_shape_
        Channels, height and width of the images; None before the first batch.
    step_
        Number of batches learned. Store it with an embedding to know which state made it.
    memory_
        Images of the past; None for a method that keeps none.
    diagnostics_
        Numbers about the last batch, by name: losses, counts.
    features_
        Encoder features of the last update, (views, d); None without an encoder.
    """

    __slots__ = ("__dict__", "__weakref__", "_sharing")

    name: ClassVar[str]
    """Registered name of the method."""
    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    """Named sets of parameters that differ from the defaults."""
    knows: ClassVar[Knowledge] = Knowledge()
    """Information that the method gets beyond the images."""
    learns: ClassVar[bool] = True
    """Whether the stream changes the embeddings; most floors do not learn."""
    seeded: ClassVar[bool] = True
    """Whether the seed matters."""

    seed: tyro.conf.Fixed[Seed] = 0  # a run has one seed for all its parts
    """Seed of everything random: weights, views, memory."""
    device: str = "cpu"
    """Device to compute on: cpu, cuda, mps. The memory stays on the CPU."""

    # Not annotated: an annotation would make them parameters.
    image_shape_ = cast("ImageShape | None", None)
    step_ = 0
    memory_ = cast("Buffer | None", None)
    diagnostics_ = cast("dict[str, float]", {})
    features_ = cast("Tensor | None", None)
    if TYPE_CHECKING:
        _sharing: Sharing = dataclasses.field(init=False)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._sharing = Sharing()  # in a slot: it is neither copied nor pickled
        return made

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()

    def partial_fit(self, images: object, labels: object = None) -> Self:
        """Learn from the next batch of the stream.

        Parameters
        ----------
        images
            uint8 array or tensor, n x c x h x w or n x h x w x c. It is copied.
        labels
            Class of each image, (n,) integers, for the few learners with `needs_labels`. All others
            refuse them.
        """
        with self._changing():
            batch = as_batch(images, self.image_shape_)
            if len(batch) == 0:
                raise InputError("partial_fit got an empty batch; pass at least one image")
            classes = self._check_labels(labels, len(batch))
            if self.image_shape_ is None:
                self.start(_shape_of(batch))
            self.learn(batch, classes)
            self.step_ += 1
        return self

    def fit(self, images: object, y: object = None) -> Self:
        """Forget everything, then learn from `images` as one stream, in order and once.

        Pipelines of scikit-learn call it. For a stream, call `partial_fit`.

        Parameters
        ----------
        images
            As for `partial_fit`.
        y
            Labels, for a learner with `needs_labels`; ignored by all others.
        """
        batch = as_batch(images)
        labels = self._check_labels(y if self.needs_labels else None, len(batch))
        fresh = dataclasses.replace(self)
        for at in range(0, len(batch), FIT_BATCH):
            part = slice(at, at + FIT_BATCH)
            fresh.partial_fit(batch[part], None if labels is None else labels[part])
        with self._changing():
            vars(self).update(vars(fresh))
        return self

    def transform(self, images: object) -> np.ndarray:
        """Return the embeddings of images, n x d float32, without learning from them.

        Before the first batch, these are the embeddings of the untrained learner.
        """
        with self.reading() as still:
            return still._in_chunks(type(self).embed, images)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Self]:
        """Yield a learner in the state after the last whole batch, to read several things of it.

        In the thread that learns it is this learner; in any other a copy, which no batch changes.
        """
        with self._sharing.reading(self) as still:
            yield still

    def save(self, path: str | Path) -> None:
        """Write the learner to one safetensors file; `scale.load` restores it exactly."""
        with self._sharing.saving(self) as (state, meta):
            write_tensors(as_path("path", path), state, meta)

    def start(self, image_shape: ImageShape) -> None:
        """Prepare the learner for images of this shape; else the first batch does it."""
        self.check_params()
        if misfit(image_shape, tuple[int, int, int]) is not None or min(image_shape) < 1:
            raise InputError(
                "image_shape must be channels, height and width, each 1 or more, got "
                f"{shown(image_shape)}"
            )
        with self._changing():
            if self.image_side is not None:
                pixels = image_shape[0] * self.image_side**2
                check_memory(self, "image_side", 4 * pixels)
            self.diagnostics_, self.step_ = {}, 0
            self.setup(image_shape)
            self.image_shape_ = image_shape
            self._check_parts()
        vars(self).pop("_before_start", None)

    @abstractmethod
    def setup(self, image_shape: ImageShape) -> None:
        """Check the parameters and make the learned attributes."""

    @abstractmethod
    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        """Learn from a checked uint8 batch, (n, c, h, w) with n >= 1.

        `labels`, (n,), are given only when the learner `needs_labels`.
        """

    @abstractmethod
    def embed(self, batch: Tensor) -> Tensor:
        """Return the embeddings of a checked uint8 batch, (n, d); change nothing."""

    def join(self, group: Group) -> None:
        """Learn together with other processes, which have the same learner and get every batch.

        Each process then computes a part of every update.
        """
        raise InputError(
            f"{self.name!r} has no encoder whose work processes could divide; run it in one process"
        )

    def parts(self) -> dict[str, Part]:
        """Return everything to save, by name: modules, optimisers, memories, generators."""
        return {}

    def state_dict(self) -> State:
        """Return the learned state, generators included, as tensors by name."""
        return self._sharing.state(self)

    def load_state_dict(self, state: State) -> None:
        """Restore a `state_dict`; the learner must have started."""
        with self._changing():
            if self.image_shape_ is None:
                raise InputError("no state can be restored yet: call start(image_shape) first")
            step = step_in(state)
            unflatten(self.parts(), state)
            self.step_ = step

    def describe(self) -> dict[str, Any]:
        """Return method, parameters and image shape, which rebuild this learner with its state."""
        return {
            "format": FORMAT,
            "method": self.name,
            **_file_of(type(self)),
            "params": {
                key: f"module:{type(value).__name__}" if isinstance(value, nn.Module) else value
                for key, value in self.get_params().items()
            },
            "image_shape": list(self.image_shape_ or ()),
        }

    def recall(self, description: Mapping[str, Any]) -> None:  # noqa: B027
        """Take over what a description says beside the parameters, before `start`.

        The state is restored later, so a learner need not read what is in it.
        """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep` is scikit-learn's and changes nothing."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Change parameters before the first batch; raise `InputError` after it."""
        known = self.get_params()
        for name in params:
            if name not in known:
                raise InputError(
                    f"{self.name!r} has no parameter {name!r}{did_you_mean(name, known)} "
                    f"(known: {', '.join(known)})"
                )
        with self._changing():
            if params and self.image_shape_ is not None:
                raise InputError(
                    "parameters cannot change once learning has started; "
                    "make a new learner with sklearn.base.clone(learner).set_params(...)"
                )
            for name, value in params.items():
                setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Raise `InputError` if a parameter has another type or range than its field declares."""
        check_params(self)
        check_device(self.device)

    @property
    def needs_labels(self) -> bool:
        """Whether `partial_fit` needs labels."""
        return self.knows.labels

    @property
    def image_side(self) -> int | None:
        """Side that images are resized to first; None keeps their size."""
        return None

    def costs(self) -> Costs:
        """Return the costs of the method with these parameters."""
        return Costs()

    def __sklearn_is_fitted__(self) -> bool:
        return True  # embeddings exist before the first batch

    def __sklearn_tags__(self) -> Any:
        return sklearn_tags(self.needs_labels)

    def _changing(self) -> AbstractContextManager[None]:
        """Give this thread a turn to change the learner; an unstarted one stays so if it fails."""
        return self._sharing.changing(self)

    def _check_parts(self) -> None:
        """Raise `ContractError` if `parts` misses a part of the state."""
        check_saved(self, self.get_params(), self.parts())

    def _in_chunks(self, embed: Callable[[Self, Tensor], Tensor], images: object) -> np.ndarray:
        batch = as_batch(images, self.image_shape_)
        if len(batch) == 0:
            raise InputError("transform got an empty batch; pass at least one image")
        learner = self if self.image_shape_ is not None else self._start_of(_shape_of(batch))
        try:
            with torch.no_grad():
                chunks = [embed(learner, part).float().cpu() for part in torch.split(batch, CHUNK)]
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise diverged(self) from error  # NaN has no decomposition
        features = torch.cat(chunks)
        if not torch.isfinite(features).all():
            raise diverged(self)
        return features.numpy()

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
        """Return a started copy of an unstarted learner, and keep it for the next call."""
        start: Self | None = vars(self).get("_before_start")
        if (
            start is None
            or start.image_shape_ != image_shape
            or start.get_params() != self.get_params()
        ):
            start = dataclasses.replace(self)
            start.start(image_shape)
            self._before_start = start
        return start


def _file_of(method: type[Learner]) -> dict[str, str]:
    place = place_of(method)
    return {} if place is None else {"file": place}


def _shape_of(batch: Tensor) -> ImageShape:
    channels, height, width = batch.shape[1:]
    return channels, height, width
