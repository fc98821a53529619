"""Pages of results: RESULTS.md with headlines and verdicts, and a page for each question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from scale._markdown import markdown
from scale.bench import Record
from scale.evaluate import MEASURES
from scale.report.claims import VERDICTS, Finding, overall
from scale.report.groups import Group
from scale.report.names import code_of
from scale.report.paired import LEVEL, holm
from scale.report.reproduction import (
    COUNTING_RULE,
    VALUE_RULE,
    VERDICT_RULE,
    Claims,
    answer,
    claims_of,
    unknown_code,
    verdicts,
)
from scale.report.results import ARCHIVE, Archived, Section
from scale.report.table import UNKNOWN_CODE, VERSUS, ResultsTable

COLUMNS = 7
"""Most columns of a table on a page; the rest is in the CSV file."""


def results_page(sections: Sequence[Section], archive: Sequence[Archived], pages: str) -> str:
    """Return RESULTS.md: the answer in its first line, the headlines, and one table of verdicts.

    Parameters
    ----------
    sections, archive
        From `read_sections` and `read_archive`.
    pages
        Folder of the questions' pages, relative to this page.
    """
    parts = [
        f"# Is SCALE reproduced? {answer(sections)}\n",
        _reading(sections),
        "## Headlines\n",
        markdown(
            ["question", "answer", "runs", "our claims *"],
            [
                [
                    _link(s, pages),
                    s.answer,
                    str(len(s.records)),
                    _counts(claims_of([s], of_paper=False)),
                ]
                for s in sections
            ],
        ),
        "\\* Claims of our own: confirmed / undecided / refuted.\n" + _archive_line(archive, pages),
        "## The paper's claims and values\n",
        f"{VERDICT_RULE} {COUNTING_RULE} {VALUE_RULE}\n",
        _verdicts(sections, pages),
        "## How many comparisons\n",
        _comparisons([finding for section in sections for finding in section.findings]),
    ]
    return "\n".join(part for part in parts if part)


def question_page(section: Section) -> str:
    """Return the page of a question: answer, table, figure, verdicts, commands."""
    notes, table = section.notes, section.table
    parts = [f"# {notes.question}\n", f"**{section.answer}**\n"]
    parts += [f"{notes.about}\n"] if notes.about else []
    columns = _page_columns(table, notes.columns)
    parts += [_page_table(table, columns)]
    parts += ["\n".join(f"{note}  " for note in [*_special(table), *table.notes()]).rstrip() + "\n"]
    if notes.figure is not None:
        parts += [f"![{notes.question}]({section.name}.png)\n"]
    parts += [f"All measures, unrounded: [{section.name}.csv]({section.name}.csv).\n"]
    meanings = [f"- {m.title}: {m.meaning}" for n, m in MEASURES.items() if n in columns]
    parts += ["\n".join(meanings) + "\n"]
    parts += _verdict_tables(section.findings)
    parts += ["## How it was run\n", _facts(section)]
    return "\n".join(parts)


def archive_page(archive: Sequence[Archived], folder: str) -> str:
    """Return the page of the archive: its records, and why each was replaced.

    Parameters
    ----------
    archive
        From `read_archive`.
    folder
        Folder of the records, for the command that shows them.
    """
    lines = [
        [
            a.notes.title,
            a.notes.why,
            str(len(a.records)),
            _code_told(a.records),
            f"`{a.name}.jsonl`",
        ]
        for a in archive
    ]
    return "\n".join(
        [
            "# Which records have been replaced?\n",
            "These records describe older code or older settings. No headline and no claim uses "
            f"them. `scale table {folder}/{ARCHIVE}/NAME.jsonl` shows them.\n",
            markdown(["what", "why it is here", "runs", "code", "file"], lines),
        ]
    )


def _reading(sections: Sequence[Section]) -> str:
    known = sum(bool(code_of(record)) for s in sections for record in s.records)
    total = sum(len(section.records) for section in sections)
    code = f"The code is recorded for {known} of {total} runs."
    if not known:
        code = f"No record names the code that made it: code not recorded ({UNKNOWN_CODE})."
    return (
        "`scale results` makes this page from the records in `results/`; no number is typed. "
        "Each question has a page with its table, figure and commands.\n\n"
        f"{code}\n"
    )


def _counts(claims: Claims) -> str:
    count = Counter(overall(found) for found in claims.values())
    return " / ".join(str(count[verdict]) for verdict in VERDICTS) if claims else ""


def _verdicts(sections: Sequence[Section], pages: str) -> str:
    """Return the one table of verdicts: the paper's claims, then its values."""
    lines = [
        [*row.cells, f"[{row.section.name}]({pages}/{row.section.name}.md)"]
        for row in verdicts(sections)
    ]
    titles = ["the paper says", "where", "paper", "ours", "verdict", "page"]
    return markdown(titles, lines) + unknown_code(lines)


