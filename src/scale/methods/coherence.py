"""Coherence: pixel features that agree along motion, at a point of attention in a video."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._images import resized
from scale._numbers import Range
from scale.augment import resize
from scale.losses.coherence import spatial_coherence, spatial_contrast, temporal_coherence
from scale.methods.core.checks import Count, Fraction, Positive, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.pixels import PIXEL_MEAN, PIXEL_STD
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.core.updates import averaged, descend
from scale.methods.video.attention import Attention
from scale.methods.video.motion import blurred_grey, correlation, gradient_norm, slide
from scale.models import ImageShape, default_rng

TRIES = 10  # to find pixels outside of what moves
WHOLE = 0.8  # share of moving pixels above which a frame is a cut
DETAILED = 0.1  # share of pixels with the strongest gradients, for the features of an image
EMBEDDED = 16  # images embedded at once, to limit memory
UNRELATED = 8  # cuts in a row after which it says that it declines

Losses = dict[str, Tensor]


@register_method("coherence")
@dataclass(kw_only=True)
class Coherence(Learner):
    """Pixel features that agree where a video moves, differ from what is around, and persist.

    It is for frames in the order of time. A point of attention follows details and motion. If the
    attended pixel moves, one update is made: features of moving pixels become alike, unlike those
    around them, and like the feature attended in the last frame. An image's features are the mean
    over its pixels and the mean over its most detailed pixels.

    Unrelated stills have no coherent motion, and all losses would pull their features together. So
    it declines to learn from a frame that correlates less than `cut` with the last one, or of which
    more than 80 % moves: ``cuts`` in `diagnostics_` counts them, and a warning says so after eight
    in a row. On a stream of stills it keeps its random start. With ``motion="synthetic"``, each
    still becomes a few frames in which a patch of it slides; that is our own, not the authors'
    method.

    After Tiezzi et al. Read in the released code: network, attention, losses. There, labels only
    name templates and change no weight, though the paper's Table 1 in SCALE lists class labels.
    Ours: motion is a difference of blurred frames instead of optical flow, masses are shares of
    one, frames correlate or are a cut, a feature persists from one learned frame to the next only,
    one pass instead of 32 laps, and the pooling, because the original makes no vector of an image.
    It has no single published setting; these are within its ranges. Result tables were not found.

    Attributes
    ----------
    net_
        From frames to features of each pixel.
    attention_
        The attended point.
    diagnostics_
        Losses, and the numbers of ``cuts``, of ``still`` frames and of ``learned`` ones.

    References
    ----------
    Tiezzi, Marullo, Faggi, Meloni, Betti and Melacci (2022), Stochastic Coherence Over Attention
    Trajectory For Continuous Learning In Video Streams, IJCAI.
    """

    dim: Count = 32
    """Features of a pixel; an image has twice as many."""
    width: Count = 16
    """Channels of the first convolution; the next four have twice as many."""
    image_side: Count | None = None
    """Side that frames are resized to; by default they keep their size."""
    unit: bool = True
    """Give the features of a pixel unit length."""
    motion: Literal["frames", "synthetic"] = "frames"
    """Take motion from successive frames, or let a patch of each still slide over it."""
    synthetic_frames: Annotated[int, Range(least=2)] = 4
    """Frames made of each still, if motion is synthetic."""
    moving: Fraction = 0.05
    """Change of a blurred pixel, from 0 to 1, above which it moves."""
    cut: Fraction = 0.9
    """Correlation with the last frame below which a frame is unrelated and is skipped."""
    edges: Count = 10000
    """Pairs of pixels compared in a frame."""
    beta: Positive = 3.0
    """Spread of the pixels around what moves, over the root of its size."""
    spatial: Weight = 0.01
    """Weight of agreement among moving pixels."""
    contrast: Weight = 1.0
    """Weight of the contrast with pixels around them."""
    temporal: Weight = 0.1
    """Weight of agreement with the last attended feature."""
    details: Weight = 0.1
    """Pull of brightness gradients on the attention."""
    pull: Weight = 1.0
    """Pull of motion on the attention."""
    friction: Weight = 0.05
    """Damping of the attention's motion."""
    lr: Weight = 1e-3
    """Learning rate of SGD. Lower it if the loss becomes NaN."""

    def costs(self) -> Costs:
        frames = self.synthetic_frames if self.motion == "synthetic" else 1
        return Costs(memory="the last frame", backwards=frames)

    def setup(self, image_shape: ImageShape) -> None:
        channels, height, width = resized(image_shape, self.image_side)
        check_memory(self, "width", 4 * 25 * 16 * self.width * self.width)
        check_memory(self, "dim", 4 * EMBEDDED * height * width * self.dim)
        weights, self._rng = generators(self.seed, 2)
        sizes = [channels, self.width, *[2 * self.width] * 4, self.dim]
        with default_rng(weights):
            layers: list[nn.Module] = []
            for inner, outer in itertools.pairwise(sizes):
                layers += [nn.Conv2d(inner, outer, 5, padding=2), nn.ReLU()]
            self.net_ = nn.Sequential(*layers[:-1]).to(self.device)
        self.optimizer_ = torch.optim.SGD(self.net_.parameters(), lr=self.lr)
        self.attention_ = Attention(
            height, width, details=self.details, motion=self.pull, friction=self.friction
        ).to(self.device)
        self._last = torch.full((height, width), -1.0, device=self.device)  # below 0: none yet
        self._attended = torch.full((self.dim,), torch.nan, device=self.device)  # NaN: none
        self._cuts_in_a_row = 0  # for a warning only, so it is not saved

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        images = resize(batch.to(self.device), self.image_side)
        made: list[Losses] = []
        counts = {"cuts": 0, "still": 0, "learned": 0}
        for image in images:
            what, losses = self._still(image) if self.motion == "synthetic" else self._frame(image)
            counts[what] += 1
            made += losses
            self._tell_cut(what == "cuts")
        self.diagnostics_ = {**averaged(made), **counts}

    def _tell_cut(self, cut: bool) -> None:
        self._cuts_in_a_row = self._cuts_in_a_row + 1 if cut else 0
        if self._cuts_in_a_row == UNRELATED:
            warnings.warn(
                f"coherence does not learn from these images: {UNRELATED} in a row have next to "
                f"nothing in common with the one before (a correlation below cut = {self.cut}, or "
                f"more than {WHOLE:.0%} of the pixels change), so nothing moves that it could "
                f"follow. It is for frames in the order of time. For unrelated images take "
                f"another method, or motion = synthetic",
                stacklevel=4,
            )

    def _frame(self, image: Tensor) -> tuple[str, list[Losses]]:
        """Learn from the next frame; return what it is, and its losses."""
        grey = blurred_grey(image[None])[0]
        last = self._last.clone()
        self._last.copy_(grey)
        if float(last.min()) < 0:
            return "cuts", []
        change = (grey - last).abs()
        moving = change > self.moving
        if correlation(grey, last) < self.cut or float(moving.float().mean()) > WHOLE:
            self.attention_.reset()
            self._attended.fill_(torch.nan)
            return "cuts", []
        self.attention_.move(gradient_norm(grey[None])[0], change * moving)
        place = self.attention_.pixel()
        if not bool(moving[place]):
            self._attended.fill_(torch.nan)
            return "still", []
        return "learned", [self._update(image, moving, place)]

    def _still(self, image: Tensor) -> tuple[str, list[Losses]]:
        """Learn from a still by sliding a patch of it."""
        self._attended.fill_(torch.nan)
        made = []
        for frame, moving, centre in slide(image, self.synthetic_frames, self._rng):
            row, column = centre.tolist()
            made.append(self._update(frame, moving.to(self.device), (row, column)))
        return "learned", made

    def _update(self, image: Tensor, moving: Tensor, place: tuple[int, int]) -> Losses:
        features = self.pixel_features(image[None])[0]  # (d, h, w)
        losses = self.losses(features, moving, place)
        descend(self, self.optimizer_, losses["loss"])
        self._attended.copy_(features[:, place[0], place[1]].detach())
        return losses

    def losses(self, features: Tensor, moving: Tensor, place: tuple[int, int]) -> Losses:
        """Return the losses of a frame.

        Parameters
        ----------
        features
            (d, h, w).
        moving
            Pixels that move, (h, w).
        place
            The attended pixel, one of them.
        """
        inside, outside = self.nodes(moving, place)
        rows = features.flatten(1).T  # (h * w, d)
        spatial = spatial_coherence(rows[inside], unit=self.unit)
        found, loss = {"spatial": spatial}, self.spatial * spatial
        if len(outside):
            found["contrast"] = spatial_contrast(rows[inside], rows[outside], unit=self.unit)
            loss = loss + self.contrast * found["contrast"]
        if not bool(self._attended.isnan().any()):
            now = features[:, place[0], place[1]]
            found["temporal"] = temporal_coherence(now, self._attended.clone(), unit=self.unit)
            loss = loss + self.temporal * found["temporal"]
        return {"loss": loss, **found}

    def nodes(self, moving: Tensor, place: tuple[int, int]) -> tuple[Tensor, Tensor]:
        """Return pixels inside what moves, the attended one first, and pixels around it."""
        height, width = moving.shape
        flat = moving.flatten().cpu()
        attended = place[0] * width + place[1]
        wanted = int((1 + math.sqrt(1 + 8 * self.edges)) / 2)
        others = flat.nonzero()[:, 0]
        others = others[others != attended]
        order = torch.randperm(len(others), generator=self._rng)[: wanted - 1]
        inside = torch.cat([torch.tensor([attended]), others[order]])
        spread = self.beta * math.sqrt(int(flat.sum()))
        count = self.edges // (len(inside) + 1)
        drawn = torch.randn(min(count, 4 * len(flat)), TRIES, 2, generator=self._rng)
        points = (torch.tensor(place) + spread * drawn).round().long()  # (count, tries, 2)
        row, column = points[..., 0], points[..., 1]
        fits = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        pixel = row.clamp(0, height - 1) * width + column.clamp(0, width - 1)
        fits &= ~flat[pixel]
        first = fits.to(torch.uint8).argmax(1, keepdim=True)  # the first try that fits
        outside = pixel.gather(1, first)[fits.any(1)][:, 0]
        return inside.to(self.device), outside.to(self.device)

    def pixel_features(self, images: Tensor) -> Tensor:
        """Return the features of every pixel, (n, d, h, w)."""
        features: Tensor = self.net_((images - PIXEL_MEAN) / PIXEL_STD)
        return F.normalize(features, dim=1) if self.unit else features

    def embed(self, batch: Tensor) -> Tensor:
        images = resize(batch.to(self.device), self.image_side)
        return torch.cat([self._embed_few(few) for few in torch.split(images, EMBEDDED)])

    def _embed_few(self, images: Tensor) -> Tensor:
        features = self.pixel_features(images).flatten(2)  # (n, d, pixels)
        mass = gradient_norm(blurred_grey(images)).flatten(1)
        most = mass.topk(max(1, int(DETAILED * mass.shape[1])), dim=1).indices
        detailed = features.gather(2, most[:, None].expand(-1, features.shape[1], -1))
        return torch.cat([features.mean(2), detailed.mean(2)], dim=1)  # (n, 2d)

    def parts(self) -> dict[str, Part]:
        return {
            "net": self.net_,
            "optimizer": self.optimizer_,
            "attention": self.attention_,
            "rng": self._rng,
            "last": self._last,
            "attended": self._attended,
        }
