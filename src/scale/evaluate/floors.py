"""Floors: features without learning, which a learner should beat."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from scale._errors import InputError
from scale._images import as_array, as_uint8
from scale._numbers import LARGEST_SEED, check_number
from scale.augment import resize
from scale.evaluate.evaluator import Transform

PCA_COMPONENTS = 64


def floor_transforms(
    bank_images: NDArray[np.uint8], image_size: int | None, seed: int = 0
) -> dict[str, Transform]:
    """Return the transforms `pixels` and `pca`, to evaluate like a learner's.

    Parameters
    ----------
    bank_images
        uint8 ``(B, C, H, W)``; PCA is fitted on them, without labels.
    image_size
        Side that images are resized to, as for the learner; None keeps them.
    seed
        Seeds the randomised solver of the principal components.

    Examples
    --------
    >>> images = np.random.default_rng(0).integers(0, 256, (100, 3, 8, 8), dtype=np.uint8)
    >>> {name: f(images).shape for name, f in floor_transforms(images, 4).items()}
    {'pixels': (100, 48), 'pca': (100, 48)}
    """
    check_number("seed", seed, least=0, most=LARGEST_SEED, whole=True)
    if image_size is not None:
        check_number("image_size", image_size, least=1, most=8192, whole=True)
    bank_images = as_uint8(as_array(bank_images, "bank images"), "bank images")
    if bank_images.ndim != 4 or bank_images.size == 0:
        raise InputError(f"bank images must be (B, C, H, W), got shape {bank_images.shape}")

    def pixels(images: NDArray[np.uint8]) -> NDArray[np.float32]:
        square = resize(torch.from_numpy(np.array(images)), image_size)
        return square.flatten(start_dim=1).numpy()

    bank = pixels(bank_images)  # (B, C * size * size)
    components = min(PCA_COMPONENTS, *bank.shape)
    model = PCA(components, svd_solver="randomized", random_state=seed).fit(bank)

    def pca(images: NDArray[np.uint8]) -> NDArray[np.float32]:
        return model.transform(pixels(images)).astype(np.float32)  # type: ignore[no-any-return]

    return {"pixels": pixels, "pca": pca}
