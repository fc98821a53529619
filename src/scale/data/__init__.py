"""Where images come from: datasets by name, folders, arrays, the built-in one."""

from scale.data._imageset import ImageSet
from scale.data.arrays import as_images
from scale.data.download import get_dataset
from scale.data.files import image_files, load_files
from scale.data.hub import registered_name
from scale.data.load import load_dataset
from scale.data.registry import DATASETS, LoadOptions, register_dataset
from scale.data.status import DatasetStatus, list_datasets

__all__ = [
    "DATASETS",
    "DatasetStatus",
    "ImageSet",
    "LoadOptions",
    "as_images",
    "get_dataset",
    "image_files",
    "list_datasets",
    "load_dataset",
    "load_files",
    "register_dataset",
    "registered_name",
]
