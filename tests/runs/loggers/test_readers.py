"""Each logger's own reader shows the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from scale.runs.loggers import LOGGERS, Logger

KNN = "evaluation/knn"


def two_sessions(name: str, folder: Path) -> str:
    """Log from a run that is stopped and resumed; return the id of the logger's run."""
    picture = folder / "curve.png"
    Image.new("RGB", (8, 8), "red").save(picture)
    first: Logger = LOGGERS[name](folder, "er digits seq 0", None)
    first.config({"method": "er", "seed": "0"})
    first.metrics({"batch/loss": 2.0}, 128)
    first.metrics({KNN: 40.0}, 128)
    first.close()
    second: Logger = LOGGERS[name](folder, "er digits seq 0", first.run_id)
    second.metrics({KNN: 50.0}, 256)
    second.picture("curve", picture)
    second.close()
    assert second.run_id == first.run_id
    return first.run_id


def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    two_sessions("tensorboard", tmp_path)
    reader = EventAccumulator(str(tmp_path / "tensorboard"))
    reader.Reload()
    assert [(one.step, one.value) for one in reader.Scalars(KNN)] == [(128, 40.0), (256, 50.0)]
    assert reader.Tags()["images"] == ["curve"]
    assert b"er" in reader.Tensors("config/text_summary")[0].tensor_proto.string_val[0]


def test_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    run_id = two_sessions("mlflow", tmp_path)
    from mlflow.tracking import MlflowClient

    client = MlflowClient((tmp_path / "mlruns").as_uri())
    history = client.get_metric_history(run_id, KNN)
    assert [(one.step, one.value) for one in history] == [(128, 40.0), (256, 50.0)]
    found = client.get_run(run_id)
    assert found.data.params == {"method": "er", "seed": "0"}
    assert found.info.status == "FINISHED"
    assert [one.path for one in client.list_artifacts(run_id)] == ["curve.png"]


def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    run_id = two_sessions("wandb", tmp_path)
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    found = []
    files = sorted((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    assert [file.name for file in files] == [f"run-{run_id}.wandb"] * len(files)
    for file in files:
        store = DataStore()
        store.open_for_scan(str(file))
        while (data := store.scan_data()) is not None:
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            found += [
                json.loads(item.value_json)
                for item in record.history.item
                if KNN in (item.key, "/".join(item.nested_key), *item.nested_key)
            ]
    assert found == [40.0, 50.0]
