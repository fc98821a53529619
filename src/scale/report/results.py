"""The questions in a folder of results: records, notes on them, and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from scale._errors import InputError
from scale._files import as_path, write_atomic
from scale._schema import read_toml_file
from scale.bench import Record, read_records
from scale.evaluate import MEASURES
from scale.report.claims import Claim, Finding, check_claim, check_levels
from scale.report.names import code_of, same_text, settings_of
from scale.report.paired import find_group, find_pair, paired_difference
from scale.report.records import is_of_run
from scale.report.table import ResultsTable, make_table

ARCHIVE = "archive"
TEMPLATE = re.compile(r"\{(\w+):([^{}@]+)@([^{}@]+)\}")
"""A number in an answer: {measure:row@dataset stream} or {measure:row - row@dataset stream}."""


class Notes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Notes on records, from the file NAME.toml beside NAME.jsonl."""

    question: str
    answer: str
    """The answer in a few sentences; the records fill in its numbers (see `TEMPLATE`)."""
    order: int = 100
    """Place among the questions."""
    about: str = ""
    """The compared methods, the data and the stream."""
    commands: list[str] = []
    """Commands that make the records."""
    in_full: list[str] = []
    """Commands that run it in full, like the paper."""
    cut: str = ""
    """Cuts compared with the paper."""
    columns: list[str] = []
    """Measures of the table."""
    against: str | None = None
    """The row to compare the others with."""
    figure: str | None = None
    """Kind of the figure; None draws no figure."""
    levels_why: str = ""
    """The most likely reason for values that differ from the paper's."""
    claims: list[Claim] = []


class ArchiveNotes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Notes on archived records."""

    title: str
    why: str
    """Why the records are in the archive."""


@dataclass(frozen=True)
class Section:
    """A question, and the records that answer it."""

    name: str
    records: list[Record]
    notes: Notes

    @cached_property
    def table(self) -> ResultsTable:
        """Return the table of the records, with all their measures."""
        return make_table(self.records, against=self.notes.against, measure=self._compared)

    @cached_property
    def findings(self) -> list[Finding]:
        """Return the verdicts on the claims and on the paper's values."""
        rows = self.table.rows
        of_claims = [finding for claim in self.notes.claims for finding in check_claim(claim, rows)]
        return of_claims + check_levels(rows, self.notes.levels_why)

    @cached_property
    def answer(self) -> str:
        """Return the answer with its numbers filled in."""
        return TEMPLATE.sub(lambda found: self._number(*found.groups()), self.notes.answer)

    @property
    def _compared(self) -> str | None:
        """Return the measure to compare, or None without a comparison."""
        first = next((name for name in self.notes.columns if name in MEASURES), None)
        return first if self.notes.against else None

    def _number(self, measure: str, names: str, place: str) -> str:
        """Return a mean with one decimal, or the difference of two rows with its interval."""
        dataset, _, stream = place.partition(" ")
        first, _, other = names.partition(" - ")
        rows, at = self.table.rows, (dataset, stream)
        if not other:
            row = find_group(rows, at, first)
            if row is not None and row.values(measure):
                return f"{row.mean(measure):.1f}"
        else:
            pair = find_pair(rows, (at, first), (at, other))
            values = [row.measured.get(measure, {}) for row in pair if row is not None]
            if len(values) == 2 and (difference := paired_difference(*values)):
                return difference.text(1)
        raise InputError(
            f"the answer of {self.name} needs {measure} of {names} on {place}, and no record has "
            "it; add the records or change the answer"
        )


@dataclass(frozen=True)
class Archived:
    """Records that others have replaced."""

    name: str
    records: list[Record]
    notes: ArchiveNotes


def read_sections(folder: Path) -> list[Section]:
    """Return the questions in a folder, in the order of their notes.

    Parameters
    ----------
    folder
        Folder with records, NAME.jsonl, and notes on them, NAME.toml.
    """
    folder = as_path("folder", folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; expected one of records and notes")
    found = [
        Section(path.stem, records, read_toml_file(path, Notes))
        for path, records in _with_records(folder)
    ]
    if not found:
        raise InputError(f"there are no notes (NAME.toml beside NAME.jsonl) in {folder}")
    return sorted(found, key=lambda section: (section.notes.order, section.name))


def read_archive(folder: Path) -> list[Archived]:
    """Return the records in the folder `archive` of a folder of results."""
    return [
        Archived(path.stem, records, read_toml_file(path, ArchiveNotes))
        for path, records in _with_records(as_path("folder", folder) / ARCHIVE)
    ]


def archive_replaced(folder: Path) -> int:
    """Move replaced records to the folder `archive`; return their number.

    A record without code is replaced if a record of known code in the same file has its seed and
    all its recorded settings.
    """
    moved = 0
    for path, records in _with_records(folder):
        known = [record for record in records if code_of(record)]
        old = [r for r in records if not code_of(r) and any(_replaces(new, r) for new in known)]
        if not old:
            continue
        beside = folder / ARCHIVE / path.name
        question = read_toml_file(path, Notes).question
        kept = read_records([path.with_suffix(".jsonl")])
        before = beside.with_suffix(".jsonl")
        archived = read_records([before]) if before.is_file() else []
        _write(before, [*archived, *old])
        if not beside.is_file():
            why = "Records of known code have replaced them."
            write_atomic(beside, f"title = {json.dumps(question)}\nwhy = {json.dumps(why)}\n")
        _write(path.with_suffix(".jsonl"), [record for record in kept if record not in old])
        moved += len(old)
    return moved


def _replaces(new: Record, old: Record) -> bool:
    settings, recorded = settings_of(new), settings_of(old)
    same = all(
        name in settings and same_text(settings[name]) == same_text(value)
        for name, value in recorded.items()
    )
    return same and new["run"]["seed"] == old["run"]["seed"]


def _write(path: Path, records: Sequence[Record]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in records))


def _with_records(folder: Path) -> Sequence[tuple[Path, list[Record]]]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        beside = path.with_suffix(".jsonl")
        if not beside.exists():
            raise InputError(f"{path} has no records beside it; expected {beside}")
        found.append((path, [record for record in read_records([beside]) if is_of_run(record)]))
    return found
