"""The model card: what a learner was fed, how it was measured, and how to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scale._errors import ScaleError
from scale._markdown import markdown
from scale._text import printable
from scale.evaluate import FLOORS, MEASURES
from scale.export.export import start_licence
from scale.methods import Learner
from scale.report.names import dataset_title
from scale.runs import code_label
from scale.runs.config import CONFIG, read_config
from scale.runs.run_folder import SUMMARY_REMEDY, read_json
from scale.runs.verdict import verdict

TAGS = ("self-supervised-learning", "continual-learning", "scale-lifelong")


def model_card(
    run: Path, learner: Learner, name: str, *, with_learner: bool, licence: str | None = None
) -> str:
    """Return the README.md of a model on the hub, made from the record of its run.

    Parameters
    ----------
    run
        Folder of the run, or a saved learner, which has no record.
    learner
        Its learner.
    name
        Name of the model, for the lines that use it.
    with_learner
        Whether the learner itself is published, not only its export.
    licence
        Licence of the model, as the hub writes it, for example mit.
    """
    record = _record(run)
    sections = [
        _header(licence),
        f"# {_title(learner, record)}",
        "Embeds images. It learned online from an unlabelled stream, each image once.",
        _use(learner, name, with_learner),
        _fed(learner, record),
        _measured(learner, record),
        _about(learner, record, licence, with_learner),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _record(run: Path) -> dict[str, Any]:
    """Return config.json with the summary of a finished run; empty for a saved learner."""
    if not (run / CONFIG).is_file():
        return {}
    record = dict(read_config(run))
    if (run / "summary.json").is_file():
        record["summary"] = read_json(run / "summary.json", SUMMARY_REMEDY)
    return record


def _header(licence: str | None) -> str:
    lines = [f"license: {licence}"] if licence else []
    lines += ["library_name: scale-lifelong", "pipeline_tag: image-feature-extraction", "tags:"]
    return "\n".join(["---", *lines, *(f"- {tag}" for tag in TAGS), "---"])


def _title(learner: Learner, record: dict[str, Any]) -> str:
    if not record:
        return learner.name
    return f"{learner.name} on {_dataset(record)}, stream {record['run']['stream']}"


def _dataset(record: dict[str, Any]) -> str:
    return dataset_title(record["run"]["dataset"])


def _use(learner: Learner, name: str, with_learner: bool) -> str:
    channels, height, width = learner.image_shape_ or (3, 0, 0)
    shape = f"{channels} x {height} x {width}"
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    load = [
        "import scale",
        "",
        f'learner = scale.load("{name}")  # pip install scale-lifelong',
        "z = learner.transform(images)  # the same numbers; it can go on learning",
    ]
    lines = [
        "## Use",
        "",
        "```python",
        "import numpy as np",
        "import onnxruntime",
        "from PIL import Image, ImageOps",
        "",
        f'photo = Image.open("photo.jpg").convert("{mode}")',
        f"photo = ImageOps.fit(photo, ({width}, {height}), Image.Resampling.BILINEAR)",
        f"images = np.asarray(photo).reshape(1, {height}, {width}, {channels})"
        f".transpose(0, 3, 1, 2)  # uint8, n x {shape}",
        'session = onnxruntime.InferenceSession("learner.onnx")',
        'z = session.run(None, {"images": images})[0]  # one row for each image',
        "```",
    ]
    return "\n".join([*lines, "", "```python", *load, "```"] if with_learner else lines)


def _fed(learner: Learner, record: dict[str, Any]) -> str:
    if not record:
        seen = "" if learner.memory_ is None else f" It saw {learner.memory_.seen} images."
        return f"## What it was fed\n\nNot recorded: it was not made by `scale run`.{seen}"
    data, run = record["data"], record["run"]
    names = ", ".join(printable(one) for one in data["class_names"][:20])
    classes = f" of {len(data['class_names'])} classes ({names})" if names else ""
    start = record.get("start")
    lines = [
        "## What it was fed",
        "",
        f"{data['images']} images{classes} of {_dataset(record)}, "
        f"{' x '.join(map(str, data['image_shape']))} pixels, in {data['batches']} batches, in the "
        f"order `{run['stream']}`, seed {run['seed']}. No labels"
        + (" except those its method needs." if learner.needs_labels else "."),
    ]
    if start is not None:
        lines.append(f"It went on from a learner that had seen {start['images']} images.")
    return "\n".join(lines)


def _measured(learner: Learner, record: dict[str, Any]) -> str:
    summary, protocol = record.get("summary", {}), record.get("protocol") or {}
    evaluation = record.get("data", {}).get("evaluation")
    if "knn" not in summary or not evaluation:
        why = "the run is not finished" if record and not summary else "there were no labels"
        return f"## How it was measured\n\nIt was not: {why if record else 'there is no record'}."
    names = [name for name, one in MEASURES.items() if one.on_screen and name in summary]
    titles = [f"{MEASURES[name].title} {MEASURES[name].unit}".strip() for name in names]
    rows = {FLOORS.get(name, name): row for name, row in summary.get("floors", {}).items()}
    rows[summary["method"]] = summary
    table = markdown(
        ["features", *titles],
        [
            [label, *(f"{row[name]:.1f}" if name in row else "" for name in names)]
            for label, row in rows.items()
        ],
    )
    meanings = "".join(f"- {MEASURES[name].title}: {MEASURES[name].meaning}\n" for name in names)
    labels = "" if learner.needs_labels else " Labels were used to measure, not to learn."
    return (
        f"## How it was measured\n\n{verdict(summary).text}{labels} The frozen learner at the end "
        f"of the stream embedded {evaluation['eval']:,} images of {evaluation['classes']} classes "
        f"and {evaluation['bank']:,} labelled ones to compare with (k = {protocol.get('k', '?')}). "
        "The other rows are features that learn nothing, on the same images."
        f"\n\n{table}\n{meanings}"
    ).rstrip()


def _about(
    learner: Learner, record: dict[str, Any], licence: str | None, with_learner: bool
) -> str:
    start = start_licence(learner)
    kept = 0 if learner.memory_ is None else len(learner.memory_)
    lines = [
        f"- Licence: {licence or 'not stated by its author'}.",
        *([f"- It started from pretrained weights under {start}."] if start else []),
        f"- Code: {code_label(record)}.",
        f"- Parameters: {_parameters(learner)}.",
    ]
    if with_learner and kept:
        lines.append(f"- `learner.safetensors` holds {kept} images of the stream, its memory.")
    return "\n".join(["## About", "", *lines])


def _parameters(learner: Learner) -> str:
    try:
        given = {k: v for k, v in learner.describe()["params"].items() if k != "device"}
    except ScaleError:
        given = {}
    return ", ".join(f"{name} {printable(_public(value))}" for name, value in given.items())


def _public(value: object) -> str:
    """Return a parameter as text; of a file of weights only its name, because a card is public."""
    network, at, path = str(value).partition("@")
    return f"{network}@{Path(path).name}" if at else network
