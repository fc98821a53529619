"""The table of a campaign, its coverage, its defects, and its summary as JSON."""

from __future__ import annotations

import json
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from chaos.judge import KINDS, Case, Finding, Result, without_numbers


@dataclass
class Campaign:
    """The counts and failures of all cases so far."""

    seed: int
    short: bool = False
    parts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[tuple[Case, Finding]] = field(default_factory=list)
    wanted: dict[str, list[str]] = field(default_factory=dict)
    covered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: float = 0.0

    def add(self, case: Case, result: Result) -> None:
        """Add a case's result."""
        counts = self.parts[case.part]
        counts["cases"] += result.cases
        counts["kills"] += result.kills
        counts["inside"] += result.inside
        if result.cases:
            self.covered[case.part].add(case.subject)
        for finding in result.findings:
            counts[finding.kind] += 1
            self.failures.append((case, finding))

    @property
    def failed(self) -> bool:
        """Whether anything was found."""
        return bool(self.failures)

    def missing(self, part: str) -> list[str]:
        """Return the subjects of a part without a case."""
        return [one for one in self.wanted.get(part, ()) if one not in self.covered[part]]

    def defects(self) -> list[list[tuple[Case, Finding]]]:
        """Return the failures in groups of one cause each, the largest first."""
        groups: dict[tuple[str, ...], list[tuple[Case, Finding]]] = defaultdict(list)
        for case, finding in self.failures:
            told = finding.kind in ("traceback", "raw")  # the cause says where
            subject = case.subject if case.part in ("options", "files") else ""
            where = ("", "") if told else (case.part, subject)
            groups[*where, finding.kind, without_numbers(finding.what)].append((case, finding))
        return sorted(groups.values(), key=len, reverse=True)

    def summary(self) -> dict[str, Any]:
        """Return counts, coverage and defects for JSON."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds),
            "parts": {part: dict(counts) for part, counts in self.parts.items()},
            "total": dict(sum(self.parts.values(), Counter())),
            "coverage": {
                part: {"subjects": len(all_), "missing": self.missing(part)}
                for part, all_ in self.wanted.items()
            },
            "defects": [
                {
                    "kind": group[0][1].kind,
                    "what": group[0][1].what,
                    "cases": len(group),
                    "command": group[0][0].command,
                    "case": group[0][0].name,
                    "part": group[0][0].part,
                    "others": [case.name for case, _ in group[1:6]],
                    "detail": group[0][1].detail[-1500:],
                }
                for group in self.defects()
            ],
        }


def write(campaign: Campaign, path: Path) -> None:
    """Write the summary as JSON."""
    path.write_text(json.dumps(campaign.summary(), indent=1) + "\n")


def show(campaign: Campaign, console: Console) -> None:
    """Print the counts, the coverage and each defect with what repeats it."""
    kinds = [kind for kind in KINDS if any(c[kind] for c in campaign.parts.values())]
    table = Table("part", "cases", "kills", *kinds, title="failures by part", title_justify="left")
    rows = [*campaign.parts.items(), ("total", sum(campaign.parts.values(), Counter()))]
    for part, counts in rows:
        table.add_row(part, *(str(counts[name]) for name in ("cases", "kills", *kinds)))
    console.print(table)
    for part, all_ in campaign.wanted.items():
        missing = campaign.missing(part)
        share = 100 * (1 - len(missing) / max(1, len(all_)))
        console.print(f"{part}: {share:.0f} % of {len(all_)} subjects have a case", highlight=False)
        if missing and share > 50:
            console.print(f"  without: {', '.join(missing)}", markup=False, highlight=False)
    for group in campaign.defects():
        case, finding = group[0]
        short = " --short" if campaign.short else ""
        which = f"--seed {campaign.seed}{short} --only {case.part} --case {shlex.quote(case.name)}"
        told = f"{finding.kind} ({len(group)} cases): {finding.what}"
        for line in (told, f"  {case.command}", f"  again: python -m chaos {which}", ""):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def markdown(campaign: Campaign) -> str:
    """Return the defects as a Markdown list."""
    lines = ["# Defects that the campaign found", ""]
    for group in campaign.defects():
        case, finding = group[0]
        lines += [f"- **{finding.kind}** x {len(group)} ({case.part}): {finding.what}"]
        for one, _ in group[:3]:
            lines.append(f"  - `{one.command or one.name}`")
    return "\n".join(lines) + "\n"
