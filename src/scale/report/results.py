"""RESULTS.md: what was run, with which settings, and what agrees with the paper."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale.bench import Record, read_records
from scale.report.claims import VERDICTS, Claim, Finding, Verdict, check_claim, check_levels
from scale.report.formats import markdown
from scale.report.sources import is_of_run
from scale.report.table import ResultsTable, make_table

NOTES = {
    "title",
    "about",
    "command",
    "in_full",
    "cut",
    "columns",
    "against",
    "figure",
    "levels_why",
}
HEAD = """\
# Results

Made by `scale results {folder} --out {out}` from the records in `{folder}/`: no number was typed.
Each section is a file of records, one JSON line for each run with its config, seed, versions and
time, and a `.toml` beside it that says what the records are for.

"±" is the standard deviation over seeds. Brackets are 95 % confidence intervals: of a mean, or of a
difference paired over seeds. Rows `floor: x` are features that learn nothing, measured within the
runs, and `paper` is the paper's own kNN. A claim that something is better agrees with our records
when the whole interval of the difference says so, and does not when none of it does; one that a
measure is at least or at most some value is held against the interval of our mean in the same way.
A value of the paper's agrees when it is within that interval, unless it reaches more than five
points to either side: then it is undecided. Tables of claims name what the better one was compared
with, and the difference, under the verdict.
"""


@dataclass(frozen=True)
class Section:
    """A file of records and what its notes say of it."""

    name: str
    records: list[Record]
    title: str
    about: str = ""
    """What question the records answer."""
    command: str = ""
    """What made them."""
    cut: str = ""
    """What is less than the paper's, and why."""
    in_full: str = ""
    """What runs it without that."""
    columns: tuple[str, ...] = ()
    against: str | None = None
    """The row that the others are compared with."""
    figure: str | None = None
    """Kind of the figure; none when not given."""
    levels_why: str = ""
    """The most likely reason for a level that is not the paper's."""
    claims: tuple[Claim, ...] = field(default=())

    def table(self) -> ResultsTable:
        """Return the table of the records."""
        return make_table(self.records, self.columns, against=self.against)

    def findings(self) -> list[Finding]:
        """Return what the records say to the claims and to the paper's values."""
        rows = self.table().rows
        of_claims = [finding for claim in self.claims for finding in check_claim(claim, rows)]
        return of_claims + check_levels(rows, self.levels_why)


def read_sections(folder: Path) -> list[Section]:
    """Return the sections in a folder: files of records that have notes, in the notes' order.

    Parameters
    ----------
    folder
        With files NAME.jsonl and NAME.toml; `order` in a notes file sorts it, 100 when not given.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; expected one of records and notes")
    found = []
    for path in sorted(folder.glob("*.toml")):
        records = path.with_suffix(".jsonl")
        if not records.is_file():
            raise InputError(f"{path} has no records beside it; expected {records}")
        notes = _read_notes(path)
        order = notes.pop("order", 100)
        claims = tuple(Claim.parse(claim, str(path)) for claim in notes.pop("claims", []))
        unknown = sorted(set(notes) - NOTES)
        if unknown or "title" not in notes:
            problem = f"there is no note {unknown[0]!r}" if unknown else "it has no 'title'"
            known = ", ".join(sorted(NOTES | {"order", "claims"}))
            raise InputError(f"{path}: {problem} (known: {known})")
        notes["columns"] = tuple(notes.get("columns", ()))
        runs = [record for record in read_records([records]) if is_of_run(record)]
        found.append((order, path.stem, Section(path.stem, runs, claims=claims, **notes)))
    if not found:
        raise InputError(f"there are no notes (NAME.toml beside NAME.jsonl) in {folder}")
    return [section for _, _, section in sorted(found, key=lambda item: item[:2])]


def results_page(sections: Sequence[Section], folder: str, out: str, figures: str) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    sections
        From `read_sections`.
    folder, out, figures
        Where records come from, where the page goes, and where its figures are, as the page says.
    """
    findings = {section.name: section.findings() for section in sections}
    parts = [HEAD.format(folder=folder, out=out), _overview(sections, findings)]
    for section in sections:
        parts.append(_section(section, findings[section.name], figures))
    return "\n".join(parts)


