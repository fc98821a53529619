"""The record of a campaign: a JSON line for each part, and the table that shows them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos.judge import KINDS
from chaos.report import Campaign
from scale._markdown import markdown

COUNTS = ("cases", "kills", "inside")
HEAD = ["part", "cases", "kills", "at checkpoints", "failures", "covered", "commit"]


def append(
    campaign: Campaign, part: str, path: Path, code: dict[str, Any], *, whole: bool = True
) -> None:
    """Add what one part found to the file `path`, with the code that it ran with.

    `whole` is False for a part that was stopped.
    """
    counts = campaign.parts[part]
    line: dict[str, Any] = {
        "part": part,
        "seed": campaign.seed,
        "short": campaign.short,
        "whole": whole,
        **code,
        **{name: counts[name] for name in COUNTS},
        "failures": {kind: counts[kind] for kind in KINDS if counts[kind]},
        "defects": [
            f"{group[0][1].kind} x {len(group)}: {group[0][0].name[:120]}: {group[0][1].what}"
            for group in campaign.defects()
            if group[0][0].part == part
        ],
    }
    if part in campaign.wanted:
        wanted, missing = campaign.wanted[part], campaign.missing(part)
        line["covered"] = [len(wanted) - len(missing), len(wanted)]
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")


def table(path: Path) -> str:
    """Return the counts of the last campaign in a file of records as Markdown.

    A part has the lines of the code that it ran with last; its row says which code that is.
    """
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    rows, kept = [], []
    for part in PARTS:
        found = [line for line in lines if line["part"] == part]
        found = [line for line in found if line["code"]["digest"] == found[-1]["code"]["digest"]]
        if found:
            stopped = "" if all(line.get("whole", True) for line in found) else ", stopped"
            rows.append([f"{part}{stopped}", *_counts(found), _covered(found), _code_of(found)])
            kept += found
    seeds = " ".join(str(seed) for seed in sorted({line["seed"] for line in kept}))
    table = markdown(HEAD, [*rows, ["all", *_counts(kept), "", ""]])
    return f"Seed: {seeds}.\n\n{table}"


def digest_of(folder: Path) -> str:
    """Return 16 hex digits of a hash of the Python files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def code_here() -> dict[str, Any]:
    """Return which code and which rules a campaign runs with; ask before it starts."""
    import scale
    from scale.runs import RunConfig, code_of

    known = code_of(RunConfig())
    code = {
        "digest": digest_of(Path(scale.__file__).parent),
        "commit": known["commit"],
        "changed": known["changed"],
    }
    return {"code": code, "rules": digest_of(Path(__file__).parent)}


def _code_of(lines: list[dict[str, Any]]) -> str:
    """Return the code of a part: its commit, or a digest of its source."""
    code = lines[-1]["code"]
    if not code["commit"]:
        return f"digest {code['digest'][:8]}"
    return f"{code['commit'][:7]}{' with changes' if code['changed'] else ''}"


def _counts(found: list[dict[str, Any]]) -> Iterator[str]:
    for name in COUNTS:
        yield str(sum(line[name] for line in found) or "")
    kinds = {kind: sum(line["failures"].get(kind, 0) for line in found) for kind in KINDS}
    yield ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "0"


def _covered(found: list[dict[str, Any]]) -> str:
    best = max((line["covered"] for line in found if "covered" in line), default=None)
    return f"{best[0]} of {best[1]}" if best else ""


PARTS = ("options", "files", "functions", "kills", "disk", "surroundings", "threads")
"""The parts in the order of the table."""
