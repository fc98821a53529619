"""MLflow: a tracking server, or files in the run's folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from scale.runs.loggers.registry import register_logger

EXPERIMENT = "scale"
FOLDER = "mlruns"
LONGEST = 500  # characters of an option


@register_logger("mlflow")
class MLflow:
    """Runs of the experiment ``scale``, at ``MLFLOW_TRACKING_URI`` or in RUN/mlruns."""

    package: ClassVar[str] = "mlflow"

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None:
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        from mlflow.tracking import MlflowClient

        place = (folder / FOLDER).absolute().as_uri()
        self._client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or place)
        if run_id is None:
            known = self._client.get_experiment_by_name(EXPERIMENT)
            where = known.experiment_id if known else self._client.create_experiment(EXPERIMENT)
            run_id = self._client.create_run(where, run_name=name).info.run_id
        else:
            self._client.update_run(run_id, status="RUNNING")
        self.run_id: str = run_id

    def config(self, values: dict[str, str]) -> None:
        for name, value in values.items():
            self._client.log_param(self.run_id, name, value[:LONGEST])

    def metrics(self, values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            self._client.log_metric(self.run_id, name, value, step=step)

    def picture(self, name: str, path: Path) -> None:
        self._client.log_artifact(self.run_id, str(path))

    def close(self) -> None:
        self._client.set_terminated(self.run_id)
