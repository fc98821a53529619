"""Groups of similar images to name together, and a map of images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from scale.live.view import Vectors

MOST_GROUPS = 24
IMAGES_PER_GROUP = 12  # on average, while there are few images
SMALLEST = 3  # images of a group that is worth a name

Projection = Literal["pca", "tsne"]


@dataclass(frozen=True)
class Group:
    """Similar images without a name.

    Parameters
    ----------
    ids
        The images, the most typical first.
    tightness
        Mean cosine similarity to the centre; 1 if all are equal.
    """

    ids: tuple[int, ...]
    tightness: float


@dataclass(frozen=True)
class Point:
    """An image on the map, each coordinate from 0 to 1, and its name, given or not."""

    id: int
    x: float
    y: float
    name: str


def find_groups(ids: Sequence[int], vectors: Vectors) -> list[Group]:
    """Return groups of images by k-means, those first that are tight and large.

    Parameters
    ----------
    ids, vectors
        The images and their embeddings of length 1, (n, d).
    """
    from sklearn.cluster import KMeans

    if len(ids) < SMALLEST:
        return []
    k = min(MOST_GROUPS, max(1, len(ids) // IMAGES_PER_GROUP), len(np.unique(vectors, axis=0)))
    labels = KMeans(k, n_init=3, random_state=0).fit_predict(vectors)
    groups = [_group(np.asarray(ids)[labels == one], vectors[labels == one]) for one in range(k)]
    worth = [group for group in groups if len(group.ids) >= SMALLEST]
    return sorted(worth, key=lambda group: -group.tightness * np.log1p(len(group.ids)))


def _group(ids: npt.NDArray[np.int64], vectors: Vectors) -> Group:
    centre = vectors.mean(0)
    centre = centre / max(float(np.linalg.norm(centre)), 1e-12)
    typical = vectors @ centre
    order = np.argsort(-typical, kind="stable")
    return Group(tuple(int(one) for one in ids[order]), float(typical.mean()))


def project(vectors: Vectors, method: Projection) -> npt.NDArray[np.float64]:
    """Return coordinates of embeddings in the plane, (n, 2), each from 0 to 1."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if len(vectors) < 3:
        return np.linspace(0, 1, len(vectors))[:, None].repeat(2, 1)
    if method == "tsne":
        few = min(50, *vectors.shape)
        reduced = PCA(few, svd_solver="randomized", random_state=0).fit_transform(vectors)
        perplexity = min(30.0, (len(vectors) - 1) / 3)
        plane = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(reduced)
    else:
        plane = PCA(2, svd_solver="randomized", random_state=0).fit_transform(vectors)
    low, high = plane.min(0), plane.max(0)
    unit: npt.NDArray[np.float64] = (plane - low) / np.maximum(high - low, 1e-12)
    return unit
