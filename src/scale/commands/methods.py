"""The command ``scale methods``."""

from __future__ import annotations

from json import dumps
from typing import Any

from tyro.conf import Positional

from scale._errors import InputError
from scale.commands._terminal import put, table_console


def methods(
    name: Positional[str | None] = None, *, json: bool = False, markdown: bool = False
) -> None:
    """List the methods, what each one sees and costs, and the memory policies.

    Args:
        name: Only this method, with its parameters, presets and reference.
        json: Print the facts as JSON; scale.report.method_facts documents the keys.
        markdown: Print the list as Markdown tables.
    """
    from scale import report

    if name is not None and markdown:
        raise InputError("--markdown is for the list of all methods; leave out one of the two")
    facts: Any = report.all_facts() if name is None else report.method_facts(name)
    console = table_console()
    if json:
        put(dumps(facts, indent=1, default=str) + "\n")
    elif markdown:
        put(report.methods_markdown(facts))
    elif name is None:
        console.print(*report.methods_on_terminal(facts, console.width), sep="\n")
    else:
        console.print(*report.method_on_terminal(facts), sep="\n")
