from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from pytorch_metric_learning.losses import SupConLoss
from pytorch_metric_learning.reducers import MeanReducer

from scale.losses import contrastive_loss, dot_products, label_positives, twin_positives

from . import slow

LABELS = st.lists(st.sampled_from([-1, 0, 5, 2**40]), min_size=1, max_size=10)


@given(labels=LABELS)
def test_positives_are_all_other_views_of_the_class(labels):
    expected = [
        {j for j, other in enumerate(labels) if j != i and other == label}
        for i, label in enumerate(labels)
    ]
    assert slow.as_sets(label_positives(torch.tensor(labels))) == expected


def test_when_every_image_is_a_class_of_its_own_only_the_twin_is_left():
    assert torch.equal(label_positives(torch.arange(6).repeat(2)), twin_positives(6, 12))


def test_the_labels_are_left_as_they_were():
    labels = torch.tensor([3, 3, 4])
    label_positives(labels)
    assert labels.tolist() == [3, 3, 4]


@given(labels=LABELS, tau=st.floats(0.05, 2), seed=st.integers(0, 10**6))
def test_with_these_positives_the_loss_is_the_formula(labels, tau, seed):
    of_views = labels * 2
    z = slow.unit_views(len(of_views), 5, seed)
    positives = [
        {j for j in range(len(of_views)) if j != i and of_views[j] == of_views[i]}
        for i in range(len(of_views))
    ]
    loss = contrastive_loss(dot_products(z), label_positives(torch.tensor(of_views)), tau)
    assert float(loss) == pytest.approx(slow.contrastive(z.numpy(), positives, tau), rel=1e-9)


@given(labels=LABELS, tau=st.floats(0.05, 2), seed=st.integers(0, 10**6))
def test_with_these_positives_the_loss_is_that_of_pytorch_metric_learning(labels, tau, seed):
    assume(len(set(labels)) > 1)  # theirs is zero when there are no negatives
    of_views = torch.tensor(labels).repeat(2)
    z = slow.unit_views(len(of_views), 5, seed)
    loss = contrastive_loss(dot_products(z), label_positives(of_views), tau)
    theirs = SupConLoss(temperature=tau, reducer=MeanReducer())(z, of_views)
    torch.testing.assert_close(loss, theirs, rtol=1e-8, atol=1e-10)
