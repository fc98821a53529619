"""Arguments for public functions: valid ones by name and type, wrong ones by type."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chaos.world import World

ROWS, CLASSES, DIM, HALF = 24, 3, 16, 4


class Made(NamedTuple):
    """A valid argument that the child makes, in the folder of its case."""

    make: Callable[[], Any]


class Wrong(NamedTuple):
    """A wrong argument."""

    value: Any
    of_type: bool
    """Its type is wrong, not only its content."""


def valid(world: World) -> dict[str, Any]:
    """Return a valid argument for each name of a parameter; ``name:kind`` is for one kind only."""
    from scale.bench import HowToRun, list_experiments, plan, read_records
    from scale.data import LoadOptions, image_files, load_dataset
    from scale.evaluate import Protocol, draw_evaluation_sets
    from scale.methods import ER
    from scale.models import build_encoder
    from scale.report import all_facts, method_facts, read_archive, read_sections
    from scale.runs import RunConfig

    rng = np.random.default_rng(0)
    images = np.load(world.root / "data" / "images.npy")[:ROWS, None]
    labels = np.arange(ROWS) % CLASSES
    features = rng.normal(size=(ROWS, DIM)).astype(np.float32)
    train, test = (load_dataset(str(world.npz), split) for split in ("train", "test"))
    protocol = Protocol(eval_per_class=2, bank_size=6, k=3, full_k=3)
    z = torch.nn.functional.normalize(torch.randn(2 * HALF, DIM), dim=1)
    config = RunConfig(dataset=str(world.npz), method="er", params={"encoder": "cnn"})
    learner = ER(encoder="cnn", steps_per_batch=1, memory_size=16)
    learner.partial_fit(images[:8])
    records = read_records([world.bench / "records.jsonl"])
    experiment = next(one for one in list_experiments() if one.name == "mu")
    generator = torch.Generator().manual_seed(0)
    found: dict[str, Any] = {
        "images": images, "labels": labels, "class_names": ("a", "b", "c"), "name": "made",
        "array": images, "source": str(world.photos), "source:Iterable": images,
        "features": features, "clusters": labels, "clusters:int": 3, "bank": features,
        "bank_labels": labels, "queries": features, "query_labels": labels, "predictions": labels,
        "views": features, "images:Any": features, "images:str": str(world.photos),
        "k": 3, "T": CLASSES, "num_classes": CLASSES,
        "knn": [50.0, 60.0, 70.0], "positions": [8, 16, 24], "per_class": np.full((3, 3), 50.0),
        "per_class:int": 2, "since": None, "order": np.arange(ROWS), "batch_size": 8, "bins": 10,
        "stream": "seq", "seed": 0, "train": train, "test": test, "protocol": protocol,
        "train_labels": labels, "test_labels": labels, "sets": draw_evaluation_sets(
            train, test, protocol, 0), "bank_images": images, "image_size": None,
        "learner": learner, "dots": z @ z.T, "past_dots": z @ z.T,
        "positives": torch.eye(2 * HALF).roll(HALF, 0).bool(), "tau": 0.1, "kappa": 0.1,
        "kappa_past": 0.1, "mu": 0.3, "n": HALF, "m": HALF, "views:int": 2 * HALF, "z": z, "h": z,
        "p": torch.full((2 * HALF, 2 * HALF), 1 / 64), "p_past": torch.full(
            (2 * HALF, 2 * HALF), 1 / 64), "aligned": z, "targets": z, "predicted": z, "past": z,
        "labels:Tensor": torch.arange(2 * HALF) % 3, "size": 8, "policy": "reservoir",
        "generator": generator, "encoder": "cnn", "image_shape": (1, 8, 8), "in_dim": 8,
        "out_dim": 4, "arrivals": torch.arange(8), "features:Tensor": z, "stored": 0,
        "dataset": str(world.npz), "split": "train", "method": "er", "given": None,
        "files": image_files(str(world.photos)), "options": LoadOptions(),
        "path": Path("written.png"), "out": Path("new"), "run": Path("run"), "folder": Path("run"),
        "sources": [world.bench], "paths": [world.bench / "records.jsonl"],
        "folders": [Path("run")], "config": config, "kind": "batch",
        "measures": {"x": {"knn": 1.0}}, "bank_size": 6, "records": records, "columns": ("knn",),
        "width": 100,
        "facts": all_facts(), "method:Facts": method_facts("er"), "experiment": experiment,
        "experiment:str": "mu", "text": experiment.text, "chosen": None, "variants": (),
        "sections": read_sections(world.results), "section": read_sections(world.results)[0],
        "archive": read_archive(world.results), "pages": "f", "results": "RESULTS.md",
        "pictures": {"seq": np.eye(3)}, "counts": np.eye(3, dtype=int),
        "evaluations": [{"position": 8, "knn": 50.0, "acc": 40.0}],
        "floors": {}, "snapshots": [("a", features, labels)], "title": "x", "job": plan(
            experiment)[0], "how": HowToRun(), "state": learner.state_dict(), "meta": dict(
            learner.describe()), "record": records[0], "rows": {"x": {"knn": 1.0}},
        "encoder:nn.Module": build_encoder("cnn", (1, 8, 8), generator)[0],
        "module": build_encoder("cnn", (1, 8, 8), generator)[0], "inputs": torch.zeros(2, 1, 8, 8),
        "classes": np.arange(CLASSES), "device": "cpu", "file": StringIO(),
    }  # fmt: skip
    return found | _objects(world)


def _objects(world: World) -> dict[str, Any]:
    """Return valid arguments of the program's own types."""
    from rich.console import Console

    from scale.bench import BenchFolder, HowToRun, InProcess
    from scale.bench.display import BenchDisplay
    from scale.export import Exported
    from scale.live import Store
    from scale.runs.embed_learner import open_embedder

    def store() -> Store:
        return Store(Path(shutil.copytree(world.live, "live")))

    def folder() -> BenchFolder:
        return BenchFolder(Path("bench"))

    return {
        "jobs": [],
        "folder:BenchFolder": Made(folder),
        "engine:Engine": Made(lambda: InProcess(folder(), HowToRun())),
        "display:BenchDisplay": BenchDisplay(),
        "done": Exported(Path("m.onnx"), 1, (1, 8, 8), 128, 0.0, "x"),
        "embedder": Made(lambda: open_embedder(Path("run"), print)),
        "store": Made(store),
        "console": Made(lambda: Console(file=StringIO())),
    }


