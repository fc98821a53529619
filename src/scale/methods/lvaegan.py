"""L-VAEGAN: a GAN remembers, a VAE beside it learns codes from stream and dreams."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._numbers import Range
from scale.losses.gaussian import gaussian_kl
from scale.losses.penalty import gradient_penalty
from scale.methods.core.checks import Count, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.generative import GenerativeLearner, Losses
from scale.methods.core.novelty import Novelty
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.snapshot import Snapshot
from scale.methods.core.state import Part
from scale.methods.core.updates import descend
from scale.models import ImageShape

PENALTY = 10.0  # weight of the critic's gradient penalty
TEMPERATURE = 0.1  # of the Gumbel softmax over domains
FASTER = 5.0  # learning rate of the generator over that of the others
BETAS = (0.5, 0.999)  # of Adam
LEAST = 5  # batches of a domain before another can open


class Domains(nn.Module):
    """Number of domains opened, as a part of a snapshot."""

    known: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("known", torch.tensor(1))


@register_method("lvaegan")
@dataclass(kw_only=True)
class LVAEGAN(GenerativeLearner):
    """A Wasserstein GAN that generates the past, and a VAE trained on stream and generated images.

    Generator and critic are apart from the VAE; they share no weights. A classifier infers the
    domain of an image. The index of the likeliest domain is the prior's mean in every coordinate,
    so domains become clusters of codes. A frozen copy of the generator dreams as many images as the
    stream batch has, of domains known at the copy. Features are the VAE's posterior means.

    Read in the released code: parts, losses, weights, temperatures. There, each task's index is
    given in training as the domain, though the paper's Table 1 in SCALE lists it as label-free.
    Ours: a domain opens when a batch's reconstruction error is above mean + `novelty` standard
    deviations of the recent ones; the generator is copied then and every `snapshot_every` batches;
    no BatchNorm; the gradient penalty is taken over all pixels of each sample; the classifier
    learns from domains alone; the trunks and decoders of the other generative methods here, with
    ReLU. Result tables were not found.

    Attributes
    ----------
    model_
        Also ``generator``, ``critic`` and ``domain``.
    domains_
        Number of domains opened; the stream is in the last one.
    snapshot_
        The past generator.
    novelty_
        Recent reconstruction errors of batches.
    diagnostics_
        Losses, and the number of ``domains``.

    References
    ----------
    Ye and Bors (2020), Learning Latent Representations Across Multiple Data Domains Using Lifelong
    VAEGAN, ECCV.
    """

    lr: Weight = 2e-4
    """Learning rate of Adam; the generator's is five times as high."""
    domains: Literal["novelty", "one"] = "novelty"
    """Open domains by novelty, or keep one, with the ordinary prior."""
    max_domains: Count = 8
    """Maximum number of domains."""
    novelty: Weight = 3.0
    """Standard deviations above the mean of recent errors at which a batch opens a domain."""
    window: Annotated[int, Range(least=2)] = 50
    """Number of recent batches for that mean."""
    replay: bool = True
    """Learn from generated images too, once there is a snapshot."""
    snapshot_every: Count = 10
    """Stream batches between two copies of the generator."""
    critic_every: Count = 1
    """Updates of the VAE for one of the GAN. Raise it to save most of the time."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory="a past generator" if self.replay else "none")

    def setup(self, image_shape: ImageShape) -> None:
        needed = 16 * (4 * self.width + self.latents) * self.max_domains
        check_memory(self, "max_domains", needed)
        check_memory(self, "window", 4 * self.window)
        super().setup(image_shape)
        self._gan_rng = generators(self.seed, 4)[3]
        self.domains_ = Domains()
        past = {"generator": self.model_["generator"], "domains": self.domains_}
        self.snapshot_ = Snapshot(**past).to(self.device)
        self.novelty_ = Novelty(self.window, least=LEAST)
        self._batches, self._updates = torch.tensor(0), torch.tensor(0)
        self._critic = self._adam("critic")
        self._generator = self._adam("generator", FASTER)
        self._domain = self._adam("domain")

    def modules(self) -> dict[str, nn.Module]:
        codes = self.latents + self.max_domains
        return {
            **super().modules(),
            "decoder": self.make_decoder(codes),
            "generator": self.make_decoder(codes),
            "critic": self._to(1),
            "domain": self._to(self.max_domains),
        }

    def _to(self, outputs: int) -> nn.Module:
        trunk = self.make_trunk()
        return nn.Sequential(trunk, nn.Linear(trunk.output_dim, outputs))

    def make_optimizer(self) -> torch.optim.Optimizer:
        return self._adam("trunk", 1.0, "head", "decoder")

    def _adam(self, name: str, faster: float = 1.0, *more: str) -> torch.optim.Optimizer:
        weights = [p for part in (name, *more) for p in self.model_[part].parameters()]
        return torch.optim.Adam(weights, lr=faster * self.lr, betas=BETAS)

    @property
    def known(self) -> int:
        """Number of domains opened."""
        return int(self.domains_.known)

    @torch.no_grad()
    def before_batch(self, images: Tensor) -> None:
        mean, _ = self.gaussian(images)
        likeliest = self.domain_logits(images).argmax(1)
        hot = F.one_hot(likeliest, self.max_domains).to(mean)
        error = self._squared_error(mean, hot, images).mean()
        limit = self.novelty_.above_mean(self.novelty)
        self._batches += 1
        if self.domains == "novelty" and self.known < self.max_domains and float(error) > limit:
            self.snapshot_.take()
            self.domains_.known += 1
            self.novelty_.clear()
        elif int(self._batches) % self.snapshot_every == 0:
            self.snapshot_.take()
        self.novelty_.push(error[None].cpu())

    def update(self, images: Tensor) -> list[Losses]:
        targets = torch.full((len(images),), self.known - 1, device=images.device)
        if self.replay and self.snapshot_:
            dreams, of_dreams = self.dream(len(images))
            images, targets = torch.cat([images, dreams]), torch.cat([targets, of_dreams])
        hot = F.one_hot(targets, self.max_domains).to(images)
        losses = self.objective(images)
        descend(self, self.optimizer_, losses["loss"])
        logits = self.model_["domain"](images)
        losses["domain"] = F.binary_cross_entropy_with_logits(logits, hot)
        descend(self, self._domain, losses["domain"])
        self._updates += 1
        if int(self._updates) % self.critic_every == 0:
            losses |= self.update_gan(images, hot)
        return [losses]

    def objective(self, images: Tensor) -> Losses:
        mean, std = self.gaussian(images)
        with torch.no_grad():
            logits = self.domain_logits(images)
            a, likeliest = self.draw_domain(logits), logits.argmax(1, keepdim=True)
        z = mean + std * self.noise(*mean.shape)
        reconstruction = self._squared_error(z, a, images).mean()
        prior = likeliest.to(mean).expand_as(mean)
        kl = gaussian_kl(mean, std.square(), prior, torch.ones_like(prior)).mean()
        return {"loss": reconstruction + kl, "reconstruction": reconstruction, "kl": kl}

    def update_gan(self, images: Tensor, hot: Tensor) -> Losses:
        """Make one update of the critic and one of the generator."""
        critic = self.model_["critic"]
        with torch.no_grad():
            fake = self.generate(self.model_["generator"], hot, self._gan_rng)
        mix = torch.rand(len(images), generator=self._gan_rng).to(images)
        penalty = gradient_penalty(critic, images, fake, mix)
        of_critic = critic(fake).mean() - critic(images).mean() + PENALTY * penalty
        descend(self, self._critic, of_critic)
        generated = self.generate(self.model_["generator"], hot, self._gan_rng)
        of_generator = -critic(generated).mean()
        descend(self, self._generator, of_generator)
        return {"critic": of_critic, "generator": of_generator}

    def generate(self, generator: object, hot: Tensor, rng: torch.Generator) -> Tensor:
        """Return an image of each domain, from uniform codes, (n, c, h, w)."""
        z = (2 * torch.rand(len(hot), self.latents, generator=rng) - 1).to(hot)
        assert isinstance(generator, nn.Module)
        return torch.sigmoid(generator(torch.cat([z, hot], dim=1)))

    @torch.no_grad()
    def dream(self, m: int) -> tuple[Tensor, Tensor]:
        """Return images of the past generator, (m, c, h, w), and their domains, (m,)."""
        past = self.snapshot_.domains
        assert isinstance(past, Domains)
        domains = torch.randint(int(past.known), (m,), generator=self._dream_rng)
        hot = F.one_hot(domains, self.max_domains).float().to(self.device)
        images = self.generate(self.snapshot_.generator, hot, self._dream_rng)
        return images, domains.to(self.device)

    def gaussian(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation of q(z|x), (n, latents) each."""
        mean, raw = self.posterior(images)
        return mean, F.softplus(raw) + 1e-6

    def domain_logits(self, images: Tensor) -> Tensor:
        """Return the classifier's logits of images over the opened domains, (n, known)."""
        logits: Tensor = self.model_["domain"](images)
        return logits[:, : self.known]

    def draw_domain(self, logits: Tensor) -> Tensor:
        """Draw a domain from each row of logits, nearly one-hot, (n, max_domains)."""
        u = torch.rand(logits.shape, generator=self._noise_rng).to(logits)
        gumbel = -(-u.clamp(min=1e-20).log()).clamp(min=1e-20).log()
        chosen = ((logits.log_softmax(1) + gumbel) / TEMPERATURE).softmax(1)
        return F.pad(chosen, (0, self.max_domains - self.known))

    def _squared_error(self, z: Tensor, a: Tensor, images: Tensor) -> Tensor:
        """Return the squared error of each reconstruction, summed over pixels, (n,)."""
        decoded = torch.sigmoid(self.model_["decoder"](torch.cat([z, a], dim=1)))
        return (decoded - images).square().flatten(1).sum(1)

    def counts(self) -> dict[str, float]:
        return {"domains": self.known}

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "critic_optimizer": self._critic,
            "generator_optimizer": self._generator,
            "domain_optimizer": self._domain,
            "gan_rng": self._gan_rng,
            "domains": self.domains_,
            "snapshot": self.snapshot_,
            "novelty": self.novelty_,
            "batches": self._batches,
            "updates": self._updates,
        }
