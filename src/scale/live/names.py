"""Names: a person names a few images, and similar ones get the same name with a confidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._names import shown
from scale._text import printable
from scale.live.embeddings import check_ids, marks, parts
from scale.live.store import Store
from scale.live.view import Vectors

UNKNOWN = "unknown"
LONGEST = 100  # characters of a name
NEIGHBOURS = 3  # named images that vote
SHARPNESS = 20.0  # weight of a vote: exp(SHARPNESS * cosine)
MEASURED = 500  # named images by which the usual similarities are estimated
ENOUGH = 0.6  # of the way from strange to identical; images named one after the other are closer
CONFIDENT = 0.5  # confidence from which an image gets a name


@dataclass(frozen=True)
class Named:
    """An image and its name.

    Parameters
    ----------
    id, path
        The image; the path is None for one that came from a stream or a program.
    name
        Given by a person, or that of its neighbours, or "unknown".
    confidence
        1 for a given name; else from 0 to 1, see `vote`.
    decided_by
        Named images that voted for the best name, most similar first.
    given
        Whether a person gave the name.
    """

    id: int
    path: str | None
    name: str
    confidence: float
    decided_by: tuple[int, ...] = ()
    given: bool = False


@dataclass(frozen=True)
class NameSummary:
    """A name, the number of images that a person gave it, and how often neighbours agree.

    Parameters
    ----------
    name
        The name.
    count
        Images that a person gave this name.
    accuracy
        Share of them that get the same name from all other named images (leave-one-out); None for
        a name with one image.
    """

    name: str
    count: int
    accuracy: float | None


@dataclass(frozen=True)
class Votes:
    """What the neighbours of n images say.

    Parameters
    ----------
    best
        Number of the best name of each image, (n,).
    confidence
        From 0 to 1, (n,).
    voters
        For each image, the places of the named images that voted for it, most similar first.
    """

    best: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]
    voters: list[list[int]]


def vote(
    named: Vectors, labels: npt.NDArray[np.int64], queries: Vectors, *, leave_one_out: bool = False
) -> Votes:
    """Return the names of queries by their nearest named images.

    The confidence is the share of the votes, times how similar the nearest image is: 1 if as
    similar as named images of one name are, 0 if no more than those of different names are.

    Parameters
    ----------
    named, labels
        Embeddings of length 1 of the named images, (m, d), and the number of each one's name, (m,).
    queries
        Embeddings of length 1, (n, d).
    leave_one_out
        The queries are the named images; none votes for itself.

    Examples
    --------
    >>> votes = vote(np.eye(2, dtype="f4"), np.array([0, 1]), np.array([[0.8, 0.6]], "f4"))
    >>> int(votes.best[0]), votes.voters
    (0, [[0]])
    >>> votes.confidence.round(2)
    array([0.98])
    """
    similar = (queries @ named.T).astype(np.float64)  # (n, m)
    if leave_one_out:
        np.fill_diagonal(similar, -1.0)
    k = min(NEIGHBOURS, len(named) - leave_one_out)
    nearest = np.argsort(-similar, axis=1, kind="stable")[:, :k]  # (n, k)
    weights = np.exp(SHARPNESS * (np.take_along_axis(similar, nearest, 1) - 1))
    totals = np.zeros((len(queries), int(labels.max()) + 1))  # (n, names)
    np.add.at(totals, (np.arange(len(queries))[:, None], labels[nearest]), weights)
    best = totals.argmax(1)
    share = totals.max(1) / np.maximum(totals.sum(1), 1e-300)
    strange, usual = _similarities(named, labels)
    familiar = ((similar.max(1) - strange) / (usual - strange)).clip(0, 1)
    voters = [
        [int(at) for at in row if labels[at] == name]
        for row, name in zip(nearest, best, strict=True)
    ]
    return Votes(best, share * familiar, voters)


def _similarities(named: Vectors, labels: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return how similar a named image is to the nearest of another name, and of its own name.

    Both are medians over the named images. The second is limited: images that were taken and named
    one after the other are nearly identical, and others of the name are not.
    """
    few = np.linspace(0, len(named) - 1, min(len(named), MEASURED)).round().astype(int)
    similar = (named[few] @ named.T).astype(np.float64)
    own = labels[few][:, None] == labels
    strange = float(np.clip(np.median(np.where(own, -1.0, similar).max(1)), 0.0, 0.9))
    similar[np.arange(len(few)), few] = -1.0
    friends = np.where(own, similar, -1.0).max(1)
    friends = friends[friends > -1.0]
    usual = float(np.median(friends)) if len(friends) else 1.0
    limit = strange + ENOUGH * (1 - strange)
    return strange, max(min(usual, limit), strange + 0.05)


