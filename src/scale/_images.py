"""The one check of images and labels: their type, their shape, and the axis of the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

CHANNELS = (1, 3, 4)
LARGEST_LABEL = 2**63 - 1
ImageShape = tuple[int, int, int]  # channels, height, width


def channels_first(
    images: npt.NDArray[Any], image_shape: ImageShape | None = None, name: str = "images"
) -> npt.NDArray[Any]:
    """Return a view of images, n x c x h x w or n x h x w x c, as n x c x h x w.

    The 1, 3 or 4 channels are in second or last place. If both places fit, the second holds them,
    unless the last is 1 and the other two are equal: that is n x h x h x 1.

    Parameters
    ----------
    images
        The batch.
    image_shape
        Shape of earlier images, if there were any. It decides where both places fit.
    name
        Name of the images in errors.

    Examples
    --------
    >>> channels_first(np.zeros((8, 3, 5, 3))).shape, channels_first(np.zeros((8, 3, 3, 1))).shape
    ((8, 3, 5, 3), (8, 1, 3, 3))
    """
    if images.ndim != 4:
        raise InputError(
            f"{name} must have 4 dimensions, n x c x h x w or n x h x w x c, "
            f"got shape {images.shape}; a single image needs images[None]"
        )
    if 0 in images.shape[1:]:
        raise InputError(f"{name} must have pixels, got shape {images.shape}")
    _, second, third, last = images.shape
    if image_shape == (second, third, last):
        return images
    if last in CHANNELS and (
        second not in CHANNELS
        or (third, last) == (second, 1)
        or image_shape == (last, second, third)
    ):
        return images.transpose(0, 3, 1, 2)
    if second in CHANNELS:
        return images
    raise InputError(
        f"cannot tell where the channels of {name} are, got shape {images.shape}; expected 1, 3 or "
        "4 channels in second or last place"
    )


def as_uint8(
    values: npt.NDArray[Any], name: str = "images", *, floats: bool = False
) -> npt.NDArray[np.uint8]:
    """Return uint8 values unchanged; with `floats`, also floats in 0..1, rounded to 0..255."""
    if values.dtype == np.uint8:
        return values
    if not floats:
        raise _wrong_dtype(values.dtype, name)
    if values.dtype.kind != "f":
        raise InputError(f"{name} must be uint8 in 0..255 or floats in 0..1, got {values.dtype}")
    low, high = values.min(), values.max()  # NaN if any value is
    if not np.isfinite([low, high]).all():
        raise InputError(f"{name} must be finite, got NaN or infinite values")
    if low < 0 or high > 1:
        raise InputError(
            f"{name} must be floats in 0..1, got {low:g} to {high:g}; give the images before any "
            "normalisation, or convert them to uint8"
        )
    return np.rint(values.astype(np.float32) * 255).astype(np.uint8)


def as_batch(images: object, image_shape: ImageShape | None = None) -> Tensor:
    """Return the input of `partial_fit` or `transform` as a uint8 tensor, n x c x h x w.

    Parameters
    ----------
    images
        A uint8 array or tensor, n x c x h x w or n x h x w x c. It is copied.
    image_shape
        Shape that the images must have, if the learner has seen images.
    """
    import torch

    if not isinstance(images, np.ndarray | torch.Tensor):
        raise InputError(
            f"images must be a numpy array or a torch tensor, got {type(images).__name__}"
        )
    if isinstance(images, torch.Tensor) and images.dtype != torch.uint8:
        raise _wrong_dtype(images.dtype)
    batch = channels_first(as_uint8(as_array(images, "images")), image_shape)
    if image_shape is not None and batch.shape[1:] != image_shape:
        raise InputError(
            f"images have shape {batch.shape[1:]}, but this learner was started with "
            f"{image_shape} (channels, height, width); give images of that shape, resized if needed"
        )
    return torch.from_numpy(np.array(batch, order="C"))


def as_labels(labels: object, n: int) -> Tensor:
    """Return a copy of the labels of `n` images as an int64 tensor."""
    import torch

    return torch.from_numpy(check_labels(labels, n))


def check_labels(
    labels: object, n: int | None = None, *, least: int | None = None, name: str = "labels"
) -> npt.NDArray[np.int64]:
    """Return labels as a new int64 array.

    Parameters
    ----------
    labels
        One integer for each image, as an array, a tensor or a list.
    n
        Number of images; None allows any.
    least
        Smallest allowed label.
    name
        Name of the labels in errors.

    Examples
    --------
    >>> check_labels([2, 0], least=0)
    array([2, 0])
    >>> check_labels([0.5])
    Traceback (most recent call last):
        ...
    scale._errors.InputError: labels must be integers, got float64
    """
    classes = as_array(labels, name)
    if classes.dtype.kind not in "iu":
        found = type(labels).__name__ if classes.dtype.kind in "OSU" else classes.dtype
        raise InputError(f"{name} must be integers, got {found}")
    if classes.ndim != 1 or (n is not None and len(classes) != n):
        shape = "(n,)" if n is None else f"({n},)"
        raise InputError(f"{name} must have shape {shape}, one for each image, got {classes.shape}")
    if least is not None and classes.size and classes.min() < least:
        raise InputError(f"{name} must be {least} or more, got {classes.min()}")
    if classes.dtype == np.uint64 and classes.size and classes.max() > LARGEST_LABEL:
        raise InputError(f"{name} must be {LARGEST_LABEL} or less, got {classes.max()}")
    return classes.astype(np.int64)


def as_array(value: Any, name: str = "the values") -> npt.NDArray[Any]:
    """Return a tensor, an array or a list as an array; the gate of all arrays that users give.

    Examples
    --------
    >>> as_array([[1, 2], [3]], "rows")
    Traceback (most recent call last):
        ...
    scale._errors.InputError: rows must be an array of one shape, got a list
    """
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{name} must not be a masked array; fill it first: array.filled()")
    if not hasattr(value, "detach"):
        try:
            return np.asarray(value)
        except Exception as error:  # an object's own conversion may raise anything
            kind = type(value).__name__
            raise InputError(f"{name} must be an array of one shape, got a {kind}") from error
    try:
        return np.asarray(value.detach().cpu())
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        form = f"{getattr(value, 'layout', '')} {getattr(value, 'dtype', '')}".strip()
        where = getattr(value, "device", "an unknown device")
        raise InputError(
            f"{name} must be a dense tensor with values, got {form} on {where}; "
            "try tensor.to_dense()"
        ) from error


def resized(image_shape: ImageShape, side: int | None) -> ImageShape:
    """Return the shape of images after they are resized to `side` pixels; None keeps it."""
    if side is None:
        return image_shape
    if isinstance(side, bool) or not isinstance(side, int | np.integer):
        raise InputError(f"image_side must be a whole number, got {side!r}")
    if side < 1:
        raise InputError(f"image_side must be 1 or more, got {side}")
    return image_shape[0], int(side), int(side)


def _wrong_dtype(dtype: object, name: str = "images") -> InputError:
    return InputError(
        f"{name} must be uint8 in 0..255, got {dtype}; for floats in 0..1 use "
        "(images * 255).round().astype('uint8')"
    )
