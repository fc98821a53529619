"""Where images come from: datasets by name, folders, files, arrays, the built-in digits."""

from scale.data._imageset import ImageSet
from scale.data.arrays import as_images
from scale.data.card import DatasetCard
from scale.data.download import get_dataset
from scale.data.image_files import image_files, load_files
from scale.data.load import load_dataset
from scale.data.registry import (
    DATASETS,
    LoadOptions,
    card_for,
    register_dataset,
    registered_name,
)
from scale.data.status import DatasetStatus, list_datasets

__all__ = [
    "DATASETS",
    "DatasetCard",
    "DatasetStatus",
    "ImageSet",
    "LoadOptions",
    "as_images",
    "card_for",
    "get_dataset",
    "image_files",
    "list_datasets",
    "load_dataset",
    "load_files",
    "register_dataset",
    "registered_name",
]
