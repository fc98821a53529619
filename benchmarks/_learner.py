"""The learner that is measured, and the straightforward one that it is compared with."""

from __future__ import annotations

import types
from typing import Literal

import torch
from torch import Tensor, nn

from scale.losses import (
    contrastive_loss,
    dot_products,
    forgetting_loss,
    pseudo_positives,
    symmetric_sne,
    twin_positives,
)
from scale.methods import SCALE
from scale.models._conv import Conv3x3, Shortcut1x1


def images(count: int, seed: int = 0, side: int = 32) -> Tensor:
    """Return images of noise, (count, 3, side, side)."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, 3, side, side), dtype=torch.uint8, generator=generator)


def started(quick: bool = False, views: Literal["once", "anew"] = "anew") -> SCALE:
    """Return a learner in its steady state: full memory, momentum, frozen past."""
    n, size = (8, 16) if quick else (128, 1280)
    learner = SCALE(memory_size=size, memory_batch=n, views=views, steps_per_batch=1)
    learner.start((3, 32, 32))
    learner.memory_.update(images(size))
    learner.past_.freeze()
    update(learner, learner.draw_views(images(n, seed=1)))
    return learner


def update(learner: SCALE, stream_views: Tensor) -> None:
    """Make one update, like `SCALE.learn`."""
    memory_views = learner.draw_views(learner.memory_.sample(learner.memory_batch))
    learner.step(learner.losses(stream_views, memory_views))


def naive_update(learner: SCALE, stream_views: Tensor) -> None:
    """Make an update in the straightforward way.

    Stream and memory go through the encoder separately. Each loss computes its own dot products.
    The past model embeds the stream at every update. Views and optimiser are the same.
    Call `plain_convolutions` on the learner's models first.
    """
    memory_views = learner.draw_views(learner.memory_.sample(learner.memory_batch))
    n, both = len(stream_views) // 2, (stream_views, memory_views)
    z = torch.cat([learner.projector_(learner.encoder_(views)) for views in both])
    p = symmetric_sne(dot_products(z.detach()), learner.kappa)
    positives = pseudo_positives(p, n, learner.mu)
    of_memory = twin_positives(len(memory_views) // 2, len(z), first=2 * n)
    contrastive = contrastive_loss(dot_products(z), torch.cat([positives, of_memory]), learner.tau)
    with torch.no_grad():
        z_past = torch.cat([learner.past_.model(views) for views in both])
    forgetting = forgetting_loss(
        symmetric_sne(dot_products(z), learner.kappa),
        symmetric_sne(dot_products(z_past), learner.kappa),
    )
    learner.step({"loss": contrastive + learner.lam * forgetting})


def plain_convolutions(model: nn.Module) -> nn.Module:
    """Make every convolution of ours compute like `nn.Conv2d`; return the model."""
    for module in model.modules():
        if isinstance(module, Conv3x3 | Shortcut1x1):
            module.forward = types.MethodType(nn.Conv2d.forward, module)  # type: ignore[method-assign]
    return model


def multiply_adds(encoder: nn.Module, image: Tensor) -> int:
    """Return the multiply-adds of direct convolutions of one image, (1, c, h, w), no padding."""
    total = 0

    def count(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        assert isinstance(module, nn.Conv2d)
        taps = 1
        for side, kernel, stride in zip(
            inputs[0].shape[2:], module.kernel_size, module.stride, strict=True
        ):
            starts = range(-(kernel // 2), side - kernel // 2, stride)
            taps *= sum(min(start + kernel, side) - max(start, 0) for start in starts)
        total += taps * module.in_channels * module.out_channels

    hooks = [m.register_forward_hook(count) for m in encoder.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        encoder.eval()(image)
    encoder.train()
    for hook in hooks:
        hook.remove()
    return total
