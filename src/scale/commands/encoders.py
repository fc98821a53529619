"""The command ``scale encoders``."""

from __future__ import annotations

from json import dumps

from tyro.conf import Positional

from scale.commands._terminal import put, table_console


def encoders(encoder: Positional[str | None] = None, *, json: bool = False) -> None:
    """List the encoders, and the forms of pretrained weights; or describe one.

    Args:
        encoder: Only this one: a name, NETWORK@FILE, or hf:OWNER/NAME, which is downloaded.
        json: Print the facts as JSON.
    """
    from scale import report

    facts = report.all_encoder_facts() if encoder is None else report.encoder_facts(encoder)
    if json:
        put(dumps(facts, indent=1) + "\n")
    elif encoder is None:
        table_console().print(*report.encoders_on_terminal(facts), sep="\n")
    else:
        table_console().print(report.encoder_on_terminal(facts))
