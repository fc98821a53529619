"""What two processes compute together, compared with one; torchrun runs it for test_group.py."""

from __future__ import annotations

import copy
import json

import torch
import torch.distributed as dist
from torch import Tensor, nn

from scale.data import load_dataset
from scale.methods import METHODS
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.group import Group, gather_rows, make_group
from scale.models import build_encoder


def of_gradients(name: str, shape: tuple[int, int, int]) -> dict[str, float]:
    """Return the largest differences of one pass over an odd number of images, in float64."""
    encoder = build_encoder(name, shape, torch.Generator().manual_seed(0))[0].double().train()
    alone = copy.deepcopy(encoder)
    rng = torch.Generator().manual_seed(1)
    x = torch.rand(9, *shape, generator=rng, dtype=torch.float64)
    weight = torch.rand(9, 9, generator=rng, dtype=torch.float64)

    def backward(h: Tensor) -> None:
        h = nn.functional.normalize(h)
        (h @ h.T * weight).sum().backward()  # every row meets every other

    backward(alone(x))
    backward(Group().encode(encoder, x))
    pairs = list(zip(alone.parameters(), encoder.parameters(), strict=True))
    buffers = zip(alone.buffers(), encoder.buffers(), strict=True)
    return {
        "gradients": max(float((a.grad - b.grad).abs().max()) for a, b in pairs),
        "statistics": max(float((a - b).abs().max()) for a, b in buffers),
    }


class Permuted:
    """Encodes the views in another order: the same result up to rounding, in one process."""

    def __init__(self, learner: ContrastiveLearner) -> None:
        self.encode = learner.encode_views

    def __call__(self, views: Tensor) -> Tensor:
        order = torch.randperm(len(views), generator=torch.Generator().manual_seed(0))
        return self.encode(views[order])[order.argsort()]


def of_learner(method: str, precision: str = "fp32") -> dict[str, float]:
    """Return how far three batches lead learners apart: two processes, and permuted views."""
    images = load_dataset("digits").images
    learners = [
        METHODS[method](
            encoder="cnn", augmentation="digits", steps_per_batch=1, precision=precision
        )
        for _ in range(3)
    ]
    for learner in learners:
        learner.start(images.shape[1:])
    _, permuted, together = learners
    permuted.encode_views = Permuted(permuted)
    together.join(Group())
    for at in range(0, 96, 32):
        for learner in learners:
            learner.partial_fit(images[at : at + 32])
    weights = [
        torch.cat([p.detach().flatten() for p in one.encoder_.parameters()]) for one in learners
    ]
    both = gather_rows(weights[2][None], [1, 1])
    return {
        "together": float((weights[2] - weights[0]).abs().max()),
        "permuted": float((weights[1] - weights[0]).abs().max()),
        "between processes": float((both[0] - both[1]).abs().max()),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_group("gloo")
    found = {
        "cnn": of_gradients("cnn", (1, 28, 28)),
        "resnet18": of_gradients("resnet18", (3, 32, 32)),
        **{method: of_learner(method) for method in ("scale", "scale-plus", "si", "cassle")},
        "er in bf16": of_learner("er", "bf16"),
    }
    if dist.get_rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()
