"""The paper's claims and values beside ours: verdicts, and the page on the reproduction."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scale._markdown import markdown
from scale.report.claims import VERDICTS, Finding, overall
from scale.report.results import Section
from scale.report.table import UNKNOWN_CODE

VERDICT_RULE = (
    "Confirmed: the 95 % confidence interval of the difference is above 0. Refuted: it is at or "
    "below 0. Otherwise undecided. One seed has no interval and decides nothing."
)
VALUE_RULE = (
    "A value of the paper is confirmed if it is inside our interval, and refuted if it is outside, "
    "above or below. One seed, or an interval of more than 10 points, leaves it undecided."
)
COUNTING_RULE = (
    "A claim counts once for each dataset, stream and measure; it is refuted if one of its "
    "comparisons is, and confirmed if all are."
)
SEVERAL = {"datasets": "dataset", "streams": "stream", "methods": "method"}
NO_SETTINGS = {*SEVERAL.values(), "seed", "seeds", "evaluations", "samples-per-class", "out"}
"""Options that the name of a row does not tell."""
Claims = dict[tuple[str, str, str], list[Finding]]


class Verdicts(NamedTuple):
    """A line of the table of verdicts."""

    section: Section
    cells: list[str]
    """Claim, where, paper, ours, verdict."""
    findings: list[Finding]


def reproduction_page(sections: Sequence[Section], pages: str, results: str) -> str:
    """Return the page that answers whether SCALE is reproduced: one table, with commands.

    Parameters
    ----------
    sections
        From `read_sections`.
    pages, results
        Folder of the questions' pages, and the page of all results, as seen from this one.
    """
    lines = [
        [*row.cells, "<br>".join(f"`{command}`" for command in commands_of(row))]
        for row in verdicts(sections)
    ]
    return "\n".join(
        [
            f"# Is SCALE reproduced?\n\n{answer(sections)}\n",
            f"`scale results` makes this page from the records. [All results]({results}) has a "
            "page for each question, with likely reasons where a claim is not confirmed.\n",
            f"- {VERDICT_RULE}\n- {COUNTING_RULE}\n- {VALUE_RULE}\n",
            markdown(["the paper says", "where", "paper", "ours", "verdict", "command"], lines)
            + unknown_code(lines),
            f"A difference is in points of kNN, with its interval. [SCALE]({pages}/scale.md) has "
            "the runs with the paper's number of updates; most others have a quarter of them.\n",
        ]
    )


def answer(sections: Iterable[Section]) -> str:
    """Return in one sentence how many claims of the paper are confirmed."""
    claims = claims_of(sections, of_paper=True)
    count = Counter(overall(found) for found in claims.values())
    word = "In part"
    if count["confirmed"] in (0, len(claims)):
        word = "Yes" if claims and count["confirmed"] else "No"
    told = ", ".join(f"{count[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{word}: of {len(claims)} claims of the paper, {told}."


def claims_of(sections: Iterable[Section], *, of_paper: bool) -> Claims:
    """Return the findings of each claim in each place; values of the paper's are no claims."""
    found: Claims = defaultdict(list)
    for section in sections:
        for finding in section.findings:
            if finding.of_paper is of_paper and not finding.is_value:
                found[section.name, finding.claim, finding.where].append(finding)
    return found


def verdicts(sections: Sequence[Section]) -> list[Verdicts]:
    """Return the lines of the table of verdicts: the paper's claims, then its values."""
    by_name = {section.name: section for section in sections}
    lines = []
    for (name, claim, where), found in claims_of(sections, of_paper=True).items():
        ours, paper = f"{found[0].other} {found[0].ours}", found[0].paper
        if len(found) > 1:
            count, paper = Counter(finding.verdict for finding in found), ""
            ours = ", ".join(f"{count[v]} {v}" for v in VERDICTS if count[v])
        cells = [claim, where, paper, ours, overall(found) + _mark(found)]
        lines.append(Verdicts(by_name[name], cells, found))
    values: dict[tuple[str, ...], Verdicts] = {}
    for section in sections:
        for f in section.findings:
            if f.is_value:  # runs that answer two questions are listed once
                cells = [f.claim, f.where, f.other, f.ours, f.verdict + _mark([f])]
                values.setdefault(tuple(cells), Verdicts(section, cells, [f]))
    return [*lines, *values.values()]


def unknown_code(lines: Iterable[Sequence[str]]) -> str:
    """Return the line below a table that explains the mark of unknown code, where there is one."""
    marked = any(UNKNOWN_CODE in cell for cells in lines for cell in cells)
    return f"\n{UNKNOWN_CODE} Code not recorded.\n" if marked else ""


def commands_of(row: Verdicts) -> list[str]:
    """Return the commands of a page that make the runs of a claim or of a value.

    They name its dataset, and its stream and methods if they name any. Of several, a value takes
    the one whose other options its row's name tells.
    """
    first = row.findings[0]
    dataset, stream = first.where.replace(",", "").split()[:2]
    methods = {(f.row if f.is_value else f.other).split()[0].rstrip(",") for f in row.findings}
    fitting = [
        command
        for command in row.section.notes.commands
        if dataset in (options := _options(command)).get("dataset", [dataset])
        and stream in options.get("stream", [stream])
        and not methods.isdisjoint(options.get("method", methods))
    ]
    if not first.is_value:
        return fitting
    points = {command: _told(_options(command), first.row) for command in fitting}
    return [command for command in fitting if points[command] == max(points.values())]


def _options(command: str) -> dict[str, list[str]]:
    """Return the values of each option of a command."""
    options: dict[str, list[str]] = defaultdict(list)
    name = ""
    for word in shlex.split(command):
        if word.startswith("--"):
            name = SEVERAL.get(word[2:], word[2:])
        elif name:
            options[name].append(word)
    return options


def _told(options: dict[str, list[str]], row: str) -> int:
    """Return how many settings of a command a row's name tells, minus those it does not."""
    settings = [found for name, found in options.items() if name not in NO_SETTINGS]
    return sum(1 if value in row else -1 for found in settings for value in found)


def _mark(findings: Sequence[Finding]) -> str:
    return "" if all(finding.code_known for finding in findings) else f" {UNKNOWN_CODE}"
