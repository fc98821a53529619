"""What is new: how far an image is from everything known, compared with how far known ones are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from scale.live.known import DELAY, Known, Seen, stacked, usual
from scale.live.layout import apart, layouts
from scale.methods import Learner

WARM_UP = 24  # frames of a scene before anything can be new
GAP = 4  # known images closer in the stream than this are not compared
LAYOUT_QUANTILE, LAYOUT_MARGIN = 0.95, 1.3
FLOOR = 0.07  # smallest difference of colours that counts: sensors and lights change less
EMBEDDING_QUANTILE = 0.9
RENEW = 8  # images after which the usual differences are measured again
NEAREST = 5  # known images that explain why

Embed = Callable[[Sequence[int]], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Judgement:
    """How new an image is.

    Parameters
    ----------
    id
        The image.
    score
        Above 1 it is new: farther from everything known than known images are from each other,
        both in the picture and in the embedding. 0 if nothing is known yet.
    nearest
        The nearest known images and their distances, the nearest first; empty unless the picture
        as a whole looks new.
    """

    id: int
    score: float
    nearest: tuple[tuple[int, float], ...] = ()


def judge(
    known: Known,
    ids: Sequence[int],
    images: npt.NDArray[np.uint8],
    embed: Embed,
    stays: Sequence[int] | None = None,
) -> list[Judgement]:
    """Judge the next images of a scene, one after the other, and add them to what is known.

    The picture is compared first: at least half of it has to differ from each known image. Only
    for images that pass, the known ones are embedded, by the learner that embeds the new ones.

    Parameters
    ----------
    known
        What the scene is known to show.
    ids, images
        The next images, (n, 3, h, w).
    embed
        Returns embeddings of images by their numbers.
    stays
        For each image, in how many frames the one before it stayed. None: in no other.
    """
    before = known.all()
    threshold: float | None = None
    added: list[tuple[Seen, float]] = []
    for at, (number, layout) in enumerate(zip(ids, layouts(images), strict=True)):
        known.stay(0 if stays is None else stays[at])
        now = known.all()
        if at % RENEW == 0 or (threshold is None and known.frames >= WARM_UP):
            threshold = _layout_threshold(known, now)
        ratio = 0.0
        if threshold is not None and now:
            ratio = float(apart(layout[None], stacked(now)).min()) / threshold
        added.append((known.add(number, layout), ratio))
    suspects = [seen for seen, ratio in added if ratio > 1]
    confirmed = _embedded([*before, *known.all()], suspects, embed) if suspects else {}
    return [_judgement(seen.id, ratio, confirmed.get(seen.id)) for seen, ratio in added]


def _judgement(
    number: int, ratio: float, confirmed: tuple[float, tuple[tuple[int, float], ...]] | None
) -> Judgement:
    if confirmed is None:
        return Judgement(number, ratio)
    return Judgement(number, min(ratio, confirmed[0]), confirmed[1])


def _layout_threshold(known: Known, now: list[Seen]) -> float | None:
    if known.frames < WARM_UP:
        return None
    rows, places = stacked(now), np.array([seen.place for seen in now], np.int64)
    quantile = usual(apart(rows, rows), places, LAYOUT_QUANTILE, GAP)
    if quantile is None:  # of a scene that stood still, few images are enough
        return FLOOR if known.count < WARM_UP else None
    return max(FLOOR, LAYOUT_MARGIN * quantile)


def _embedded(
    known: list[Seen], suspects: list[Seen], embed: Embed
) -> dict[int, tuple[float, tuple[tuple[int, float], ...]]]:
    """Return ratio and nearest known images of each suspect, by embeddings."""
    refs = sorted({seen.id: seen for seen in known}.values(), key=lambda seen: seen.id)
    z = embed([seen.id for seen in (*refs, *suspects)])
    rows, queries = z[: len(refs)], z[len(refs) :]
    between, far = _distances(rows, rows), _distances(queries, rows)
    places = np.array([seen.place for seen in refs], np.int64)
    found = {}
    for seen, row in zip(suspects, far, strict=True):
        then = np.flatnonzero(places <= seen.place - DELAY)  # what was known
        threshold = usual(between[np.ix_(then, then)], places[then], EMBEDDING_QUANTILE, GAP)
        order = then[np.argsort(row[then], kind="stable")[:NEAREST]]
        nearest = tuple((refs[at].id, round(float(row[at]), 4)) for at in order)
        if threshold is not None:
            ratio = nearest[0][1] / max(threshold, 1e-9)
        else:  # too few to compare with: in a scene that stood still, the picture decides
            ratio = np.inf if seen.nth < WARM_UP else 0.0
        found[seen.id] = (ratio, nearest)
    return found


def _distances(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    far: npt.NDArray[Any] = torch.cdist(
        torch.from_numpy(np.ascontiguousarray(a)), torch.from_numpy(np.ascontiguousarray(b))
    ).numpy()
    return far


def features(learner: Learner, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return features of length 1, (n, d): those of the encoder, or else colours of the picture.

    Embeddings are not used: the read-out of some learners makes all images equally different from
    each other, which suits search but hides what is new.
    """
    encode = getattr(learner, "encode_images", None)
    if encode is None or learner.image_shape_ is None:
        z = layouts(images).reshape(len(images), -1) - 0.5
    else:
        with torch.no_grad():
            parts = torch.split(torch.from_numpy(images), 128)
            z = torch.cat([encode(part).float().cpu() for part in parts]).numpy()
    z = np.nan_to_num(z)
    unit: npt.NDArray[np.float32] = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    return unit
