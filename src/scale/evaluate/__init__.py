"""Measures of features: kNN, clustering, linear probe, forgetting, rank and the guard."""

from scale.evaluate.clustering import (
    ari,
    clustering_accuracy,
    kmeans,
    nmi,
    sne_affinity,
    spectral_clustering,
)
from scale.evaluate.evaluator import Evaluator
from scale.evaluate.floors import floor_transforms
from scale.evaluate.forgetting import average, drop, forgetting
from scale.evaluate.forgetting import learned_at as learned_at
from scale.evaluate.guard import Guard, guard, view_retrieval
from scale.evaluate.knn import knn_accuracy, knn_predict, per_class_accuracy
from scale.evaluate.measures import FLOORS, MEASURES, Measure
from scale.evaluate.probe import linear_probe
from scale.evaluate.protocol import (
    EvaluationSets,
    Protocol,
    draw_evaluation_sets,
    hold_out,
    protocol_for,
)
from scale.evaluate.rank import collapsed, effective_rank, mean_cosine

__all__ = [
    "FLOORS",
    "MEASURES",
    "EvaluationSets",
    "Evaluator",
    "Guard",
    "Measure",
    "Protocol",
    "ari",
    "average",
    "clustering_accuracy",
    "collapsed",
    "draw_evaluation_sets",
    "drop",
    "effective_rank",
    "floor_transforms",
    "forgetting",
    "guard",
    "hold_out",
    "kmeans",
    "knn_accuracy",
    "knn_predict",
    "linear_probe",
    "mean_cosine",
    "nmi",
    "per_class_accuracy",
    "protocol_for",
    "sne_affinity",
    "spectral_clustering",
    "view_retrieval",
]
