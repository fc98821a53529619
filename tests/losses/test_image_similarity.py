"""Similarity and pseudo-positives of images, as the released code has them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scale.losses import image_similarity, pseudo_positives_of_images

from . import slow


def views_of(image: int, n: int, m: int) -> tuple[int, int]:
    """Return where the two views of an image are; those of the stream come first."""
    if image < n:
        return image, n + image
    return 2 * n + image - n, 2 * n + m + image - n


def slow_similarity(h: torch.Tensor, n: int, kappa: float) -> list[list[float]]:
    m, rows = len(h) // 2 - n, h.tolist()
    images = range(n + m)

    def share(i: int, j: int, a: int, b: int, by_column: bool) -> float:
        def weight(u: int, v: int) -> float:
            x, y = rows[views_of(u, n, m)[a]], rows[views_of(v, n, m)[b]]
            return math.exp(2 * sum(p * q for p, q in zip(x, y, strict=True)) / kappa)

        others = [weight(k, j) if by_column else weight(i, k) for k in images]
        del others[j if by_column else i]
        return weight(i, j) / sum(others)

    p = [[0.0] * (n + m) for _ in images]
    for i in images:
        for j in images:
            if i != j:
                both = [
                    (share(i, j, a, b, False) + share(i, j, a, b, True)) / 2
                    for a in (0, 1)
                    for b in (0, 1)
                ]
                p[i][j] = sum(both) / 4
    return p


@given(n=st.integers(1, 4), m=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_similarity_is_the_mean_over_the_four_pairs_of_views(n: int, m: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    h = torch.rand(2 * (n + m), 3, generator=generator, dtype=torch.float64)
    p = image_similarity(h, n, 0.5)
    expected = slow_similarity(h, n, 0.5)
    for i, row in enumerate(expected):
        assert p[i].tolist() == pytest.approx(row, abs=1e-12)


def test_a_single_image_is_like_no_other() -> None:
    p = image_similarity(torch.ones(2, 3), 1, 0.1)
    assert p.tolist() == [[0.0]]
    assert pseudo_positives_of_images(p, 1, 0.1).tolist() == [[False, True], [True, False]]


def test_great_features_do_not_overflow() -> None:
    h = 1e4 * torch.rand(12, 8, generator=torch.Generator().manual_seed(0))
    assert torch.isfinite(image_similarity(h, 4, 0.1)).all()


@given(
    n=st.integers(1, 4), m=st.integers(0, 3), seed=st.integers(0, 10**6), mu=st.floats(0.05, 0.95)
)
def test_both_views_of_a_similar_image_are_positives(n: int, m: int, seed: int, mu: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    h = torch.rand(2 * (n + m), 3, generator=generator, dtype=torch.float64)
    p = image_similarity(h, n, 0.5)
    off_diagonal = [float(p[i, j]) for i in range(n + m) for j in range(n + m) if i != j]
    sets = slow.as_sets(pseudo_positives_of_images(p, n, mu))
    assert len(sets) == 2 * n
    for view, group in enumerate(sets):
        image, expected = view % n, {slow.twin(view, n)}
        if off_diagonal:
            mean = sum(off_diagonal) / len(off_diagonal)
            threshold = mean + mu * (max(off_diagonal) - mean)
            for other in range(n):
                if other != image and p[image, other] > threshold:
                    expected |= {other, n + other}
        assert group == expected
