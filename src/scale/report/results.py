"""The questions in a folder of results: records, notes on them, and what they answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from scale._errors import InputError
from scale._schema import read_toml
from scale.bench import Record, read_records
from scale.evaluate import MEASURES
from scale.report.claims import Claim, Finding, check_claim, check_levels
from scale.report.groups import Group
from scale.report.paired import find_group, paired_difference
from scale.report.records import is_of_run
from scale.report.table import ResultsTable, make_table

ARCHIVE = "archive"
TEMPLATE = re.compile(r"\{(\w+):([^{}@]+)@([^{}@]+)\}")
"""A number in an answer: {measure:row@dataset stream} or {measure:row - row@dataset stream}."""


class Notes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the file beside some records says about them."""

    question: str
    answer: str
    """In a sentence; its numbers are templates that the records fill."""
    order: int = 100
    """Place among the questions."""
    about: str = ""
    """What was compared, and on what."""
    commands: list[str] = []
    """Commands that make the records."""
    in_full: list[str] = []
    """Commands that run it without the cuts."""
    cut: str = ""
    """What is cut, compared with the paper."""
    columns: list[str] = []
    """Measures of the table."""
    against: str | None = None
    """The row that the others are compared with."""
    figure: str | None = None
    """Kind of the figure; none when not given."""
    levels_why: str = ""
    """The most likely reason for a value that is not the paper's."""
    claims: list[Claim] = []


class ArchiveNotes(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the file beside archived records says about them."""

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
        """Return what the records say about the claims and about the paper's values."""
        rows = self.table.rows
        of_claims = [finding for claim in self.notes.claims for finding in check_claim(claim, rows)]
        return of_claims + check_levels(rows, self.notes.levels_why)

    @cached_property
    def answer(self) -> str:
        """Return the answer, its numbers filled in from the records."""
        return TEMPLATE.sub(lambda found: self._number(*found.groups()), self.notes.answer)

    @property
    def _compared(self) -> str | None:
        """Return the measure that rows are compared by."""
        first = next((name for name in self.notes.columns if name in MEASURES), None)
        return first if self.notes.against else None

    def _number(self, measure: str, names: str, place: str) -> str:
        """Return a mean with one decimal, or the difference of two rows with its interval."""
        first, _, other = names.partition(" - ")
        rows = [self._row(name, place) for name in (first, other) if name]
        if measure not in MEASURES or any(not row.values(measure) for row in rows):
            raise InputError(f"the answer of {self.name} asks for {measure} of {names} on {place}")
        if len(rows) == 1:
            return f"{rows[0].mean(measure):.1f}"
        difference = paired_difference(rows[0].measured[measure], rows[1].measured[measure])
        return "" if difference is None else difference.text(1)

    def _row(self, name: str, place: str) -> Group:
        dataset, _, stream = place.partition(" ")
        row = find_group(self.table.rows, (dataset, stream), name)
        if row is None:
            raise InputError(f"the answer of {self.name} names {name} on {place}: no such row")
        return row


@dataclass(frozen=True)
class Archived:
    """Records that others have replaced."""

    name: str
    records: list[Record]
    notes: ArchiveNotes


def read_sections(folder: Path) -> list[Section]:
    """Return the questions in a folder, in the order that their notes give.

    Parameters
    ----------
    folder
        With files NAME.jsonl of records and NAME.toml of notes on them.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; expected one of records and notes")
    found = [
        Section(path.stem, records, read_toml(path.read_text(), Notes, str(path)))
        for path, records in _with_records(folder)
    ]
    if not found:
        raise InputError(f"there are no notes (NAME.toml beside NAME.jsonl) in {folder}")
    return sorted(found, key=lambda section: (section.notes.order, section.name))


def read_archive(folder: Path) -> list[Archived]:
    """Return what lies in the folder `archive` of a folder of results."""
    return [
        Archived(path.stem, records, read_toml(path.read_text(), ArchiveNotes, str(path)))
        for path, records in _with_records(folder / ARCHIVE)
    ]


def _with_records(folder: Path) -> Sequence[tuple[Path, list[Record]]]:
    found = []
    for path in sorted(folder.glob("*.toml")):
        beside = path.with_suffix(".jsonl")
        if not beside.is_file():
            raise InputError(f"{path} has no records beside it; expected {beside}")
        found.append((path, [record for record in read_records([beside]) if is_of_run(record)]))
    return found
