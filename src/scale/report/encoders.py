"""Facts about encoders: parameters, features, input and licence."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import torch
from rich.table import Table
from rich.text import Text

from scale._text import printable
from scale.models import ENCODERS, FORMS, is_pretrained, open_encoder
from scale.models.weights import Input

IMAGE = (3, 32, 32)  # described without images of the user
Facts = dict[str, Any]


def encoder_facts(encoder: str) -> Facts:
    """Return the facts of an encoder, as plain values with fixed keys.

    The keys are ``encoder``, ``network``, ``description``, ``parameters`` (their number),
    ``features``, ``mean``, ``std``, ``sides`` (least and most), ``licence`` and ``sha256``; the
    last five are None for random weights.

    Examples
    --------
    >>> facts = encoder_facts("cnn")
    >>> facts["features"], facts["licence"]
    (128, None)
    """
    # Random weights need not be drawn to be counted.
    device = contextlib.nullcontext() if is_pretrained(encoder) else torch.device("meta")
    with device:
        made = open_encoder(encoder, IMAGE, torch.Generator())
    weights = made.weights
    network = encoder if weights is None else weights.network
    return {
        "encoder": encoder,
        "network": network,
        "description": _description(network),
        "parameters": sum(one.numel() for one in made.module.parameters()),
        "features": made.features,
        "mean": None if weights is None else list(weights.mean),
        "std": None if weights is None else list(weights.std),
        "sides": None if weights is None else [weights.least_side, weights.most_side],
        "licence": None if weights is None else weights.licence,
        "sha256": None if weights is None else weights.sha256,
    }


def all_encoder_facts() -> Facts:
    """Return the facts of all registered ``encoders``, and the ``forms`` of a specification."""
    return {"encoders": [encoder_facts(name) for name in ENCODERS], "forms": dict(FORMS)}


def encoders_on_terminal(facts: Facts) -> list[Table]:
    """Return the tables of `all_encoder_facts`."""
    names = Table(title="Encoders")
    for title in ("name", "description", "parameters", "features", "pretrained at"):
        number = title in ("parameters", "features")
        names.add_column(title, justify="right" if number else "left", no_wrap=title == "name")
    for one in facts["encoders"]:
        names.add_row(
            *(printable(one["encoder"]), printable(one["description"])),
            *(_millions(one["parameters"]), str(one["features"]), _usual_sides(one["encoder"])),
        )
    forms = Table(title="What --encoder takes")
    forms.add_column("form", no_wrap=True)
    forms.add_column("meaning")
    for form, meaning in facts["forms"].items():
        forms.add_row(form, meaning)
    return [names, forms]


def encoder_on_terminal(facts: Facts) -> Table:
    """Return the table of `encoder_facts`."""
    table = Table(title=Text(printable(facts["encoder"]), style="table.title"), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    rows = {
        "network": facts["network"],
        "description": facts["description"],
        "parameters": _millions(facts["parameters"]),
        "features": str(facts["features"]),
    }
    if is_pretrained(facts["encoder"]):
        least, most = facts["sides"]
        rows |= {
            "input": f"{least} pixels a side" if least == most else f"{least} to {most} pixels",
            "mean": _three(facts["mean"]),
            "std": _three(facts["std"]),
            "licence": facts["licence"],
            "sha256": facts["sha256"],
        }
    for name, value in rows.items():
        table.add_row(name, Text(printable(value)))
    return table


def _description(network: str) -> str:
    if network not in ENCODERS:
        return "a vision transformer of transformers"
    text = inspect.getdoc(ENCODERS[network]) or ""
    first = text.partition("\n")[0].removeprefix("Return ")
    return first[:1].upper() + first[1:]


def _usual_sides(name: str) -> str:
    with torch.device("meta"):
        usual: Input | None = getattr(ENCODERS[name](IMAGE), "usual_input", None)
    return "" if usual is None else f"{usual.least} to {usual.most} pixels"


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f} million" if count >= 1e5 else str(count)


def _three(values: list[float]) -> str:
    return " ".join(f"{value:.3f}" for value in values)
