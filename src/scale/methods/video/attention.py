"""A point of attention that masses in the frame pull."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SUBSTEPS = 10  # of the integration over one frame
SOFTENING = 1.0  # squared pixels, added to squared distances
FRAMES_PER_SECOND = 25
INHIBITION, FADING = 0.1, 0.9  # width of the inhibited place over the side, and what stays of it


class Attention(nn.Module):
    """Position and velocity of the attended point: a'' + friction a' = pull of two masses.

    One mass is the gradient of brightness, weakened where attention has been; the other is motion
    above its mean. A mass pulls with offset / (distance^2 + const), summed over the frame.

    Parameters
    ----------
    height, width
        Of a frame.
    details, motion
        Weights of the two masses.
    friction
        Damping of the velocity.

    Attributes
    ----------
    place, velocity
        Row and column, (2,) each, in pixels and pixels per frame.
    inhibited
        Where attention has been, (h, w).
    frames
        Number of frames so far.
    """

    place: Tensor
    velocity: Tensor
    inhibited: Tensor
    frames: Tensor

    def __init__(
        self, height: int, width: int, *, details: float, motion: float, friction: float
    ) -> None:
        super().__init__()
        self.details, self.motion, self.friction = details, motion, friction
        self.margin = min(5, (min(height, width) - 1) // 2)
        centre = torch.tensor([(height - 1) / 2, (width - 1) / 2])
        self.register_buffer("place", centre)
        self.register_buffer("velocity", torch.zeros(2))
        self.register_buffer("inhibited", torch.zeros(height, width))
        self.register_buffer("frames", torch.tensor(0))

    def reset(self) -> None:
        """Return to the centre, at rest."""
        height, width = self.inhibited.shape
        self.place.copy_(self.place.new_tensor([(height - 1) / 2, (width - 1) / 2]))
        self.velocity.zero_()
        self.inhibited.zero_()

    def pixel(self) -> tuple[int, int]:
        """Return row and column of the attended pixel."""
        row, column = self.place.round().long().tolist()
        return row, column

    @torch.no_grad()
    def move(self, gradient: Tensor, moving: Tensor) -> None:
        """Integrate the motion over one frame.

        Parameters
        ----------
        gradient
            Gradient norm of each pixel, (h, w).
        moving
            Amount of motion of each pixel, (h, w).
        """
        mass = self.details * _share(gradient * (1 - self.inhibited).clamp(min=0))
        mass = mass + self.motion * _share((moving - moving.mean()).clamp(min=0))
        height, width = mass.shape
        rows, columns = torch.arange(height).to(mass), torch.arange(width).to(mass)
        last = mass.new_tensor([height - 1 - self.margin, width - 1 - self.margin])
        for _ in range(SUBSTEPS):
            down, across = rows - self.place[0], columns - self.place[1]
            weight = mass / (down.square()[:, None] + across.square() + SOFTENING)
            pull = torch.stack([(weight.sum(1) * down).sum(), (weight.sum(0) * across).sum()])
            scale = height * width / 100  # masses are shares of one
            self.velocity += (scale * pull - self.friction * self.velocity) / SUBSTEPS
            ahead = self.place + self.velocity / SUBSTEPS
            inside = torch.minimum(ahead.clamp(min=self.margin), last)
            self.velocity.masked_fill_(inside != ahead, 0.0)
            self.place.copy_(inside)
        self._inhibit(rows, columns)

    def _inhibit(self, rows: Tensor, columns: Tensor) -> None:
        self.frames += 1
        if int(self.frames) % FRAMES_PER_SECOND:
            return
        spread = (INHIBITION * len(rows)) ** 2
        down, across = rows - self.place[0], columns - self.place[1]
        here = (-(down.square()[:, None] + across.square()) / (2 * spread)).exp()
        self.inhibited.copy_(FADING * self.inhibited + here)


def _share(mass: Tensor) -> Tensor:
    total = mass.sum()
    return mass / total if float(total) > 0 else mass