def _facts(encoder: str | None) -> Made:
    """Return what the tables of encoders show."""

    def make() -> Any:
        from scale.report.encoders import all_encoder_facts, encoder_facts

        return all_encoder_facts() if encoder is None else encoder_facts(encoder)

    return Made(make)


def _names() -> Path:
    """Write names of images, and return where."""
    Path("z.files.txt").write_text("a.png\n")
    return Path("z.files.txt")


SPECIAL: dict[str, dict[str, Any]] = {
    "scale.load": {"path": Path("run/learner.safetensors")},
    "scale.bench.load_experiment": {"name": "mu"},
    "scale.bench.parse_experiment": {"name": "mu"},
    "scale.data.get_dataset": {"name": "owner/shards"},
    "scale.runs.read_metrics": {"path": Path("run/metrics.jsonl")},
    "scale.report.method_facts": {"name": "er"},
    "scale.report.policy_facts": {"name": "psa"},
    "scale.report.read_sections": {"folder": Path("results")},
    "scale.report.append_evaluation": {"path": Path("new.jsonl")},
    "scale.report.keep_records": {"path": Path("new.jsonl")},
    "scale.bench.append_records": {"path": Path("new.jsonl")},
    "scale.bench.append_evaluation": {"path": Path("new.jsonl")},
    "scale.report.encoder_on_terminal": {"facts": _facts("cnn")},
    "scale.report.encoders_on_terminal": {"facts": _facts(None)},
    "scale.runs.read_names": {"path": Made(_names)},
    "scale.runs.embed_images": {"images": "run", "out": Path("z.npy")},
    "scale.ScalePlus.set_params": {},
}
"""Valid arguments of one function only."""


def example(known: dict[str, Any], name: str, hint: str) -> Any:
    """Return a valid argument for a parameter, by its name or else by its type."""
    found = _known(known, name, hint)
    return found.make() if isinstance(found, Made) else found


def _known(known: dict[str, Any], name: str, hint: str) -> Any:
    for key in known:
        head, _, kind = key.partition(":")
        if head == name and kind and kind in hint:
            return known[key]
    if name in known:
        return known[name]
    same = (one for one in known.values() if type(one).__name__ == hint.strip("'"))
    return next(same, _plain(hint))