def check_name(name: object) -> str:
    """Return a name without the space around it; raise `InputError` for what cannot be one.

    Examples
    --------
    >>> check_name(" Conference pear ")
    'Conference pear'
    """
    text = name.strip() if isinstance(name, str) else ""
    if not text:
        raise InputError(f"a name must be a text that is not empty, got {shown(name)}")
    if len(text) > LONGEST:
        raise InputError(f"a name has at most {LONGEST} characters, this one has {len(text)}")
    if printable(text) != text:
        raise InputError(f"a name must not have control characters, got {shown(text)}")
    if text.casefold() == UNKNOWN:
        raise InputError(
            f"{text!r} is what images without a sure name are called; choose another name"
        )
    return text


class GivenNames:
    """The names that a person gave, in a store.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def give(self, ids: Sequence[int], name: str) -> list[int]:
        """Name images; a name that they had is replaced."""
        text, at = check_name(name), time.time()
        wanted = check_ids(self.store, ids)
        if not wanted:
            raise InputError("choose at least one image to name")
        with self.store.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO names (image, name, at) VALUES (?, ?, ?)",
                [(one, text, at) for one in wanted],
            )
        return wanted

    def take(self, ids: Sequence[int]) -> int:
        """Remove the names of images; return how many had one."""
        removed = 0
        with self.store.transaction() as db:
            for part in parts(ids):
                sql = f"DELETE FROM names WHERE image IN ({marks(part)})"
                removed += db.execute(sql, part).rowcount
        return removed

    def all(self) -> dict[int, str]:
        """Return the name of each named image whose pixels are stored."""
        rows = self.store.query(
            "SELECT image, name FROM names JOIN images ON images.id = names.image "
            "WHERE pixels IS NOT NULL ORDER BY image"
        )
        return {row[0]: row[1] for row in rows}


def summaries(given: dict[int, str], vectors: Vectors) -> list[NameSummary]:
    """Return each name with its leave-one-out accuracy; `vectors` are of `given`, in order."""
    if not given:
        return []
    names = sorted(set(given.values()))
    labels = np.array([names.index(name) for name in given.values()])
    counts = np.bincount(labels)
    right = np.zeros(len(labels), bool)
    if len(labels) > 1:
        right = vote(vectors, labels, vectors, leave_one_out=True).best == labels
    return [
        NameSummary(name, int(n), float(right[labels == at].mean()) if n > 1 else None)
        for at, (name, n) in enumerate(zip(names, counts, strict=True))
    ]


def name_images(
    paths: dict[int, str | None],
    given: dict[int, str],
    voters: Vectors,
    asked: Sequence[int],
    vectors: Vectors,
    confident: float,
) -> list[Named]:
    """Return the names of images, in the order of `paths`.

    Parameters
    ----------
    paths
        The path of each image.
    given, voters
        The given names, by image, and the embeddings of these images.
    asked, vectors
        Images among `paths` without a given name, and their embeddings.
    confident
        Least confidence of a name that is not given.
    """
    known = sorted(set(given.values()))
    guessed: dict[int, Named] = {}
    if asked:
        labels = np.array([known.index(name) for name in given.values()])
        votes, ids = vote(voters, labels, vectors), list(given)
        for at, one in enumerate(asked):
            share = float(votes.confidence[at])
            name = known[votes.best[at]] if share >= confident else UNKNOWN
            why = tuple(ids[voter] for voter in votes.voters[at])
            guessed[one] = Named(one, paths[one], name, share, why)
    return [
        Named(one, path, given[one], 1.0, given=True)
        if one in given
        else guessed.get(one, Named(one, path, UNKNOWN, 0.0))
        for one, path in paths.items()
    ]
