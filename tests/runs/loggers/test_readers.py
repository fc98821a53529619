"""Each logger's own reader shows the run."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from scale.runs.loggers import LOGGERS, Logger

KNN = "evaluation/knn"
BLOCK, WANDB_HEADER = 32768, 7  # bytes of a block of LevelDB, and before its first record


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


def leveldb_records(log: bytes) -> Iterator[bytes]:
    """Yield the records of a log of LevelDB, the format of offline runs, without checksums.

    The wandb header is a part of the first block.
    """
    at, whole = 0, b""
    while at + 7 <= len(log):
        left = BLOCK - (at + WANDB_HEADER) % BLOCK
        if left < 7:  # the rest of a block is padding
            at += left
            continue
        length, kind = struct.unpack("<HB", log[at + 4 : at + 7])
        whole += log[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or its last part
            yield whole
            whole = b""


def test_wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    run_id = two_sessions("wandb", tmp_path)
    wandb.teardown()  # as at the end of a program: its files are written by another process
    from wandb.proto import wandb_internal_pb2

    found = []
    files = sorted((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
    assert [file.name for file in files] == [f"run-{run_id}.wandb"] * len(files)
    for file in files:
        for data in leveldb_records(file.read_bytes()[WANDB_HEADER:]):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            found += [
                json.loads(item.value_json)
                for item in record.history.item
                if KNN in (item.key, "/".join(item.nested_key), *item.nested_key)
            ]
    assert found == [40.0, 50.0]