def _overview(sections: Sequence[Section], findings: dict[str, list[Finding]]) -> str:
    lines = []
    for section in sections:
        count = Counter(finding.verdict for finding in findings[section.name] if finding.of_paper)
        told = [str(count[verdict]) for verdict in VERDICTS]
        link = f"[{section.title}](#{_anchor(section.title)})"
        lines.append([link, str(len(section.records)), _cpu_hours(section.records), *told])
    titles = ["what", "runs", "hours", "claims of the paper that hold", "undecided", "do not hold"]
    return markdown(titles, lines)


def _section(section: Section, findings: list[Finding], figures: str) -> str:
    lines = [f"## {section.title}", ""]
    lines += [section.about, ""] if section.about else []
    lines += [f"- {fact}" for fact in _facts(section)] + [""]
    lines += [section.table().markdown()]
    if section.figure is not None:
        lines += [f"![{section.title}]({figures}/{section.name}.png)", ""]
    if findings:
        lines += [_verdicts("the paper's claim", [f for f in findings if f.of_paper])]
        lines += [_verdicts("our claim", [f for f in findings if not f.of_paper])]
    reasons = dict.fromkeys(f.why for f in findings if f.verdict != "agrees" and f.why)
    if reasons:
        lines += ["Most likely reasons where it does not agree or is undecided:", ""]
        lines += [f"- {reason}" for reason in reasons] + [""]
    return "\n".join(lines)


def _verdicts(title: str, findings: list[Finding]) -> str:
    """Return a table of claims and places; what was measured stands under its verdict."""
    if not findings:
        return ""
    lines: dict[tuple[str, str], dict[Verdict, list[str]]] = {}
    for finding in findings:
        line = lines.setdefault((finding.claim, finding.where), {v: [] for v in VERDICTS})
        line[finding.verdict].append(finding.measured)
    cells = [[*key, *("; ".join(line[v]) for v in VERDICTS)] for key, line in lines.items()]
    return markdown([title, "where", *VERDICTS], cells)


def _facts(section: Section) -> list[str]:
    """Return what was run, from the records themselves."""
    runs = [record["run"] for record in section.records]
    updates = {
        run["params"]["steps_per_batch"] for run in runs if "steps_per_batch" in run["params"]
    }
    images = {record["data"]["images"] for record in section.records}
    facts = [
        f"made by `{section.command}`" if section.command else "",
        f"{len(runs)} runs; seeds {_values({run['seed'] for run in runs})}; updates per batch "
        f"{_values(updates) or 'none'}; images in a stream {_values(images)}; "
        f"{_cpu_hours(section.records)} hours in all",
        f"versions: {_versions(section.records)}",
        f"cut: {section.cut}" if section.cut else "",
        f"in full: `{section.in_full}`" if section.in_full else "",
    ]
    return [fact for fact in facts if fact]


def _values(values: set[Any]) -> str:
    return ", ".join(str(value) for value in sorted(values))


def _versions(records: Sequence[Record]) -> str:
    found: dict[str, set[str]] = {}
    for record in records:
        for name in ("scale-lifelong", "python", "torch", "machine"):
            found.setdefault(name, set()).add(str(record["versions"].get(name, "unknown")))
    return ", ".join(f"{name} {_values(values)}" for name, values in found.items())


def _cpu_hours(records: Sequence[Record]) -> str:
    """Return the CPU's time in hours, or that on the wall where it was not measured."""
    timings = [record["summary"]["timing"] for record in records]
    seconds = sum(timing.get("cpu_seconds", timing["wall_seconds"]) for timing in timings)
    return f"{seconds / 3600:.1f}"


def _anchor(title: str) -> str:
    """Return what Markdown viewers call a heading."""
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _read_notes(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"cannot read the notes {path}: {error}") from error
