"""The record of a campaign: a JSON line for each part, and the table that shows them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos.judge import KINDS
from chaos.report import Campaign
from scale.report.formats import markdown

COUNTS = ("cases", "kills", "inside")
HEAD = ["part", "commit", "seeds", "cases", "kills", "failures", "covered"]


def append(campaign: Campaign, part: str, path: Path) -> None:
    """Add what one part found to the file `path`, with the code and the rules that it ran with."""
    counts = campaign.parts[part]
    line: dict[str, Any] = {
        "part": part,
        "seed": campaign.seed,
        "short": campaign.short,
        "code": _code(),
        "rules": digest_of(Path(__file__).parent),
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
    """Return the counts in a file of records as Markdown: a row for each part of each commit."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    commits = list(dict.fromkeys(_label(line["code"]) for line in lines))
    for line in sorted(lines, key=lambda one: commits.index(_label(one["code"]))):
        groups.setdefault((line["part"], _label(line["code"])), []).append(line)
    ordered = sorted(groups.items(), key=lambda one: list(PARTS).index(one[0][0]))
    rows = [[part, commit, *_row(found)] for (part, commit), found in ordered]
    return markdown(HEAD, [*rows, *_totals(groups, commits)])


def digest_of(folder: Path) -> str:
    """Return 16 hex digits of a hash of the Python files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _code() -> dict[str, Any]:
    import scale
    from scale.runs import RunConfig, code_of

    known = code_of(RunConfig())
    return {
        "digest": digest_of(Path(scale.__file__).parent),
        "commit": known["commit"],
        "changed": known["changed"],
    }


def _label(code: dict[str, Any]) -> str:
    commit = (code["commit"] or code["digest"])[:7]
    return f"{commit} with changes" if code["changed"] else commit


def _row(found: list[dict[str, Any]]) -> list[str]:
    seeds = " ".join(str(line["seed"]) for line in found)
    covered = [line["covered"] for line in found if "covered" in line]
    best = max(covered, default=None)
    return [seeds, *_counts(found), f"{best[0]} of {best[1]}" if best else ""]


def _counts(found: list[dict[str, Any]]) -> Iterator[str]:
    cases, kills, inside = (sum(line[name] for line in found) for name in COUNTS)
    yield str(cases)
    yield f"{kills}, {inside} at checkpoints" if kills else ""
    kinds = {kind: sum(line["failures"].get(kind, 0) for line in found) for kind in KINDS}
    yield ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count) or "0"


def _totals(groups: dict[tuple[str, str], Any], commits: list[str]) -> list[list[str]]:
    rows = []
    for commit in commits:
        found = [line for (_, one), lines in groups.items() if one == commit for line in lines]
        rows.append(["all", commit, "", *_counts(found), ""])
    return rows


PARTS = ("options", "files", "functions", "kills", "disk", "surroundings", "threads")
"""The parts in the order of the table."""
