"""The command ``scale status``."""

from __future__ import annotations

import json as json_module
import time
from pathlib import Path
from typing import Annotated, Any

import tyro

from scale.commands._terminal import put, table_console


def status(folder: Annotated[Path, tyro.conf.Positional], json: bool = False) -> None:
    """Show how a live learner is doing, running or not.

    Args:
        folder: Folder of the live learner.
        json: Print everything as JSON.
    """
    from scale.live import read_status

    found = read_status(folder)
    if json:
        put(json_module.dumps(found, indent=1) + "\n")
        return
    screen = table_console()
    for name, value in _lines(found):
        screen.say(f"{name:<12} {value}")


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the status as names and texts."""
    from scale._machine import in_words

    lines = [("state", found["state"] + (f": {found['problem']}" if found.get("problem") else ""))]
    for source in found["sources"]:
        said = f"; {source['message']}" if source["message"] else ""
        text = f"{source['uri']} ({source['kind']}): {source['state']}{said}"
        lines.append(("source", text))
    last = found["last_image"]
    when = "" if last is None else time.strftime(", last %Y-%m-%d %H:%M:%S", _local(last["taken"]))
    lines.append(("images", f"{found['images']}{when}"))
    if found["skipped"]:
        said = ", ".join(f"{reason} {count}" for reason, count in found["skipped"].items())
        lines.append(("skipped", said))
    lines.append(("dropped", str(found["dropped"])))
    if "step" in found:
        rates, queue, updates = found["images_per_second"], found["queue"], found["updates"]
        lines += [
            ("learned", f"{found['step']} batches; the checkpoint has {found['checkpoint']}"),
            ("rates", f"in {rates['in']:.1f}/s, learned {rates['learned']:.1f}/s"),
            ("waiting", f"{queue['waiting']} of at most {queue['room']}"),
            ("updates", f"{updates['now']} of {updates['usual']} per batch"),
        ]
        for name in ("loss", "effective_rank", "drift"):
            if found.get(name) is not None:
                lines.append((name.replace("_", " "), f"{found[name]:.3g}"))
        if found.get("guard") is not None:
            better = "yes" if found["guard"]["better"] else "not clearly"
            lines.append(("better", f"than its start: {better}"))
        lines.append(("memory", in_words(found["memory_bytes"])))
        if "events" in found:
            said = ", ".join(f"{count} {state}" for state, count in found["events"].items())
            lines.append(("events", said))
        for one in found.get("alerts", ()):
            why = f", the last because of {one['error']}" if one["error"] else ""
            said = f"{one['receiver']}: {one['sent']} sent, {one['failed']} failed{why}"
            kept = one.get("held", 0) + one.get("dropped", 0)
            more = f"; {kept} not sent, because there were too many" if kept else ""
            lines.append(("alerts", said + more))
    lines.append(("disk", in_words(found["disk_bytes"])))
    return lines


def _local(seconds: float) -> time.struct_time:
    """Return a time on this machine's clock; the first of all if it has none for it."""
    try:
        return time.localtime(seconds)
    except (OverflowError, ValueError, OSError):
        return time.localtime(0)
