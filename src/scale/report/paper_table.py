"""The paper's Table 1: what each system is told, and where released code says otherwise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

PASSES = "the released runs make many passes"


@dataclass(frozen=True)
class System:
    """A row of the paper's Table 1, as printed, and our reading."""

    system: str
    """Name in the paper."""
    method: str
    """Name of our method."""
    single_pass: bool
    """The paper: it sees each image once."""
    non_iid: bool
    """The paper: it learns from non-iid data."""
    no_task_labels: bool
    """The paper: it is told no task labels or boundaries."""
    no_class_labels: bool
    """The paper: it is told no class labels."""
    reading: str = ""
    """Where released code differs, as far as it was read for this table."""


TABLE_1 = (
    System("VASE", "vase", False, True, True, True, "no code was released"),
    System(
        "CURL",
        "curl",
        False,
        True,
        True,
        True,
        "the default takes snapshots exactly at class changes; its other mode knows no boundary",
    ),
    System(
        "L-VAEGAN",
        "lvaegan",
        False,
        True,
        True,
        True,
        "training is told the task: its index is the domain of generator and classifier",
    ),
    System("He et al.", "pseudo-labels", True, True, False, True, "no code was found"),
    System("CCSL", "ccsl", True, True, False, True, f"{PASSES} (200 epochs for each task)"),
    System("CaSSLe", "cassle", True, True, False, True),
    System("LUMP", "lump", True, True, False, True),
    System(
        "Tiezzi et al.",
        "coherence",
        True,
        True,
        True,
        False,
        f"labels change no weight, they name templates; {PASSES} (32 laps)",
    ),
    System(
        "KIERA",
        "kiera",
        True,
        True,
        True,
        False,
        "labels change no weight, they name clusters after learning; task changes are told",
    ),
    System("STAM", "stam", True, True, True, True),
    System("SCALE", "scale", True, True, True, True),
)
COLUMNS = ("single pass", "non-iid", "no task labels", "no class labels")
ABOUT = (
    "The paper's Table 1, as printed, and where the released code says otherwise. Here none of "
    "them is told task labels, boundaries, class labels or the number of classes, and all see each "
    "image once."
)


def paper_table() -> list[dict[str, Any]]:
    """Return the rows of the paper's Table 1 as plain values.

    Examples
    --------
    >>> [row["system"] for row in paper_table() if not row["no_task_labels"]]
    ['He et al.', 'CCSL', 'CaSSLe', 'LUMP']
    """
    return [asdict(row) for row in TABLE_1]


def paper_table_cells(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells of the table as text."""
    names = [column.replace(" ", "_").replace("-", "_") for column in COLUMNS]
    cells = []
    for row in rows:
        told = ["yes" if row[name] else "no" for name in names]
        cells.append([row["system"], row["method"], *told, row["reading"]])
    return ["system", "method", *COLUMNS, "released code"], cells
