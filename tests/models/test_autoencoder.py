"""Trunks and decoders without BatchNorm: what their first weights do to a signal."""

from __future__ import annotations

import pytest
import torch

from scale.models import build_decoder, build_trunk, default_rng


@pytest.mark.parametrize("units", [(), (64, 64)])
def test_untrained_networks_pass_differences_between_images_and_between_codes_on(units):
    rng = torch.Generator().manual_seed(0)
    images, codes = torch.rand(64, 3, 32, 32, generator=rng), torch.randn(64, 8, generator=rng)
    with default_rng(rng), torch.no_grad():
        hidden = build_trunk((3, 32, 32), 8, units)(images)
        logits = build_decoder(8, (3, 32, 32), 8, units)(codes)
    # Through five layers of torch's own weights, 0.002 and 0.0004 would be left.
    assert 0.02 < float(hidden.std(0).mean() / images.std(0).mean()) < 2
    assert 0.02 < float(logits.std(0).mean()) < 2
