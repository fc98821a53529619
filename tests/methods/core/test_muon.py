"""Muon against a singular value decomposition, torch's own Muon and torch's Adam."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import scale
from scale.methods import ER
from scale.methods.core.muon import VECTOR_RATE, Muon, orthogonalised


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=30)
@given(rows=st.integers(1, 40), columns=st.integers(1, 60), seed=st.integers(0, 1000))
def test_the_result_is_close_to_orthogonal(rows, columns, seed):
    matrix = normal(rows, columns, seed=seed).double()
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    found = u.T @ orthogonalised(matrix) @ v.T  # (k, k), diagonal: singular vectors are kept
    torch.testing.assert_close(found, found.diagonal().diag(), atol=1e-8, rtol=0)
    large = s > 0.02 * s.norm()  # smaller ones need more iterations
    assert (found.diagonal()[large] > 0.6).all()
    assert (found.diagonal() < 1.25).all()


def test_the_gram_matrix_gives_what_the_iterations_on_the_matrix_give():
    matrix = normal(24, 90)
    x = matrix.double() / matrix.double().norm()
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    torch.testing.assert_close(orthogonalised(matrix).double(), x, atol=1e-4, rtol=0)


@pytest.mark.parametrize("columns", [24, 90])
def test_bf16_gives_about_what_fp32_gives(columns):
    matrix = normal(24, columns) @ torch.logspace(0, -2, columns).diag()
    coarse, fine = orthogonalised(matrix, torch.bfloat16), orthogonalised(matrix)
    assert coarse.dtype == torch.float32
    assert (coarse - fine).norm() < 0.1 * fine.norm()


def test_no_gradient_gives_no_step():
    assert orthogonalised(torch.zeros(3, 5)).abs().max() == 0


def test_matrices_follow_torchs_muon():
    ours = normal(16, 40).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    optimizers = (
        Muon([ours], lr=0.02, momentum=0.9, weight_decay=0.1),
        torch.optim.Muon([theirs], lr=0.02, momentum=0.9, weight_decay=0.1),
    )
    for step in range(4):
        for weight, optimizer in zip((ours, theirs), optimizers, strict=True):
            weight.grad = normal(16, 40, seed=step + 1)
            optimizer.step()
    moved = ours - normal(16, 40)
    assert (ours - theirs).norm() < 0.03 * moved.norm()  # theirs iterates in bf16


def test_vectors_follow_torchs_adam():
    ours, theirs = normal(7).requires_grad_(), normal(7).requires_grad_()
    optimizers = Muon([ours], lr=0.3), torch.optim.Adam([theirs], lr=0.3 * VECTOR_RATE)
    for step in range(5):
        for vector, optimizer in zip((ours, theirs), optimizers, strict=True):
            vector.grad = normal(7, seed=step + 1)
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_a_convolution_is_a_matrix_with_a_row_for_each_channel():
    kernel = normal(8, 3, 2, 2).requires_grad_()
    matrix = kernel.detach().flatten(1).clone().requires_grad_()
    kernel.grad = normal(8, 3, 2, 2, seed=1)
    matrix.grad = kernel.grad.flatten(1)
    for weight in (kernel, matrix):
        Muon([weight], lr=0.1).step()
    torch.testing.assert_close(kernel.flatten(1), matrix)


def test_columns_without_a_gradient_change_nothing_and_stay():
    grads = [normal(8, 4, seed=step) for step in range(3)]
    whole, centre = normal(8, 4, 3, 3).requires_grad_(), normal(8, 4).requires_grad_()
    start = whole.detach().clone(), centre.detach().clone()
    optimizers = Muon([whole], lr=0.1), Muon([centre], lr=0.1)
    for grad in grads:
        whole.grad, centre.grad = torch.zeros_like(whole), grad
        whole.grad[:, :, 1, 1] = grad
        for optimizer, weight in zip(optimizers, (whole, centre), strict=True):
            rows, columns = weight.flatten(1).shape
            optimizer.param_groups[0]["lr"] = 0.1 / max(1.0, rows / columns) ** 0.5
            optimizer.step()
    moved, alone = whole.detach() - start[0], centre.detach() - start[1]
    torch.testing.assert_close(moved[:, :, 1, 1], alone)
    moved[:, :, 1, 1] = 0
    assert moved.abs().max() == 0


@pytest.mark.parametrize("batches", [1, 3])
def test_a_saved_learner_goes_on_exactly(tmp_path, batches):
    images = np.random.default_rng(0).integers(0, 256, (4, 16, 1, 28, 28), dtype=np.uint8)
    params = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 2, "optimizer": "muon"}
    learner = ER(**params)
    for batch in images[:batches]:
        learner.partial_fit(batch)
    learner.save(tmp_path / "er.safetensors")
    again = scale.load(tmp_path / "er.safetensors")
    for one in (learner, again):
        one.partial_fit(images[3])
    np.testing.assert_array_equal(learner.transform(images[0]), again.transform(images[0]))
