"""A read-out that is kept up to date: features of memory images, and the maps fitted to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from scale.methods.readout.whitening import Whitening, contrast_whitening

REFIT = 0.25  # fit again when this fraction of the features has changed
SPREAD = 2654435761  # 2**32 divided by the golden ratio: spreads consecutive numbers evenly


class Size(NamedTuple):
    """Dimension d of a kind of features, and number of directions that its map keeps."""

    features: int
    keep: int


class Readout(nn.Module):
    """Linear maps of features, fitted to images in memory; see `contrast_whitening`.

    It stores the features of the images that it is fitted to. `refresh` computes some of them anew,
    so its cost is bounded and the maps are ready at any time.

    Parameters
    ----------
    images
        Maximum number of images.
    views
        Views of each image.
    sizes
        Size of each kind of features, by name.
    ridge
        As in `contrast_whitening`.

    Attributes
    ----------
    arrivals
        Position in the stream of the image in each row, (images,); -1 for an empty row.
    turns
        The refresh that made the features of each row, (images,).
    changed
        Rows that changed since the maps were fitted, ().
    features
        By name, (images, 1 + views, d): of the image, then of its views.
    since
        By name, the first refresh with the present meaning of each feature, (d,).
    """

    arrivals: Tensor
    turns: Tensor
    changed: Tensor
    fitted: Tensor

    def __init__(self, images: int, views: int, sizes: Mapping[str, Size], ridge: float) -> None:
        super().__init__()
        self.ridge, self.sizes = ridge, dict(sizes)
        self.register_buffer("arrivals", torch.full((images,), -1))
        self.register_buffer("turns", torch.zeros(images, dtype=torch.int64))
        self.register_buffer("changed", torch.tensor(0))
        self.register_buffer("fitted", torch.tensor(False))
        for name, (d, keep) in sizes.items():
            self.register_buffer(f"{name}_features", torch.zeros(images, 1 + views, d))
            self.register_buffer(f"{name}_since", torch.zeros(d, dtype=torch.int64))
            self.register_buffer(f"{name}_mean", torch.zeros(d))
            self.register_buffer(f"{name}_matrix", torch.zeros(d, keep))

    def map_of(self, name: str, device: str) -> Whitening | None:
        """Return the fitted map of a kind of features; None if there is none yet."""
        if name not in self.sizes or not self.fitted:
            return None
        mean, matrix = self.get_buffer(f"{name}_mean"), self.get_buffer(f"{name}_matrix")
        return Whitening(mean.to(device), matrix.to(device))

    def refresh(
        self, arrivals: Tensor, budget: int, features: Callable[[Tensor], Mapping[str, Tensor]]
    ) -> None:
        """Store features of images that have none or the oldest; fit the maps if they moved.

        Parameters
        ----------
        arrivals
            Position in the stream of each image in memory, (stored,). If there are more images
            than rows, a sample is used that is spread evenly over the stream.
        budget
            Number of images to refresh, beside those without features.
        features
            Returns features by name, (n, 1 + views, d) each, of images with these indices in
            memory, (n,).
        """
        used = arrivals[(arrivals * SPREAD % 2**32).argsort(stable=True)[: len(self.arrivals)]]
        kept = torch.isin(self.arrivals, used)
        new = used[~torch.isin(used, self.arrivals)]
        held = kept.nonzero()[:, 0]
        oldest = held[self.turns[held].argsort(stable=True)[:budget]]
        free = (~kept).nonzero()[:, 0]
        rows = torch.cat([free[: len(new)], oldest])
        owners = torch.cat([new, self.arrivals[oldest]])  # arrivals of these rows
        order = arrivals.argsort()
        found = features(order[torch.searchsorted(arrivals[order], owners)])
        self.changed += len(rows)
        self.arrivals[free] = -1
        self.arrivals[rows] = owners
        self.turns[rows] = self.turns.max() + 1
        for name, values in found.items():
            self.get_buffer(f"{name}_features")[rows] = values.cpu()
        if self.changed >= REFIT * (self.arrivals >= 0).sum():
            self.fit()

    def renew(self, name: str, columns: Tensor) -> None:
        """Note that these features have a new meaning: older values of them are not used."""
        self.get_buffer(f"{name}_since")[columns] = self.turns.max() + 1

    def fit(self) -> None:
        """Fit the maps to the stored features; keep the last ones if features are not finite."""
        for name, size in self.sizes.items():
            sample, *views = self._sample(name).unbind(1)
            if not all(torch.isfinite(part).all() for part in (sample, *views)):
                return  # of a diverged encoder; embedding images says so
            mean, matrix = contrast_whitening(sample, views, self.ridge, size.keep)
            self.get_buffer(f"{name}_mean").copy_(mean)
            self.get_buffer(f"{name}_matrix").copy_(matrix)
        self.changed.zero_()
        self.fitted.fill_(True)

    def _sample(self, name: str) -> Tensor:
        """Return the stored features, (n, 1 + views, d), with means for values not to be used."""
        there = self.arrivals >= 0
        rows = self.get_buffer(f"{name}_features")[there]
        used = self.turns[there, None] >= self.get_buffer(f"{name}_since")  # (n, d)
        if used.all():
            return rows
        sample, counts = rows[:, 0], used.sum(0).clamp(min=1)
        mean = sample.where(used, 0).sum(0) / counts  # (d,)
        scale = (len(rows) / counts).sqrt()  # keeps variances
        around = (rows[:, 1:] - sample[:, None]).where(used[:, None], 0) * scale
        sample = (sample - mean).where(used, 0) * scale + mean
        return torch.cat([sample[:, None], sample[:, None] + around], 1)


def readout_bytes(images: int, views: int, sizes: Mapping[str, Size]) -> int:
    """Return the bytes of a read-out's features and maps.

    Examples
    --------
    >>> readout_bytes(1280, 1, {"patches": Size(1600, 256), "encoder": Size(512, 256)})
    23798016
    """
    return sum(4 * d * (images * (1 + views) + 1 + keep) for d, keep in sizes.values())
