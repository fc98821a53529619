"""The registered datasets, and whether they are on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scale._errors import ScaleError
from scale.data.digits import Digits
from scale.data.fruits import LocalFolder
from scale.data.hub import HubDataset, find_hub_folder
from scale.data.parquet import count_rows, find_splits
from scale.data.registry import DATASETS, Loader


@dataclass(frozen=True)
class DatasetStatus:
    """A registered dataset and its place on this machine."""

    name: str
    hub_id: str | None
    present: bool
    where: str
    splits: dict[str, int] = field(default_factory=dict)
    size: int = 0


def list_datasets() -> list[DatasetStatus]:
    """Return the status of every registered dataset; it decodes no image.

    Examples
    --------
    >>> next(one.splits for one in list_datasets() if one.name == "digits8")
    {'train': 1348, 'test': 449}
    """
    return [_status(name, DATASETS[name]) for name in DATASETS]


def _status(name: str, loader: Loader) -> DatasetStatus:
    if isinstance(loader, Digits):
        return DatasetStatus(name, None, True, "built in", dict(loader.counts))
    if isinstance(loader, LocalFolder):
        folder = loader.folder()
        where = f"not here: {loader.about}, in $SCALE_DATA" if folder is None else str(folder)
        return DatasetStatus(name, None, folder is not None, where)
    if not isinstance(loader, HubDataset):
        return DatasetStatus(name, None, True, f"registered by {loader.__module__}")
    folder = find_hub_folder(loader.hub_id)
    if folder is None:
        return DatasetStatus(name, loader.hub_id, False, f"not here: scale data get {name}")
    return _hub_status(loader, folder)


def _hub_status(dataset: HubDataset, folder: Path) -> DatasetStatus:
    files = find_splits(folder)
    try:
        splits = {
            split: count_rows(files[split], dataset.card.label, dataset.card.first_classes)
            for split in sorted(files, key=lambda split: (split != "train", split))
        }
        size = sum(file.stat().st_size for group in files.values() for file in group)
    except (ScaleError, OSError) as error:
        return DatasetStatus(dataset.name, dataset.hub_id, False, str(error))
    return DatasetStatus(dataset.name, dataset.hub_id, True, str(folder), splits, size)
