"""What `partial_fit` and `transform` accept."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scale._errors import InputError
from scale.methods.core.checks import check_number

CHANNELS = (1, 3, 4)


def as_batch(images: object, image_shape: tuple[int, int, int] | None = None) -> Tensor:
    """Return images as a uint8 tensor of shape (n, c, h, w) that does not alias the caller's.

    Accepts uint8 arrays and tensors, n x c x h x w or n x h x w x c; `image_shape` is the shape
    that earlier images had.
    """
    if isinstance(images, np.ndarray):
        if images.dtype != np.uint8:
            raise _wrong_dtype(images.dtype)
        batch = torch.from_numpy(images.copy())  # torch takes no negative strides
    elif isinstance(images, Tensor):
        if images.dtype != torch.uint8:
            raise _wrong_dtype(images.dtype)
        batch = images.detach().cpu().clone()
    else:
        raise InputError(
            f"images must be a numpy array or a torch tensor, got {type(images).__name__}"
        )
    if batch.ndim != 4:
        raise InputError(
            "images must have 4 dimensions, n x c x h x w or n x h x w x c, "
            f"got shape {tuple(batch.shape)}; a single image needs images[None]"
        )
    if 0 in batch.shape[1:]:
        raise InputError(f"images must have pixels, got shape {tuple(batch.shape)}")
    batch = _channels_first(batch, image_shape)
    if image_shape is not None and tuple(batch.shape[1:]) != image_shape:
        raise InputError(
            f"images have shape {tuple(batch.shape[1:])}, but this learner was started with "
            f"{image_shape} (channels, height, width); resize them first"
        )
    return batch


def as_labels(labels: object, n: int) -> Tensor:
    """Return the classes of `n` images as an int64 tensor that does not alias the caller's."""
    try:
        given = labels.detach().cpu().numpy() if isinstance(labels, Tensor) else labels
        classes = torch.from_numpy(np.array(given))
    except (TypeError, ValueError) as error:
        raise InputError(f"labels must be integers, got {type(labels).__name__}") from error
    if classes.is_floating_point() or classes.is_complex() or classes.dtype == torch.bool:
        raise InputError(f"labels must be integers, got {classes.dtype}")
    if classes.shape != (n,):
        raise InputError(
            f"labels must have shape ({n},), one for each image, got {tuple(classes.shape)}"
        )
    return classes.long()


def resized(image_shape: tuple[int, int, int], side: int | None) -> tuple[int, int, int]:
    """Return the shape of images brought to a square of that side; None keeps them as they are."""
    if side is None:
        return image_shape
    check_number("image_side", side, least=1, whole=True)
    return image_shape[0], side, side


def _channels_first(batch: Tensor, image_shape: tuple[int, int, int] | None) -> Tensor:
    _, second, third, last = batch.shape
    if image_shape is not None and (second, third, last) == image_shape:
        return batch
    if last in CHANNELS and (second not in CHANNELS or (third, last) == (second, 1)):
        return batch.permute(0, 3, 1, 2).contiguous()
    if second in CHANNELS:
        return batch
    raise InputError(
        f"cannot tell where the channels of shape {tuple(batch.shape)} are: expected 1, 3 or 4 "
        "channels in second or last place"
    )


def _wrong_dtype(dtype: object) -> InputError:
    return InputError(
        f"images must be uint8 in 0..255, got {dtype}; for floats in 0..1 use "
        "(images * 255).round().astype('uint8')"
    )
