"""Loggers: TensorBoard, MLflow, Weights & Biases, or one of your own."""

from scale.runs.loggers import mlflow as mlflow
from scale.runs.loggers import tensorboard as tensorboard
from scale.runs.loggers import wandb as wandb
from scale.runs.loggers.logged import Logged
from scale.runs.loggers.registry import LOGGERS, Logger, register_logger

__all__ = ["LOGGERS", "Logged", "Logger", "register_logger"]