def _comparisons(findings: Sequence[Finding]) -> str:
    """Return the number of comparisons, and which hold after correcting for their number."""
    tested = [finding for finding in findings if finding.p is not None]
    p_values = [finding.p or 0.0 for finding in tested]
    confirmed = [f.verdict == "confirmed" for f in tested]
    strict = (1 - LEVEL) / max(len(tested), 1)
    kept = [
        f for f, ok, holds in zip(tested, confirmed, holm(p_values), strict=True) if ok and holds
    ]
    bonferroni = sum(ok and p <= strict for ok, p in zip(confirmed, p_values, strict=True))
    lines = [
        f"The pages hold {len(tested)} comparisons with an interval, the paper's claims and ours. "
        f"If all were independent and no effect were real, about {len(tested) / 20:.0f} of these "
        "95 % intervals would miss 0 by chance. The verdicts are not corrected for that.\n",
        f"{sum(confirmed)} comparisons are confirmed. With Holm's correction over all of them "
        f"{len(kept)} stay confirmed, with Bonferroni's {bonferroni}; three seeds leave little "
        "room for either.\n",
    ]
    by_claim: dict[str, list[str]] = defaultdict(list)
    for finding in kept:
        by_claim[finding.claim].append(f"{finding.other} ({finding.where})")
    lines += [f"- {claim}: {'; '.join(others)}" for claim, others in by_claim.items()]
    return "\n".join(lines) + "\n"


def _archive_line(archive: Sequence[Archived], pages: str) -> str:
    return f"Replaced records are in the [archive]({pages}/{ARCHIVE}.md).\n" if archive else ""


def _page_columns(table: ResultsTable, wanted: Sequence[str]) -> list[str]:
    """Return the columns of a page's table after where, features and seeds."""
    columns = [name for name in wanted if name in table.columns]
    if table.versus is not None:
        columns.insert(columns.index(table.versus.measure) + 1, VERSUS)
    return columns[: COLUMNS - 3]


def _page_table(table: ResultsTable, columns: Sequence[str]) -> str:
    """Return the page's table: one line for each row, floors once for each dataset."""
    lines = []
    for i, row, where, several in _rows(table.rows):
        cells = ["" if several and c == VERSUS else table.cell(i, c) for c in columns]
        lines.append([where, table.name(i), str(row.seeds), *cells])
    return markdown(["where", "features", "seeds", *map(table.title, columns)], lines)


def _rows(rows: Sequence[Group]) -> list[tuple[int, Group, str, bool]]:
    """Return each row with its place; a floor that is equal on all streams appears once."""
    once: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        if row.is_floor:
            once[row.dataset, row.name].append(i)
    shown: dict[int, bool] = {}
    for found in once.values():
        best = max(found, key=lambda i: rows[i].seeds)
        shown[best] = len(found) > 1 and all(_agree(rows[best], rows[i]) for i in found)
        shown |= {i: False for i in found if not shown[best]}
    lines = []
    for i, row in enumerate(rows):
        if not row.is_floor or i in shown:
            several = row.is_floor and shown[i]
            where = f"{row.dataset} {'any stream' if several else row.column}"
            lines.append((i, row, where, several))
    order = list(dict.fromkeys(row.dataset for row in rows))
    return sorted(lines, key=lambda line: (order.index(line[1].dataset), line[3]))


