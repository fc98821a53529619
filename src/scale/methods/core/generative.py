"""A variational autoencoder on the stream: what the generative methods share."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from scale._images import resized
from scale.augment import resize
from scale.losses.gaussian import standard_kl
from scale.losses.likelihood import bernoulli_nll
from scale.methods.core.checks import Count, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.core.updates import averaged, descend
from scale.models import ImageShape, build_decoder, build_trunk, default_rng, network_bytes
from scale.models.autoencoder import ConvTrunk, MLPTrunk, gaussian_noise

Losses = dict[str, Tensor]


@dataclass(kw_only=True)
class GenerativeLearner(Learner):
    """An encoder to Gaussian codes and a decoder to pixels, trained by Adam on the images.

    There are no random views and no BatchNorm. As it stands it is a plain VAE. A method changes
    `modules`, `before_batch`, `update` or `objective`.

    Attributes
    ----------
    model_
        The modules by name: ``trunk`` from images to hidden units h, ``head`` from h to mean and
        log variance of the codes z, ``decoder`` from z to logits of pixels.
    optimizer_
        Adam on all of `model_`.
    shape_
        Channels, height and width of the images that it learns from.
    """

    latents: Count = 32
    """Dimension of the codes, which are the features."""
    width: Count = 64
    """Channels of the first convolution. Lower it to save time."""
    encoder_units: list[Count] = field(default_factory=list)
    """Units of each layer of a fully connected encoder; none gives a convolutional one."""
    decoder_units: list[Count] = field(default_factory=list)
    """Units of each layer of a fully connected decoder; none gives a convolutional one."""
    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""
    binarize: bool = False
    """Round pixels to 0 or 1; published results on MNIST do so."""
    steps_per_batch: Count = 20
    """Updates for each stream batch. Lower it when images arrive faster than they are learned."""
    lr: Weight = 1e-3
    """Learning rate of Adam. Lower it if the loss becomes NaN."""

    def costs(self) -> Costs:
        return Costs(backwards=self.steps_per_batch)

    def setup(self, image_shape: ImageShape) -> None:
        self.shape_ = resized(image_shape, self.image_side)
        self._check_sizes()
        weights, self._noise_rng, self._dream_rng = generators(self.seed, 3)
        with default_rng(weights):
            modules = nn.ModuleDict(self.modules())
        self.model_ = modules.to(self.device)
        self.optimizer_ = self.make_optimizer()

    def _check_sizes(self) -> None:
        for name in ("encoder_units", "decoder_units"):
            units = getattr(self, name)
            check_memory(self, name if units else "width", self._bytes_of(units))
        hidden = max([4 * self.width, *self.encoder_units[-1:]])
        check_memory(self, "latents", 16 * 2 * hidden * self.latents)

    def _bytes_of(self, units: list[int]) -> int:
        return network_bytes(self.shape_, self.width, units)

    def modules(self) -> dict[str, nn.Module]:
        """Return the modules that learn, by name."""
        trunk = self.make_trunk()
        return {
            "trunk": trunk,
            "head": nn.Linear(trunk.output_dim, 2 * self.latents),
            "decoder": self.make_decoder(self.latents),
        }

    def make_trunk(self) -> ConvTrunk | MLPTrunk:
        """Return an encoder without its last layer."""
        return build_trunk(self.shape_, self.width, self.encoder_units)

    def make_decoder(self, in_dim: int) -> nn.Module:
        """Return a decoder of codes of this dimension."""
        return build_decoder(in_dim, self.shape_, self.width, self.decoder_units)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the model."""
        return torch.optim.Adam(self.model_.parameters(), lr=self.lr)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        images = self.pixels(batch)
        self.before_batch(images)
        losses = [one for _ in range(self.steps_per_batch) for one in self.update(images)]
        self.diagnostics_ = {**averaged(losses), **self.counts()}

    def before_batch(self, images: Tensor) -> None:
        """Prepare for a batch, before its first update; nothing here."""

    def update(self, images: Tensor) -> list[Losses]:
        """Make the updates of one step; return the losses of each."""
        losses = self.objective(images)
        descend(self, self.optimizer_, losses["loss"])
        return [losses]

    def objective(self, images: Tensor) -> Losses:
        """Return the losses of images, (n, c, h, w) in [0, 1]: minus the ELBO, and its terms."""
        mean, log_var = self.posterior(images)
        z = self.sample(mean, log_var)
        reconstruction = bernoulli_nll(self.model_["decoder"](z), images).mean()
        kl = standard_kl(mean, log_var).mean()
        return {"loss": reconstruction + kl, "reconstruction": reconstruction, "kl": kl}

    def counts(self) -> dict[str, float]:
        """Return what grows, for `diagnostics_`."""
        return {}

    def posterior(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log variance of q(z|x), (n, latents) each."""
        mean, log_var = self.model_["head"](self.model_["trunk"](images)).chunk(2, dim=1)
        return mean, log_var

    def sample(self, mean: Tensor, log_var: Tensor) -> Tensor:
        """Draw a code from each posterior, differentiably."""
        return mean + (log_var / 2).exp() * self.noise(*mean.shape)

    def noise(self, *shape: int) -> Tensor:
        """Draw standard normal numbers."""
        return gaussian_noise(shape, next(self.model_.parameters()), self._noise_rng)

    def pixels(self, batch: Tensor) -> Tensor:
        """Return checked uint8 images as the model sees them, in [0, 1]."""
        pixels = resize(batch.to(self.device), self.image_side)
        return pixels.round() if self.binarize else pixels

    def embed(self, batch: Tensor) -> Tensor:
        return self.posterior(self.pixels(batch))[0]

    def parts(self) -> dict[str, Part]:
        return {
            "model": self.model_,
            "optimizer": self.optimizer_,
            "noise_rng": self._noise_rng,
            "dream_rng": self._dream_rng,
        }
