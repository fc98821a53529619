"""choosing 1280 of 1408 points in 512 dimensions, as at every batch of the paper's runs."""

from __future__ import annotations

import numpy as np
import torch
from diversipy.subset import psa_select as diversipy_select  # type: ignore[import-untyped]
from sklearn.datasets import load_digits
from torch.nn import functional as F

from benchmarks._measure import Row, median_of, row
from scale.memory.psa import psa_select
from scale.models import build_encoder


def gaussian(points: int) -> np.ndarray:
    """Return features without structure: rectified Gaussian noise."""
    noise = np.random.default_rng(0).standard_normal((points, 512), dtype=np.float32)
    return noise.clip(min=0)


def digits(points: int) -> np.ndarray:
    """Return features of real images: scikit-learn's digits through an untrained ResNet-18."""
    images = torch.from_numpy(load_digits().images[:points, None]).float() / 16
    encoder, _ = build_encoder("resnet18", (1, 32, 32), torch.Generator().manual_seed(0))
    with torch.no_grad():
        features: np.ndarray = encoder(F.interpolate(images, (32, 32))).numpy()
    return features


def main(quick: bool = False) -> list[Row]:
    """Time both implementations, after checking that they choose the same points."""
    points, size = (110, 100) if quick else (1408, 1280)
    return [
        measure(name, features, size, repeats=1)
        for name, features in (("noise", gaussian(points)), ("digits", digits(points)))
    ]


def measure(name: str, features: np.ndarray, size: int, repeats: int) -> Row:
    """Return the row of one set of points."""
    exact = features.astype(np.float64)  # diversipy rounds away ties in single precision
    chosen = np.unique(features[psa_select(features, size)], axis=0)
    if not np.array_equal(chosen, np.unique(diversipy_select(exact, size), axis=0)):
        raise AssertionError(f"psa_select and diversipy choose different points of {name}")
    runs = {
        "diversipy": lambda: diversipy_select(exact, size),
        "ours": lambda: psa_select(features, size),
        "pass": lambda: (features.min(axis=0), features.max(axis=0)),
    }
    # Diversipy is slow: it gets few repeats, ours gets more.
    best = median_of(runs, repeats, warm_up=False)
    again = median_of({"ours": runs["ours"], "pass": runs["pass"]}, 5 * repeats)
    return row(
        f"PSA of {len(features)} -> {size}, features of {name}",
        min(best["ours"], again["ours"]) * 1e3,
        ("diversipy", best["diversipy"] * 1e3),
        ("least and greatest of the data, once", min(best["pass"], again["pass"]) * 1e3),
    )
