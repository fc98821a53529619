"""CURL: a mixture VAE that opens components for what it models badly, and dreams of its past."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._numbers import Range
from scale.losses.gaussian import gaussian_kl
from scale.losses.likelihood import bernoulli_nll, pixel_entropy
from scale.methods.core.checks import Amount, Count, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.generative import GenerativeLearner, Losses
from scale.methods.core.novelty import Novelty
from scale.methods.core.registry import register_method
from scale.methods.core.ring import Ring
from scale.methods.core.snapshot import Snapshot
from scale.methods.core.state import Part
from scale.methods.core.updates import descend
from scale.models import ImageShape
from scale.models.autoencoder import gaussian_noise

ROUNDS = 10  # updates of a new component on the images that opened it
UNIT = math.log(math.e - 1)  # softplus(UNIT) = 1


class Components(nn.Module):
    """The mixture: q(y|x), q(z|x,y) and p(z|y) for every slot; only the first K are active.

    Attributes
    ----------
    active
        K.
    counts
        Posterior mass of each component over all stream images, (slots,).
    """

    active: Tensor
    counts: Tensor

    def __init__(self, hidden: int, latents: int, slots: int) -> None:
        super().__init__()
        self.latents = latents
        self.logits = nn.Linear(hidden, slots)
        self.codes = nn.Linear(hidden, slots * 2 * latents)
        self.prior_mean = nn.Parameter(torch.zeros(slots, latents))
        self.prior_raw = nn.Parameter(torch.full((slots, latents), UNIT))
        self.register_buffer("active", torch.tensor(1))
        self.register_buffer("counts", torch.zeros(slots))

    def log_q_y(self, h: Tensor) -> Tensor:
        """Return log q(y|x) over the active components, (n, K)."""
        k = int(self.active)
        return F.linear(h, self.logits.weight[:k], self.logits.bias[:k]).log_softmax(1)

    def q_z(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance of q(z|x,y) for the active components, (n, K, latents)."""
        rows = int(self.active) * 2 * self.latents
        out = F.linear(h, self.codes.weight[:rows], self.codes.bias[:rows])
        mean, raw = out.view(len(h), -1, 2, self.latents).unbind(2)
        return mean, F.softplus(raw)

    def prior(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance of p(z|y) for the active components, (K, latents)."""
        k = int(self.active)
        return self.prior_mean[:k], F.softplus(self.prior_raw[:k])

    @torch.no_grad()
    def copy(self, source: int) -> int:
        """Activate the next slot as a copy of a component; return its index."""
        new, rows = int(self.active), 2 * self.latents
        for tensor in (self.logits.weight, self.logits.bias, self.prior_mean, self.prior_raw):
            tensor[new] = tensor[source]
        for tensor in (self.codes.weight, self.codes.bias):
            tensor[new * rows : (new + 1) * rows] = tensor[source * rows : (source + 1) * rows]
        self.active += 1
        return new


@register_method("curl")
@dataclass(kw_only=True)
class CURL(GenerativeLearner):
    """A VAE with a mixture prior; badly modelled images open components; replay is generated.

    The ELBO sums over all components, with one code drawn for each. Images whose ELBO is poor are
    collected. When there are enough, the component that explains them best is copied to a new
    slot, and the copy is fitted to them. A snapshot of decoder, priors and component counts is
    taken before that. From then on, an update on images that the snapshot generates follows each
    update on the stream. Features are the mean of q(z|x,y) for the likeliest y.

    Read in the released code: model, losses, expansion and replay. The released default takes its
    snapshots at the class changes; this is its other mode, which knows no boundary. Ours: novelty
    is judged once per stream batch, before its first update, and relative to recent images,
    because nats do not carry over to other image sizes. An image's score is the ELBO minus the
    best one that grey pixels allow. Priors have a bias of their own. The snapshot generates afresh
    instead of storing images. The published runs make 100000 updates on many passes. Result tables
    of the paper were not found.

    Attributes
    ----------
    snapshot_
        Decoder and components as they were at the last snapshot.
    poor_
        Badly modelled images so far, at most `expansion_images`.
    novelty_
        Recent scores, and the updates since the last expansion.
    diagnostics_
        Losses, and the number of active ``components``.

    References
    ----------
    Rao, Visin, Rusu, Teh, Pascanu and Hadsell (2019), Continual Unsupervised Representation
    Learning, NeurIPS.
    """

    presets: ClassVar = {
        "mnist": {
            "encoder_units": [1200, 600, 300, 150],
            "decoder_units": [500, 500],
            "binarize": True,
            "poor_nats": 200.0,
        }
    }

    max_components: Count = 30
    """Maximum number of components. 1 gives a VAE with a learned prior. Time grows with them."""
    novelty: Weight = 2.0
    """Standard deviations below the mean of recent scores at which an image is poor."""
    window: Annotated[int, Range(least=2)] = 1000
    """Number of recent scores."""
    poor_nats: Weight | None = None
    """Nats below the best possible ELBO at which an image is poor; replaces `novelty`."""
    expansion_images: Count = 100
    """Poor images that open a component."""
    wait: Amount = 100
    """Updates from the start, and from one expansion, to the next collection of poor images."""
    replay: bool = True
    """Learn from generated images too, once there is a snapshot."""
    snapshot: Literal["expansion", "every"] = "expansion"
    """Take a snapshot before each expansion, or every `snapshot_every` batches."""
    snapshot_every: Count = 10
    """Stream batches between two snapshots, if `snapshot` is every."""

    def costs(self) -> Costs:
        memory = f"{self.expansion_images} images"
        if self.replay:
            memory += ", a past decoder"
        return replace(super().costs(), memory=memory)

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        modules = {"decoder": self.model_["decoder"], "components": self.components}
        self.snapshot_ = Snapshot(**modules).to(self.device)
        check_memory(self, "expansion_images", self.expansion_images * 4 * math.prod(self.shape_))
        check_memory(self, "window", 4 * self.window)
        self.poor_ = Ring(self.expansion_images, self.shape_).to(self.device)
        self.novelty_ = Novelty(self.window, least=20, wait=self.wait)
        self._batches = torch.tensor(0)

    def modules(self) -> dict[str, nn.Module]:
        trunk = self.make_trunk()
        hidden = trunk.output_dim
        needed = 16 * 2 * hidden * self.latents * self.max_components
        check_memory(self, "max_components", needed)
        return {
            "trunk": trunk,
            "components": Components(hidden, self.latents, self.max_components),
            "decoder": self.make_decoder(self.latents),
        }

    @property
    def components(self) -> Components:
        """The mixture."""
        found = self.model_["components"]
        assert isinstance(found, Components)
        return found

    def before_batch(self, images: Tensor) -> None:
        self.judge(images)
        self._batches += 1
        if self.snapshot == "every" and int(self._batches) % self.snapshot_every == 0:
            self.snapshot_.take()
        if len(self.poor_) >= self.expansion_images:
            self.expand()

    @torch.no_grad()
    def judge(self, images: Tensor) -> None:
        """Count the components of a stream batch, and collect its poor images."""
        elbo, log_q = self.elbo(images)
        self.components.counts[: log_q.shape[1]] += log_q.exp().sum(0)
        lost = -(elbo + pixel_entropy(images))  # (n,), 0 at best
        limit = self.novelty_.above_mean(self.novelty)
        if self.poor_nats is not None:
            limit = self.poor_nats
        self.novelty_.push(lost)
        room = int(self.components.active) < self.max_components
        if room and self.novelty_.ready():
            self.poor_.push(images[lost > limit])

    def expand(self) -> None:
        """Open a component for the poor images."""
        poor = self.poor_.latest()
        if self.snapshot == "expansion":
            self.snapshot_.take()
        with torch.no_grad():
            h = self.model_["trunk"](poor)
            source = int(self.components.log_q_y(h).exp().sum(0).argmax())
        new = self.components.copy(source)
        optimizer = torch.optim.Adam(self.components.parameters(), lr=self.lr)
        for _ in range(ROUNDS):
            descend(self, optimizer, -self.known_elbo(h, poor, new).mean())
        self.poor_.clear()
        self.novelty_.start_again()

    def update(self, images: Tensor) -> list[Losses]:
        made = super().update(images)
        if self.replay and self.snapshot_:
            dreamed = super().update(self.dream(len(images)))[0]["loss"]
            made.append({"dreamed": dreamed})
        self.novelty_.pass_time(len(made))
        return made

    def objective(self, images: Tensor) -> Losses:
        return {"loss": -self.elbo(images)[0].mean()}

    def elbo(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return the ELBO of each image, (n,), and log q(y|x), (n, K)."""
        h = self.model_["trunk"](images)
        log_q = self.components.log_q_y(h)
        mean, var = self.components.q_z(h)
        of_component = self._log_p_x(mean, var, images) - gaussian_kl(
            mean, var, *self.components.prior()
        )  # (n, K)
        q, k = log_q.exp(), log_q.shape[1]
        kl_y = (q * (log_q + math.log(k))).sum(1)
        return (q * of_component).sum(1) - kl_y, log_q

    def known_elbo(self, h: Tensor, images: Tensor, component: int) -> Tensor:
        """Return log p(x|z) - KL_z + log q(y|x) of each image for a given component y, (n,)."""
        one = slice(component, component + 1)
        mean, var = (value[:, one] for value in self.components.q_z(h))  # (n, 1, latents)
        prior_mean, prior_var = (value[one] for value in self.components.prior())
        kl = gaussian_kl(mean, var, prior_mean, prior_var)
        log_p = self._log_p_x(mean, var, images) - kl  # (n, 1)
        return log_p[:, 0] + self.components.log_q_y(h)[:, component]

    def _log_p_x(self, mean: Tensor, var: Tensor, images: Tensor) -> Tensor:
        z = mean + var.sqrt() * self.noise(*mean.shape)  # (n, K, latents)
        logits = self.model_["decoder"](z.flatten(0, 1))  # (n * K, c, h, w)
        targets = images.repeat_interleave(mean.shape[1], dim=0)
        return -bernoulli_nll(logits, targets).view(mean.shape[:2])  # (n, K)

    @torch.no_grad()
    def dream(self, m: int) -> Tensor:
        """Return images that the snapshot generates, (m, c, h, w), as often as it saw each kind."""
        past = self.snapshot_.components
        assert isinstance(past, Components)
        prior_mean, prior_var = past.prior()
        weights = past.counts[: len(prior_mean)].cpu()
        y = torch.multinomial(weights, m, replacement=True, generator=self._dream_rng)
        mean, var = prior_mean[y], prior_var[y]
        z = mean + var.sqrt() * gaussian_noise(tuple(mean.shape), mean, self._dream_rng)
        images: Tensor = torch.sigmoid(self.snapshot_.decoder(z))  # type: ignore[operator]
        return images.round() if self.binarize else images

    def embed(self, batch: Tensor) -> Tensor:
        h = self.model_["trunk"](self.pixels(batch))
        y = self.components.log_q_y(h).argmax(1)
        return self.components.q_z(h)[0][torch.arange(len(h)), y]  # (n, latents)

    def counts(self) -> dict[str, float]:
        return {"components": int(self.components.active)}

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "snapshot": self.snapshot_,
            "poor": self.poor_,
            "novelty": self.novelty_,
            "batches": self._batches,
        }
