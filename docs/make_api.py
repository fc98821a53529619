"""Print docs/api.md, the API reference, from the docstrings: python docs/make_api.py."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import textwrap
from typing import Any

import scale

HEAD = """\
# API

What can I call from Python, and what does it take?

`python docs/make_api.py` prints this page from the docstrings; `help(scale.ScalePlus)` shows more.
[Extending](extending.md) shows how to use the hooks and `register_...`.
"""
MODULES = {
    "scale.methods": "ScalePlus SCALE Learner ContrastiveLearner Replay Past load register_method",
    "scale.data": "load_dataset ImageSet LoadOptions DatasetCard card_for register_dataset",
    "scale.streams": "make_order Stream batches class_over_time register_stream",
    "scale.memory": "Memory Policy Candidates PolicyKnowledge register_policy",
    "scale.losses": "",
    "scale.evaluate": "guard Guard Evaluator Protocol protocol_for draw_evaluation_sets hold_out "
    "knn_accuracy linear_probe clustering_accuracy forgetting effective_rank",
    "scale.testing": "",
}
"""Modules and the names that are shown; without any, all functions."""
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


def page() -> str:
    """Return the page."""
    parts = [HEAD, _top()]
    for name, wanted in MODULES.items():
        module = importlib.import_module(name)
        parts.append(f"## {name}\n\n{_first(module)}\n")
        for shown in wanted.split() or module.__all__:
            part = getattr(module, shown)
            if wanted or inspect.isfunction(part):
                parts.append(_entry(shown, part))
    return "\n".join(parts)


def _top() -> str:
    lines = ["## scale\n", "Everything that most programs need:\n"]
    for name in scale.__all__:
        lines.append(f"- `scale.{name}`: {_first(getattr(scale, name))}")
    return "\n".join(lines) + "\n"


def _entry(name: str, part: Any) -> str:
    lines = [f"### {name}\n", f"`{_signature(name, part)}`\n", f"{_first(part)}\n"]
    if inspect.isclass(part):
        lines += _fields(part)
    lines += _described(part)
    if inspect.isclass(part):
        lines += _methods(part)
    return "\n".join(lines)


def _signature(name: str, part: Any) -> str:
    """Return the call with names and defaults; the fields of a dataclass are listed below it."""
    if dataclasses.is_dataclass(part):
        return f"{name}(...)"
    parameters = list(inspect.signature(part).parameters.values())
    shown = [_parameter(parameter) for parameter in parameters]
    keyword_only = [parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters]
    if any(keyword_only):
        shown.insert(keyword_only.index(True), "*")
    return f"{name}({', '.join(text for text in shown if text not in ('self', 'cls'))})"


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        prefix = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}
        return prefix.get(parameter.kind, "") + parameter.name
    return f"{parameter.name}={parameter.default!r}"


def _fields(part: type) -> list[str]:
    """Return the parameters that a dataclass adds to its bases, with what is written below each."""
    if not dataclasses.is_dataclass(part):
        return []
    told = {name: " ".join(text.split()) for name, text in _below(part).items()}
    own = [field for field in dataclasses.fields(part) if field.name in told]
    lines = [f"- `{field.name}`{_default(field)}: {told[field.name]}" for field in own]
    bases = [base.__name__ for base in part.__bases__ if dataclasses.is_dataclass(base)]
    if bases:
        lines.append(f"- and the parameters of {', '.join(bases)}")
    return ["\n".join(lines) + "\n"] if lines else []


def _below(part: type) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(part))
    return dict(re.findall(r'^    (\w+): [^\n]*\n    """(.*?)"""', source, re.M | re.S))


def _default(field: dataclasses.Field[Any]) -> str:
    missing = field.default is dataclasses.MISSING
    return "" if missing else f" = `{field.default!r}`"


def _methods(part: type) -> list[str]:
    found = []
    for name, member in vars(part).items():
        inner = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
            continue
        call = name if isinstance(member, property) else _signature(name, inner)
        found.append(f"- `{call}`: {_first(inner)}")
    return ["Methods:\n\n" + "\n".join(found) + "\n"] if found else []


def _first(part: Any) -> str:
    """Return the first paragraph of a docstring as one line."""
    return " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())


def _described(part: Any) -> list[str]:
    """Return the parameters and what is returned, as lists."""
    text = inspect.getdoc(part) or ""
    pieces = SECTION.split(text)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    lists = []
    for title in ("Parameters", "Returns", "Yields", "Attributes"):
        body = sections.get(title, "")
        items = re.findall(r"^(\S[^\n]*)\n((?:(?:    [^\n]*)?\n?)*)", body, re.M)
        lines = [f"- `{name}`: {' '.join(told.split())}" for name, told in items if told.strip()]
        if lines:
            heading = f"{title}:\n\n" if title != "Parameters" else ""
            lists.append(heading + "\n".join(lines) + "\n")
    return lists


if __name__ == "__main__":
    print(page(), end="")
