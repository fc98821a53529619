"""The gate of losses: every public function refuses tensors and counts that do not fit."""

import inspect
from typing import Any

import pytest
import torch

import scale.losses
from scale._errors import InputError
from scale.losses._gate import check_tensors

UNGATED = {
    *("queue_contrast", "similarity_distillation"),  # a queue may be empty
    *("bernoulli_kl", "bernoulli_nll", "contrast", "gaussian_kl", "gradient_penalty"),
    *("pixel_entropy", "spatial_coherence", "standard_kl", "temporal_coherence", "wasserstein2"),
}
"""Formulas for tensors of any shapes, also empty ones: torch refuses what does not broadcast."""
FUNCTIONS = [name for name in scale.losses.__all__ if name not in {"Direction", *UNGATED}]
ALIKE = torch.full((8, 8), 1 / 64)
VALID: dict[str, Any] = {
    **dict.fromkeys(("z", "h", "aligned", "targets", "predicted", "past"), torch.eye(8)),
    **dict.fromkeys(("queries", "keys", "queue"), torch.eye(8)),
    **dict.fromkeys(("first", "second", "directions"), torch.eye(8)),
    **dict.fromkeys(("dots", "past_dots", "teacher_dots", "p", "p_past"), ALIKE),
    **dict.fromkeys(("tau", "kappa", "kappa_past", "kappa_teacher", "eps", "mu", "lam"), 0.3),
    "positives": torch.eye(8).roll(4, 0).bool(),
    "labels": torch.arange(8) % 3,
    "n": 2,
    "m": 2,
    "views": 8,
}
WRONG_TENSORS = [
    torch.ones(8),
    torch.ones(7, 8),
    torch.ones(2, 2, 2),
    torch.ones(()),
    torch.ones(0, 8),
    torch.ones(8, 0),
    torch.ones(8, 8, dtype=torch.complex64),
    torch.ones(8, 8, dtype=torch.int32),
    torch.eye(8).to_sparse(),
    torch.empty(8, 8, device="meta"),
    "dots",
    None,
]


def valid(name: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(scale.losses, name)).parameters.values()
    return {one.name: VALID[one.name] for one in parameters if one.default is one.empty}


def arguments(kind: type) -> list[Any]:
    found = [(name, arg) for name in FUNCTIONS for arg in valid(name)]
    return [
        pytest.param(*one, id=":".join(one)) for one in found if isinstance(VALID[one[1]], kind)
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_fits_is_taken(name: str) -> None:
    found = getattr(scale.losses, name)(**valid(name))
    terms = found if isinstance(found, tuple) else (found,)
    assert not any(term.isnan().any() for term in terms)


@pytest.mark.parametrize(("name", "argument"), arguments(torch.Tensor))
def test_a_tensor_that_does_not_fit_is_named(name: str, argument: str) -> None:
    taken = (7, 8) if VALID[argument].is_floating_point() else None
    for wrong in WRONG_TENSORS:
        alone = argument in ("z", "queue") and getattr(wrong, "shape", None) == taken
        if alone:  # any number of views or keys is right
            continue
        with pytest.raises(InputError, match=argument):
            getattr(scale.losses, name)(**{**valid(name), argument: wrong})


@pytest.mark.parametrize(("name", "argument"), arguments(int))
@pytest.mark.parametrize("wrong", [-1, 2.5, 10**7, 10**10, "2", None, True])
def test_a_count_that_does_not_fit_is_refused(name: str, argument: str, wrong: object) -> None:
    if (argument, wrong) == ("views", 10**7) or (name == "twins" and wrong == 10**7):
        return  # large, but it can be had
    with pytest.raises(InputError):
        getattr(scale.losses, name)(**{**valid(name), argument: wrong})


def test_tensors_of_one_call_have_one_dtype_except_under_autocast() -> None:
    a, b = torch.eye(4), torch.eye(4, dtype=torch.bfloat16)
    with pytest.raises(InputError, match=r"past and predicted must have one dtype"):
        scale.losses.contrastive_distillation(a, b, 0.1)
    with torch.autocast("cpu"):
        check_tensors("views dim", predicted=a, past=b)