def _plain(hint: str) -> Any:
    plain = {"int": 1, "float": 1.0, "str": "x", "bool": False, "path": Path("x"), "names": ()}
    return None if "None" in hint else plain.get(_kind(hint))


INTS = [-1, 0, 10**10, 2**63, -(2**70)]
TEXTS = ["no-such", "", "\0", "x" * 5000, "../..", "\udce9", "null-device"]
OBJECTS: list[Any] = [None, "x", 3, 2.5, [], {}, object(), b"x", float("nan"), True, print, int]


def wrong(hint: str) -> st.SearchStrategy[Wrong]:
    """Return a strategy of wrong arguments for a parameter with this annotation."""
    kind = _kind(hint)
    others = [one for one in OBJECTS if not _fits(one, kind, hint)]
    types = st.sampled_from(others).map(lambda value: Wrong(value, True))
    contents = {
        "int": st.sampled_from(INTS) | st.integers(max_value=-1),
        "float": st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 1e300]) | st.floats(),
        "str": st.sampled_from(TEXTS) | st.text(max_size=20),
        "path": st.sampled_from([Path(text) for text in TEXTS]),
        "paths": st.lists(st.sampled_from([Path("no-such"), Path(""), Path("null-device")])),
        "array": _arrays(),
        "tensor": _arrays().map(_tensor) | st.sampled_from(_odd_tensors()),
        "table": st.dictionaries(st.text(max_size=3), st.none() | st.integers(), max_size=2),
        "names": st.lists(st.sampled_from(TEXTS), max_size=2).map(tuple),
    }
    if kind not in contents:
        return types
    return types | contents[kind].map(lambda value: Wrong(value, False))


def _kind(hint: str) -> str:
    """Return the group of an annotation."""
    table = [
        (r"Tensor", "tensor"), (r"NDArray|ArrayLike|Images|Indices", "array"),
        (r"(Sequence|Iterable)\[Path\]", "paths"), (r"(Sequence|tuple)\[str|Names", "names"),
        (r"Mapping|dict", "table"), (r"^Path|\bPath\b", "path"), (r"\bint\b", "int"),
        (r"\bfloat\b", "float"), (r"\bstr\b|Literal|Annotated\[str|Like", "str"),
        (r"\bbool\b", "bool"),
    ]  # fmt: skip
    return next((kind for pattern, kind in table if re.search(pattern, hint)), "other")


def _fits(value: Any, kind: str, hint: str) -> bool:
    """Return whether a value is of the type that an annotation names."""
    if value is None:
        return "None" in hint or "Any" in hint
    types: dict[str, tuple[type, ...]] = {
        "int": (int,), "float": (int, float), "str": (str,), "path": (str, Path),
        "bool": (bool, int), "table": (dict,), "names": (list,), "paths": (list,),
        "array": (list, int, float), "tensor": (), "other": (),
    }  # fmt: skip
    return isinstance(value, types[kind])


def _arrays() -> st.SearchStrategy[Any]:
    kinds = ("u1", "i8", "f4", "f8", "?", "c8", "U2", "O", "M8[s]", ">i4", "u8")
    shapes = [(0,), (ROWS,), (ROWS, DIM), (ROWS, 1, 8, 8), (1, 1), (), (2, 3), (ROWS, 8, 8, 3),
              (0, 1, 8, 8), (7,), (8, 8), (2, 2, 2, 2, 2), (ROWS, 1, 0, 8)]  # fmt: skip
    made = [
        np.full(shape, value).astype(kind)
        for kind, value in zip(kinds, (1, 1, np.nan, 1e300, 1, 1j, 1, 1, 1, 1, 1), strict=True)
        for shape in shapes
    ]
    large = [np.full(ROWS, 10**12), np.full(ROWS, -1), np.arange(ROWS) * 1000, np.zeros(ROWS)]
    small = hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=4))
    return st.sampled_from([*made, *large]) | small


def _tensor(array: Any) -> Any:
    try:
        return torch.as_tensor(array)
    except (TypeError, ValueError):
        return torch.empty(0)


def _odd_tensors() -> list[Any]:
    return [
        torch.eye(2 * HALF).to_sparse(),
        torch.empty(2 * HALF, 2 * HALF, device="meta"),
        torch.full((2 * HALF, 2 * HALF), float("inf")),
        torch.zeros(2 * HALF, 2 * HALF),
        torch.ones(2 * HALF, DIM, dtype=torch.float16),
        torch.ones(HALF, DIM),
    ]