def _agree(one: Group, other: Group) -> bool:
    knn, theirs = one.measured.get("knn", {}), other.measured.get("knn", {})
    return all(abs(knn[seed] - theirs[seed]) < 0.5 for seed in theirs if seed in knn)


def _special(table: ResultsTable) -> list[str]:
    """Return the non-default options that all runs on a dataset share."""
    panels = dict.fromkeys(row.panel for row in table.rows if ", " in row.panel)
    return [f"{dataset}: {special}." for dataset, _, special in (p.partition(", ") for p in panels)]


def _verdict_tables(findings: Sequence[Finding]) -> list[str]:
    """Return tables of claims by dataset and stream, with reasons if they are not confirmed."""
    parts = []
    for title, of_paper in (("The paper's claims", True), ("Our claims", False)):
        found = [finding for finding in findings if finding.of_paper is of_paper]
        claims: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in found:
            claims[finding.claim, finding.where].append(finding)
        if not claims:
            continue
        lines = [
            [*key, overall(each), "; ".join(f"{f.other} {f.ours}" for f in each)]
            for key, each in claims.items()
        ]
        rule = VERDICT_RULE + (f" {VALUE_RULE}" if any(f.is_value for f in found) else "")
        titles = ["claim", "where", "verdict", "compared with, and our difference"]
        parts += [f"## {title}\n", f"{rule}\n", markdown(titles, lines)]
        reasons = dict.fromkeys(f.why for f in found if f.verdict != "confirmed" and f.why)
        if reasons:
            parts += ["Likely reasons where a claim is not confirmed:\n"]
            parts += ["\n".join(f"- {reason}" for reason in reasons) + "\n"]
    return parts


def _facts(section: Section) -> str:
    """Return commands, seeds, updates, images, time, code and versions, from the records."""
    notes, records = section.notes, section.records
    runs = [record["run"] for record in records]
    updates = {run["params"].get("steps_per_batch") for run in runs} - {None}
    images = {record["data"].get("images") for record in records} - {None}
    facts = [
        f"{len(runs)} runs, {_hours(records)} hours in all.",
        f"Seeds: {_listed({run['seed'] for run in runs})}. Updates for each batch: "
        f"{_listed(updates) or 'none'}. Images in a stream: {_listed(images) or 'not recorded'}.",
        f"Cut: {notes.cut}" if notes.cut else "",
        f"Code: {_code_told(records)}. Versions: {_versions(records)}.",
    ]
    parts = ["\n".join(f"- {fact}" for fact in facts if fact) + "\n"]
    for title, commands in (("Made by:", notes.commands), ("In full:", notes.in_full)):
        if commands:
            parts += [f"{title}\n", "\n".join(f"    {command}" for command in commands) + "\n"]
    return "\n".join(parts)


def _code_told(records: Sequence[Record]) -> str:
    codes = {
        code_of(record).get("commit", code_of(record).get("digest", ""))[:9] for record in records
    }
    return _listed({code or "not recorded" for code in codes})


def _link(section: Section, pages: str) -> str:
    return f"[{section.notes.question}]({pages}/{section.name}.md)"


def _listed(values: set[Any]) -> str:
    return ", ".join(str(value) for value in sorted(values))


def _versions(records: Sequence[Record]) -> str:
    found: dict[str, set[str]] = {}
    for record in records:
        for name in ("scale-lifelong", "python", "torch", "machine"):
            version = record.get("versions", {}).get(name, "not recorded")
            found.setdefault(name, set()).add(str(version))
    return ", ".join(f"{name} {_listed(values)}" for name, values in found.items())


def _hours(records: Sequence[Record]) -> str:
    """Return the CPU time in hours; runs without it count with their wall-clock time."""
    timings = [record["summary"]["timing"] for record in records]
    seconds = sum(timing.get("cpu_seconds", timing["wall_seconds"]) for timing in timings)
    return f"{seconds / 3600:.1f}"
