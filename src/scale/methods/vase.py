"""VASE: latents for each environment, environments found by itself, and dreams of the past."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._numbers import Range
from scale.losses.gaussian import gaussian_kl, standard_kl, wasserstein2
from scale.losses.likelihood import bernoulli_kl, bernoulli_nll, pixel_entropy
from scale.methods.core.checks import Amount, Count, Fraction, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.generative import GenerativeLearner, Losses
from scale.methods.core.registry import register_method
from scale.methods.core.snapshot import Snapshot
from scale.methods.core.state import Part
from scale.methods.core.updates import descend
from scale.models import ImageShape
from scale.models.autoencoder import gaussian_noise

FEW = 32  # images in a batch below which its mask is not trusted
USED_STD = 0.5  # mean posterior deviation below which a latent is in use; the prior's is 1
LOSS_MEMORY = 0.9  # of the running mean loss of an environment
PIXELS = 64 * 64  # of the paper's images, for which gamma is given


class Environments(nn.Module):
    """What is known of each environment; the first `known` are open.

    Attributes
    ----------
    known, present
        Number of open environments, and the one of the last batch.
    losses
        Running mean reconstruction loss of each, (most,); NaN for none yet.
    masks
        Active latents of each, (most, latents).
    mask
        Active latents of the last batch, (latents,).
    updates
        Number of updates so far.
    """

    known: Tensor
    present: Tensor
    losses: Tensor
    masks: Tensor
    mask: Tensor
    updates: Tensor

    def __init__(self, most: int, latents: int) -> None:
        super().__init__()
        self.register_buffer("known", torch.tensor(1))
        self.register_buffer("present", torch.tensor(0))
        self.register_buffer("losses", torch.full((most,), torch.nan))
        self.register_buffer("masks", torch.ones(most, latents, dtype=torch.bool))
        self.register_buffer("mask", torch.ones(latents, dtype=torch.bool))
        self.register_buffer("updates", torch.tensor(0))

    @property
    def full(self) -> bool:
        """Whether the maximum is open."""
        return int(self.known) == len(self.losses)

    def open(self) -> None:
        """Open an environment and enter it; at the maximum, enter the last one."""
        if not self.full:
            self.known += 1
        self.present.copy_(self.known - 1)

    def enter(self, environment: int, loss: float) -> None:
        """Store loss and mask of a batch of this environment."""
        self.present.fill_(environment)
        self.masks[environment] = self.mask
        before = self.losses[environment]
        mixed = LOSS_MEMORY * before + (1 - LOSS_MEMORY) * loss
        self.losses[environment] = loss if bool(before.isnan()) else mixed


@register_method("vase")
@dataclass(kw_only=True)
class VASE(GenerativeLearner):
    """A VAE that gives each environment it infers its own latents, and dreams of earlier ones.

    The decoder sees the environment s. A latent whose values in a batch do not look like the prior
    is masked: it carries nothing, costs nothing and gets no gradient. Before the updates of a
    batch, a classifier on the encoder's hidden units says which environment it is. If that one
    reconstructs the batch badly or has another mask, a new one is opened. The KL term is driven to
    a capacity C that grows. Old networks, copied now and then, dream of other environments; the
    new ones have to encode and decode these dreams alike. Features are all posterior means,
    without masks: masks belong to batches.

    No code was released. The three losses, the mask and the inference are from notes of a
    re-implementation, whose author calls it improper; gamma, lambda and kappa too. Not found: the
    schedule of C, the two thresholds against flicker, and the limit of a used latent. Ours: C's
    schedule; hysteresis of the mask; a latent is used if its posterior deviation is below 0.5
    instead of an optimisation of noise; losses are compared after subtracting the pixels'
    entropy; dreams are the old decoder's means; gamma is scaled by the number of pixels.
    Imagination-driven exploration is left out, because it needs a world to act in.

    Attributes
    ----------
    environments_
        What is known of each environment.
    snapshot_
        The old networks.
    diagnostics_
        Losses, the number of ``environments``, the ``active`` latents.

    References
    ----------
    Achille, Eccles, Matthey, Burgess, Watters, Lerchner and Higgins (2018), Life-Long Disentangled
    Representation Learning with Cross-Domain Latent Homologies, NeurIPS.
    """

    latents: Count = 24
    """Dimension of the codes, which are the features."""
    lr: Weight = 6e-4
    """Learning rate of Adam. Lower it if the loss becomes NaN."""
    gamma: Weight = 100.0
    """Weight of the KL term's distance from C, for 64 x 64 pixels; scaled by their number."""
    capacity: Weight = 25.0
    """Largest C, in nats."""
    capacity_updates: Count = 1000
    """Updates after which C has grown to `capacity`."""
    distance: Literal["squared", "absolute"] = "squared"
    """Form of that distance; absolute with capacity 0 is a beta-VAE."""
    mask_limit: Weight = 0.6
    """KL from the prior above which a latent is masked (the paper's lambda)."""
    hysteresis: Fraction = 0.1
    """Part of mask_limit below and above it within which a latent stays as it was."""
    kappa: Weight = 1.5
    """Factor over an environment's mean loss above which a batch belongs to another."""
    compare_masks: bool = True
    """Open an environment also when the mask of used latents differs."""
    max_environments: Count = 16
    """Maximum number of environments."""
    burn_in: Amount = 200
    """Updates before which no environment is opened."""
    past_weight: Weight = 1.0
    """Weight of the loss on dreams; 0 turns dreams off."""
    snapshot_updates: Annotated[int, Range(least=1)] = 200
    """Updates between two copies of the old networks (the paper's tau)."""

    def costs(self) -> Costs:
        memory = "a past model" if self.past_weight > 0 else "none"
        return replace(super().costs(), memory=memory)

    def setup(self, image_shape: ImageShape) -> None:
        needed = 16 * (4 * self.width + self.latents) * self.max_environments
        check_memory(self, "max_environments", needed)
        super().setup(image_shape)
        self.environments_ = Environments(self.max_environments, self.latents).to(self.device)
        names = ("trunk", "head", "decoder")
        past = {name: self.model_[name] for name in names}
        self.snapshot_ = Snapshot(**past, environments=self.environments_).to(self.device)

    def modules(self) -> dict[str, nn.Module]:
        trunk = self.make_trunk()
        hidden = trunk.output_dim
        return {
            "trunk": trunk,
            "head": nn.Linear(hidden, 2 * self.latents),
            "decoder": self.make_decoder(self.latents + self.max_environments),
            "classifier": nn.Linear(hidden, self.max_environments),
        }

    @torch.no_grad()
    def before_batch(self, images: Tensor) -> None:
        found, h = self.environments_, self.model_["trunk"](images)
        mean, log_var = self.model_["head"](h).chunk(2, dim=1)
        z = self.sample(mean, log_var)
        if len(images) >= FEW:
            found.mask.copy_(self.new_mask(z))
        s = int(self._environment_logits(h).softmax(1).mean(0).argmax())
        loss = self._excess(z, s, images)
        used = (log_var / 2).exp().mean(0) < USED_STD  # (latents,)
        if int(found.updates) >= self.burn_in and self._is_new(s, loss, used):
            if self.past_weight > 0 and not found.full:
                self.snapshot_.take()
            found.open()
            s = int(found.present)
            loss = self._excess(z, s, images)
        found.enter(s, loss)

    def new_mask(self, z: Tensor) -> Tensor:
        """Return which latents look like the prior on this batch, (latents,), from codes."""
        mean, var = z.mean(0), z.var(0, unbiased=False).clamp(min=1e-12)
        zero, one = torch.zeros_like(mean), torch.ones_like(mean)
        alpha = gaussian_kl(*(v[:, None] for v in (mean, var, zero, one)))  # (latents,)
        low, high = (self.mask_limit * (1 + sign * self.hysteresis) for sign in (-1, 1))
        return (alpha < low) | (self.environments_.mask & (alpha < high))

    def _is_new(self, s: int, loss: float, used: Tensor) -> bool:
        found = self.environments_
        if loss > self.kappa * float(found.losses[s]):
            return True
        differ = (found.mask != found.masks[s]) & used
        return self.compare_masks and bool(differ.any())

    def _excess(self, z: Tensor, s: int, images: Tensor) -> float:
        """Return the mean reconstruction loss under an environment, above the pixels' entropy."""
        masked = torch.where(self.environments_.mask, z, self.noise(*z.shape))
        nll = bernoulli_nll(self._decode(self.model_["decoder"], masked, s), images)
        return float((nll - pixel_entropy(images)).mean())

    def _environment_logits(self, h: Tensor) -> Tensor:
        """Return the classifier's logits over open environments, (n, known); h gets no gradient."""
        logits: Tensor = self.model_["classifier"](h.detach())
        return logits[:, : int(self.environments_.known)]

    def _decode(self, decoder: object, z: Tensor, s: int | Tensor) -> Tensor:
        index = torch.as_tensor(s, device=z.device).expand(len(z))
        hot = F.one_hot(index, self.max_environments).to(z)
        assert isinstance(decoder, nn.Module)
        logits: Tensor = decoder(torch.cat([z, hot], dim=1))
        return logits

    def update(self, images: Tensor) -> list[Losses]:
        losses = self.objective(images)
        losses |= self.past(images) if self.past_weight > 0 else {}
        total = sum(losses.values(), torch.zeros((), device=images.device))
        descend(self, self.optimizer_, total)
        found = self.environments_
        found.updates += 1
        if self.past_weight > 0 and int(found.updates) % self.snapshot_updates == 0:
            self.snapshot_.take()
        return [{"loss": total, **losses}]

    def objective(self, images: Tensor) -> Losses:
        """Return reconstruction, weighted capacity term and the classifier's loss on the stream."""
        h = self.model_["trunk"](images)
        mean, log_var = self.model_["head"](h).chunk(2, dim=1)
        mask = self.environments_.mask
        # A masked latent has the prior as its posterior: a draw of it is pure noise.
        mean, log_var = mean.where(mask, 0.0), log_var.where(mask, 0.0)
        s = self.environments_.present
        logits = self._decode(self.model_["decoder"], self.sample(mean, log_var), s)
        beyond = standard_kl(mean, log_var).mean() - self.wanted_capacity()
        beyond = beyond.square() if self.distance == "squared" else beyond.abs()
        gamma = self.gamma * images[0].numel() / PIXELS
        return {
            "reconstruction": bernoulli_nll(logits, images).mean(),
            "capacity": gamma * beyond,
            "environment": F.cross_entropy(self._environment_logits(h), s.expand(len(h))),
        }

    def wanted_capacity(self) -> float:
        """Return C."""
        share = int(self.environments_.updates) / self.capacity_updates
        return self.capacity * min(1.0, share)

    def past(self, images: Tensor) -> Losses:
        """Return the losses on dreams of other environments; none if no other is known."""
        dreams = self.dream(len(images))
        if dreams is None:
            return {}
        x, z, s, old_logits = dreams
        h = self.model_["trunk"](x)
        mean, log_var = self.model_["head"](h).chunk(2, dim=1)
        with torch.no_grad():
            old = self.snapshot_.head(self.snapshot_.trunk(x))  # type: ignore[operator]
            old_mean, old_log_var = old.chunk(2, dim=1)
        encoder = wasserstein2(mean, (log_var / 2).exp(), old_mean, (old_log_var / 2).exp()).mean()
        decoder = bernoulli_kl(old_logits, self._decode(self.model_["decoder"], z, s)).mean()
        return {
            "past_encoder": self.past_weight * encoder,
            "past_decoder": self.past_weight * decoder,
            "past_environment": F.cross_entropy(self._environment_logits(h), s),
        }

    @torch.no_grad()
    def dream(self, m: int) -> tuple[Tensor, Tensor, Tensor, Tensor] | None:
        """Return the old decoder's images, their codes, environments and logits; None if none."""
        known = self.snapshot_.environments.known  # type: ignore[union-attr]
        others = torch.arange(int(known))  # type: ignore[arg-type]
        others = others[others != int(self.environments_.present)]
        if not self.snapshot_ or len(others) == 0:
            return None
        s = others[torch.randint(len(others), (m,), generator=self._dream_rng)].to(self.device)
        z = gaussian_noise((m, self.latents), s, self._dream_rng)
        logits = self._decode(self.snapshot_.decoder, z, s)
        return torch.sigmoid(logits), z, s, logits

    def counts(self) -> dict[str, float]:
        found = self.environments_
        return {"environments": int(found.known), "active": int(found.mask.sum())}

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "environments": self.environments_,
            "snapshot": self.snapshot_,
        }
