"""All measures of one learner's features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale.evaluate._checks import check_features
from scale.evaluate.clustering import ari, clustering_accuracy, kmeans, nmi, spectral_clustering
from scale.evaluate.knn import NeighbourSearch, knn_predict, per_class_accuracy
from scale.evaluate.probe import linear_probe
from scale.evaluate.protocol import EvaluationSets, Protocol
from scale.evaluate.rank import effective_rank

Transform = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


class Evaluator:
    """Evaluates the features of a transform on fixed sets of images.

    Parameters
    ----------
    sets
        From `draw_evaluation_sets`.
    protocol
        The protocol that drew them.
    seed
        Seeds k-means, the spectral clustering and the probe.
    chunk
        Images given to the transform at a time.
    """

    def __init__(
        self, sets: EvaluationSets, protocol: Protocol, seed: int, *, chunk: int = 1024
    ) -> None:
        self.sets = sets
        self.protocol = protocol
        self.seed = seed
        self.chunk = chunk

    def features(self, transform: Transform) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the features of the evaluation set and of the bank."""
        return (
            self.embed(transform, self.sets.eval_images),
            self.embed(transform, self.sets.bank_images),
        )

    def __call__(
        self, transform: Transform, *, full: bool = False
    ) -> dict[str, float | list[float]]:
        """Return the measures of the features that `transform` returns.

        Parameters
        ----------
        transform
            From uint8 images ``(N, C, H, W)`` to float32 features ``(N, D)``.
        full
            Also compute `knn_full`, with every image of the train split in the bank.

        Returns
        -------
        dict
            In percent: `knn`, `knn_per_class` (in the order of ``sets.classes``), `acc`, `nmi`
            and `ari` (spectral clusters), `kmeans_acc`, `linear`. As a number: `effective_rank`.
        """
        queries, bank = self.features(transform)
        measures = self.measure(queries, bank)
        if full:
            measures["knn_full"] = self.knn_full(transform, queries)
        return measures

    def knn_full(self, transform: Transform, queries: ArrayLike) -> float:
        """Return the kNN accuracy of `queries` with every image of the train split in the bank.

        The bank's features are compared chunk by chunk and not kept.
        """
        search = NeighbourSearch(
            queries,
            k=self.protocol.full_k,
            metric="cosine",
            temperature=self.protocol.full_temperature,
        )
        images, labels = self.sets.train_images, self.sets.train_labels
        for at in range(0, len(images), search.chunk):
            part = slice(at, at + search.chunk)
            search.add(self.embed(transform, images[part]), labels[part])
        return 100 * float((search.predict() == self.sets.eval_labels).mean())

    def measure(self, queries: ArrayLike, bank: ArrayLike) -> dict[str, float | list[float]]:
        """Return the measures, without `knn_full`, of features that are already computed."""
        labels, bank_labels = self.sets.eval_labels, self.sets.bank_labels
        T = len(self.sets.classes)
        found = knn_predict(bank, bank_labels, queries, k=self.protocol.k)
        clusters = spectral_clustering(queries, T, self.seed)
        return {
            "knn": 100 * float((found == labels).mean()),
            "knn_per_class": (100 * per_class_accuracy(labels, found)).tolist(),
            "acc": 100 * clustering_accuracy(labels, clusters),
            "nmi": 100 * nmi(labels, clusters),
            "ari": 100 * ari(labels, clusters),
            "kmeans_acc": 100 * clustering_accuracy(labels, kmeans(queries, T, self.seed)),
            "linear": 100 * linear_probe(bank, bank_labels, queries, labels, self.seed),
            "effective_rank": effective_rank(queries),
        }

    def embed(self, transform: Transform, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the features of images, a chunk at a time."""
        parts = range(0, len(images), self.chunk)
        # Copied, because the train split may be a read-only file on disk.
        features = [transform(np.array(images[at : at + self.chunk])) for at in parts]
        return check_features(np.concatenate(features))
