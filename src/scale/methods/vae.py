"""A variational autoencoder, with nothing against forgetting."""

from __future__ import annotations

from dataclasses import dataclass

from scale.methods.core.generative import GenerativeLearner
from scale.methods.core.registry import register_method


@register_method("vae")
@dataclass(kw_only=True)
class VAE(GenerativeLearner):
    """Posterior means of a variational autoencoder trained on the stream alone.

    It is the floor of the generative methods `curl`, `vase` and `lvaegan`. Pixels in [0, 1] are
    Bernoulli probabilities.

    References
    ----------
    Kingma and Welling (2014), Auto-Encoding Variational Bayes, ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 16, 16), dtype=np.uint8)
    >>> vae = VAE(width=4, latents=8, steps_per_batch=1).partial_fit(images)
    >>> vae.transform(images).shape
    (5, 8)
    """
