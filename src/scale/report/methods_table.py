"""The methods as tables, for a terminal and for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scale._errors import InputError
from scale._markdown import markdown
from scale._names import shown
from scale.report.methods import Facts
from scale.report.paper_table import ABOUT, paper_table_cells

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

WIDE = 150  # least width of a terminal for descriptions beside the facts
LEGEND = (
    "knows: what a method sees beyond the images: class labels, boundaries between classes or "
    "tasks, the number of classes, many passes over the stream. views: random views of each stream "
    "image. updates: backward passes that each stream image takes part in. replayed: views of "
    "images from memory for each stream batch. All with the default parameters."
)
COSTS = ("memory", "views", "replayed", "updates")


def methods_markdown(facts: dict[str, list[Facts]]) -> str:
    """Return Markdown tables of the methods, of the memory policies and of the paper's Table 1."""
    _check_facts(facts)
    methods = [[*_method_cells(method), method["description"]] for method in facts["methods"]]
    policies = [_policy_cells(policy) for policy in facts["memory_policies"]]
    parts = [
        markdown(["method", "knows", *COSTS, "what it does"], methods),
        _legend(facts["methods"]) + "\n",
        markdown(["memory policy", "knows", "what it does"], policies),
        ABOUT + "\n",
        markdown(*paper_table_cells(facts["paper_table"])),
    ]
    return "\n".join(parts)


def _check_facts(facts: object) -> None:
    if not isinstance(facts, dict) or not {"methods", "memory_policies"} <= set(facts):
        raise InputError(f"facts must be those of all_facts(), got {shown(facts)}")


def methods_on_terminal(facts: dict[str, list[Facts]], width: int) -> list[RenderableType]:
    """Return tables for a terminal: methods, as two if it is narrow; policies; the Table 1."""
    from rich.text import Text

    _check_facts(facts)
    methods = facts["methods"]
    policies = [_policy_cells(policy) for policy in facts["memory_policies"]]
    cells = [_method_cells(method) for method in methods]
    descriptions = [[method["description"]] for method in methods]
    if width >= WIDE:
        both = [[*a, *b] for a, b in zip(cells, descriptions, strict=True)]
        shown = [_table("methods", ["method", "knows", *COSTS, "what it does"], both)]
    else:
        named = [[a[0], *b] for a, b in zip(cells, descriptions, strict=True)]
        shown = [
            _table("methods", ["method", "what it does"], named),
            _table("what they know and cost", ["method", "knows", *COSTS], cells),
        ]
    below = _table(
        "memory policies (--memory-policy)", ["policy", "knows", "what it does"], policies
    )
    header, rows = paper_table_cells(facts["paper_table"])
    paper = _table("the paper's Table 1", header[:-1], [row[:-1] for row in rows])
    differs = [[row[0], row[-1]] for row in rows if row[-1]]
    reading = _table("what the released code says", [header[0], header[-1]], differs)
    last = Text("scale methods NAME shows one method and its parameters")
    legend, about = Text(_legend(methods), style="dim"), Text(ABOUT, style="dim")
    return [*shown, legend, Text(), below, paper, reading, about, last]


def method_on_terminal(method: Facts) -> list[RenderableType]:
    """Return tables of one method: its facts, presets and parameters."""
    from rich.text import Text

    facts = [
        ["knows", _knows(method)],
        ["memory", method["memory"]],
        ["views of each image", str(method["views"])],
        ["updates with each image", str(method["backwards"])],
        ["replayed views per batch", str(method["replayed_views"])],
    ]
    if method["reference"]:
        facts.append(["reference", method["reference"]])
    for name, preset in method["presets"].items():
        changes = ", ".join(f"{key} {value}" for key, value in preset.items())
        facts.append([f"--preset {name}", changes])
    parameters = [
        ["--" + parameter["name"].replace("_", "-"), str(parameter["default"]), parameter["help"]]
        for parameter in method["parameters"]
    ]
    title = Text(f"{method['name']}: {method['description']}", style="bold")
    about = [Text(), Text(method["about"])] if method["about"] else []
    options = _table("parameters", ["option of scale run", "default", "what it is"], parameters)
    return [title, *about, _table(None, None, facts), options]


def _legend(methods: list[Facts]) -> str:
    default = next(method["name"] for method in methods if method["default"])
    return f"{LEGEND} scale run takes {default} when no method is named."


def _method_cells(method: Facts) -> list[str]:
    costs = [str(method[name] or "") for name in ("views", "replayed_views", "backwards")]
    return [method["name"], _knows(method), method["memory"], *costs]


def _policy_cells(policy: Facts) -> list[str]:
    return [policy["name"], _knows(policy), policy["description"]]


def _knows(facts: Facts) -> str:
    """Return the inputs of a method or policy beyond the images, in words."""
    words = {"num_classes": "number of classes", "many_passes": "many passes"}
    known = [words.get(name, name) for name, holds in facts["knows"].items() if holds]
    return ", ".join(known) or "nothing"


def _table(title: str | None, header: list[str] | None, rows: list[list[str]]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_header=header is not None,
    )
    for i, name in enumerate(header or [""] * len(rows[0])):
        numbers = name in COSTS[1:]
        table.add_column(
            name, no_wrap=i == 0 or name == "method", justify="right" if numbers else "left"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    return table
