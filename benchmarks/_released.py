"""The released code's shape of an update, transcribed in plain PyTorch.

The tensors are contiguous. Each of the four groups of views has its own pass through the encoder,
and all views one pass through the past model. Every image is augmented alone, with Pillow. The
memory's features are computed in training mode. Losses follow the released code: similarity of
raw features, averaged over the four pairs of views. It is a cost to compare with, not a learner.
"""

from __future__ import annotations

import random
from copy import deepcopy

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageEnhance
from torch import Tensor

from benchmarks._learner import plain_convolutions
from scale.models import build_encoder, build_projector

TAU, KAPPA, KAPPA_PAST, MU, LAM = 0.1, 0.1, 0.01, 0.1, 0.15


class Released:
    """Encoder, projector, past encoder and SGD, as the released code arranges them."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        encoder, dim = build_encoder("resnet18", (3, 32, 32), generator)
        self.encoder = plain_convolutions(encoder)
        self.projector = build_projector(dim, 128, generator)
        self.past = plain_convolutions(deepcopy(encoder)).requires_grad_(False)
        parameters = [*self.encoder.parameters(), *self.projector.parameters()]
        self.optimizer = torch.optim.SGD(parameters, lr=0.03, momentum=0.9, weight_decay=1e-4)

    def update(self, stream: tuple[Tensor, Tensor], memory: tuple[Tensor, Tensor]) -> None:
        """Make one update from two views of the stream's images and two of the memory's."""
        n = len(stream[0])
        pairs = [torch.cat([stream[i], memory[i]]) for i in (0, 1)]  # (n + m, ...) each
        groups = [stream[0], stream[1], memory[0], memory[1]]
        h = [self.encoder(group) for group in groups]  # four passes
        z = [F.normalize(self.projector(features)) for features in h]
        of_images = torch.cat([h[0], h[2]]), torch.cat([h[1], h[3]])  # (n + m, d) each
        similarity = _similarity(*of_images, KAPPA)  # (n + m, n + m)
        with torch.no_grad():
            past = self.past(torch.cat(pairs)).chunk(2)  # one pass
            similarity_past = _similarity(past[0], past[1], KAPPA_PAST)
        contrast = _contrastive(torch.cat([z[0], z[1], z[2], z[3]]), similarity.detach(), n)
        forgetting = F.kl_div(similarity.log(), similarity_past, reduction="sum") / len(similarity)
        self.optimizer.zero_grad()
        (contrast + LAM * forgetting).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def memory_features(self, images: Tensor) -> Tensor:
        """Return features for the choice of memory, in training mode."""
        with torch.no_grad():
            return torch.cat([self.encoder.train()(part) for part in torch.split(images, 128)])


def views(images: list[Image.Image], rng: random.Random) -> tuple[Tensor, Tensor]:
    """Return two views of each image, one image at a time."""
    first, second = (torch.stack([_view(image, rng) for image in images]) for _ in range(2))
    return first, second


def pictures(images: Tensor) -> list[Image.Image]:
    """Return uint8 images, (n, 3, h, w), as Pillow images."""
    return [Image.fromarray(image) for image in images.permute(0, 2, 3, 1).numpy()]


def _similarity(one: Tensor, other: Tensor, kappa: float) -> Tensor:
    """Return the symmetric similarity of images, averaged over the four pairs of views."""
    total = torch.zeros(len(one), len(one))
    for a in (one, other):
        for b in (one, other):
            logits = (a @ b.T / kappa).fill_diagonal_(float("-inf"))
            total = total + logits.softmax(1)
    mean = total / 4
    return ((mean + mean.T) / 2).clamp(min=1e-12)


def _contrastive(z: Tensor, similarity: Tensor, n: int) -> Tensor:
    """Return the contrastive loss of the 2n stream views, with pseudo-positives of images."""
    near = similarity[:n, :n]
    others = ~torch.eye(n, dtype=torch.bool)
    mean = near[others].mean()
    same = (near > mean + MU * (near.max() - mean)) | torch.eye(n, dtype=torch.bool)
    positives = F.pad(same.repeat(2, 2), (0, len(z) - 2 * n)).float()
    positives[torch.arange(2 * n), torch.arange(2 * n)] = 0
    logits = (z[: 2 * n] @ z.T / TAU).fill_diagonal_(float("-inf"))
    log_p = F.log_softmax(logits, 1).masked_fill(positives == 0, 0)
    return -(log_p.sum(1) / positives.sum(1)).mean()


def _view(image: Image.Image, rng: random.Random) -> Tensor:
    side = image.width
    crop = max(1, round(side * rng.uniform(0.2, 1.0) ** 0.5))
    left, top = rng.randint(0, side - crop), rng.randint(0, side - crop)
    box = (left, top, left + crop, top + crop)
    view = image.resize((side, side), Image.Resampling.BILINEAR, box=box)
    if rng.random() < 0.5:
        view = view.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if rng.random() < 0.8:
        for change in (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color):
            view = change(view).enhance(rng.uniform(0.6, 1.4))
        hue, saturation, value = view.convert("HSV").split()
        turn = np.uint8(rng.randint(-25, 25) % 256)
        shifted = Image.fromarray(np.asarray(hue) + turn)
        view = Image.merge("HSV", (shifted, saturation, value)).convert("RGB")
    if rng.random() < 0.2:
        view = view.convert("L").convert("RGB")
    pixels = torch.from_numpy(np.array(view)).permute(2, 0, 1).contiguous()
    return (pixels.float() / 255 - 0.5) / 0.25
