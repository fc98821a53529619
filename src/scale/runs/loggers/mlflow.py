"""MLflow: a tracking server, or files in the run's folder."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, ClassVar

from scale.runs.loggers.registry import register_logger

EXPERIMENT = "scale"
FOLDER = "mlruns"
LONGEST = 500  # characters of an option
MOST = 100  # options of a request
DEFAULTS = {
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",  # the client's own is minutes without a server
}


@register_logger("mlflow")
class MLflow:
    """Runs of the experiment ``scale``, at ``MLFLOW_TRACKING_URI`` or in RUN/mlruns."""

    package: ClassVar[str] = "mlflow"

    def __init__(self, folder: Path, name: str, run_id: str | None) -> None:
        for setting, value in DEFAULTS.items():
            os.environ.setdefault(setting, value)
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        self._metric: Any = Metric
        self._param: Any = Param

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
        params = [self._param(name, value[:LONGEST]) for name, value in values.items()]
        for at in range(0, len(params), MOST):
            self._client.log_batch(self.run_id, params=params[at : at + MOST])

    def metrics(self, values: dict[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        metrics = [self._metric(name, value, now, step) for name, value in values.items()]
        self._client.log_batch(self.run_id, metrics=metrics)  # one request

    def picture(self, name: str, path: Path) -> None:
        self._client.log_artifact(self.run_id, str(path))

    def close(self) -> None:
        self._client.set_terminated(self.run_id)
