"""Time as a teacher: directions of embeddings in which neighbours in time are alike."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from scale.methods.readout.whitening import fixed_frame

BLOCK = 32  # images of the stream, one after the other, that count as neighbours
RIDGE = 0.01  # added to the variances of embeddings before whitening, as a fraction of their mean
MARGIN = 1.5  # factor of `edge`: drift is measured with noise, too
REFIT = 0.05  # fit again when later batches have this share of all weights


class SlowFeatures(nn.Module):
    """Directions in which a stream varies more between blocks of neighbours than within them.

    Each batch is cut into blocks of images that follow each other. Along a direction of whitened
    embeddings, `r` is the share of the variance that lies between blocks. In a shuffled stream `r`
    of a finite sample is at most about `edge`. Directions well above it are slow: what is there
    stays for a while. They are scaled by the root of ``(r - edge) / (1 - edge)``, all others by 0.
    So a shuffled stream has no slow features.

    Where classes come one after the other, this is discriminant analysis with time instead of
    labels.

    Parameters
    ----------
    features
        Dimension d of the embeddings.
    keep
        Number of directions.

    Attributes
    ----------
    strength
        Sum of the squared scales: how many directions are slow, ().

    References
    ----------
    Wiskott and Sejnowski (2002), Slow Feature Analysis, Neural Computation.
    """

    mean: Tensor
    within: Tensor
    between: Tensor
    batches: Tensor
    spread: Tensor
    fitted: Tensor
    centre: Tensor
    matrix: Tensor
    strength: Tensor

    def __init__(self, features: int, keep: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features, dtype=torch.float64))
        self.register_buffer("within", torch.zeros(features, features, dtype=torch.float64))
        self.register_buffer("between", torch.zeros(features, features, dtype=torch.float64))
        self.register_buffer("spread", torch.tensor(0.0, dtype=torch.float64))
        self.register_buffer("batches", torch.tensor(0))
        self.register_buffer("fitted", torch.tensor(0))
        self.register_buffer("centre", torch.zeros(features))
        self.register_buffer("matrix", torch.zeros(features, keep))
        self.register_buffer("strength", torch.tensor(0.0))

    def learn(self, embeddings: Tensor, drift: Tensor | None = None) -> None:
        """Learn from the embeddings of a batch in the order of the stream, (n, d); n >= `BLOCK`.

        `drift` is how far embeddings of the same images moved on average since the last batch,
        (d,). Without it, a change of the learner would look like a change of the stream.
        """
        if drift is not None:
            self.mean += drift.cpu().double()
        rows = embeddings.cpu().double()
        blocks = torch.stack(
            torch.split(rows[: len(rows) // BLOCK * BLOCK], BLOCK)
        )  # (blocks, size, d)
        means = blocks.mean(1)
        around = (blocks - means[:, None]).flatten(0, 1)
        self.batches += 1
        # The weight of batch t is t: early embeddings are those of a learner that knew little.
        share = 2 / (float(self.batches) + 1)
        self.within.lerp_(around.T @ around / (len(means) * (BLOCK - 1)), share)
        moved = means.mean(0) - self.mean
        apart = means - means.mean(0)
        self.between.lerp_(apart.T @ apart / len(means), share)
        self.between.add_(torch.outer(moved, moved), alpha=share * (1 - share))
        self.mean.add_(moved, alpha=share)
        self.spread.mul_((1 - share) ** 2).add_(share**2 / len(means))
        if 2 * (self.batches - self.fitted) >= REFIT * self.batches:
            self.fit()

    def fit(self) -> None:
        """Fit the directions to what was learned."""
        # Means of blocks differ by chance too: by the variance within, divided by the size.
        between = self.between - self.within / BLOCK
        variances, axes = torch.linalg.eigh(self.within + between)
        variances = variances.clamp(min=0)
        ridge = RIDGE * variances.mean() + torch.finfo(torch.float32).tiny
        white = axes * (variances + ridge).rsqrt()
        r, turned = torch.linalg.eigh(white.T @ between @ white)
        r, turned = r.flip(0), turned.flip(1)
        edge = (MARGIN * self.edge()).clamp(max=1)
        scales = ((r - edge) / (1 - edge).clamp(min=1e-6)).clamp(0, 1).sqrt()
        keep = self.matrix.shape[1]
        used = int((scales[:keep] > 0).sum())
        self.fitted.copy_(self.batches)
        self.centre.copy_(self.mean)
        self.strength.copy_(scales[:keep].square().sum())
        self.matrix.zero_()
        if used:
            directions = white @ turned[:, :used] * scales[:used]
            covariances = (self.within + between) @ directions
            self.matrix.copy_(directions @ fixed_frame(covariances, keep))

    def edge(self) -> Tensor:
        """Return the largest share of variance between blocks that a shuffled stream has.

        It is the limit of the largest eigenvalue of noise, for d dimensions and these numbers of
        blocks and images (Wachter).
        """
        blocks = 1 / self.spread  # of equal weight, with as much noise as these
        d = len(self.mean)
        within = d / (blocks * (BLOCK - 1)).clamp(min=1e-6)
        if blocks <= 1 or within >= 1:
            return torch.ones_like(self.spread)
        between = d / (blocks - 1)
        root = (between + within - between * within).clamp(min=0).sqrt()
        ratio = ((1 + root) / (1 - within)).square()  # of variances, for means of blocks
        share = (ratio - 1) / BLOCK
        return share / (1 + share)

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return the slow features of embeddings, (n, keep); their mean square is `strength`."""
        centre, matrix = self.centre.to(embeddings.device), self.matrix.to(embeddings.device)
        slow: Tensor = (embeddings - centre) @ matrix
        return slow
