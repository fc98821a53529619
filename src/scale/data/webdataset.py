"""Load images from webdataset shards: .tar files whose members `key.jpg`, `key.cls` are a sample.

Images stay in the tar files until they are decoded.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._files import check_file
from scale._names import did_you_mean
from scale.data._imageset import ImageSet
from scale.data.arrays import number_labels
from scale.data.cached_images import cached_images
from scale.data.decode import Encoded, Item
from scale.data.listing import fingerprint, is_clutter
from scale.data.registry import LoadOptions
from scale.data.shards import find_shards, shards_of_pattern
from scale.data.splits import match_split
from scale.data.tar_index import LARGEST_TEXT, Member, list_members, read_member

IMAGES = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm", "pgm", "avif", "jp2")
_LABELS = ("cls", "json")


@dataclass
class Sample:
    """The members of one key: places by extension, and the content of those with the label."""

    key: str
    members: dict[str, Member] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)

    def image(self, path: Path) -> Member:
        """Return the image; an empty member if there is none, which the decoder reports."""
        found = [ext for ext in self.members if ext.rsplit(".", 1)[-1] in IMAGES]
        plain = [ext for ext in found if "." not in ext] or found
        if len(plain) > 1:
            raise InputError(
                f"{self.key!r} in {path} has several images ({', '.join(plain)}); keep one of them"
            )
        return self.members[plain[0]] if plain else Member(self.key, 0, 0)

    def label(self, asked: str | None, path: Path) -> int | str | None:
        """Return the label: `.cls`, or what `.json` has as `label`; None without one."""
        name = f"{self.key!r} in {path}"
        if asked in self.texts and asked != "json":
            return _of_text(self.texts[asked], name)
        if asked is None and "cls" in self.texts:
            return _of_text(self.texts["cls"], name)
        if "json" not in self.texts:
            return None
        return _of_json(self.texts["json"], asked, name)


@dataclass(frozen=True)
class Index:
    """Where the images of some shards are.

    Attributes
    ----------
    files
        The shards.
    names
        Name of each image in its shard.
    places
        (n, 4) shard, offset, size, and position among the images of the shard.
    labels
        One of each image, or None.
    """

    files: tuple[Path, ...]
    names: Sequence[str]
    places: npt.NDArray[np.int64]
    labels: list[int | str] | None

    @classmethod
    def of(cls, files: Sequence[Path], label: str | None) -> Index:
        """List the images of `files`; only labels are read."""
        names: list[str] = []
        places = array("q")
        labels: list[int | str | None] = []
        for number, path in enumerate(files):
            for at, sample in enumerate(_samples(path, label)):
                image = sample.image(path)
                names.append(image.name)
                places.extend((number, image.offset, image.size, at))
                labels.append(sample.label(label, path))
        if not names:
            raise InputError(f"{files[0]} has no images; give shards with members such as a.jpg")
        table = np.array(places, dtype=np.int64).reshape(-1, 4)
        index = cls(tuple(files), names, table, None)
        if not table[:, 2].any():
            raise InputError(
                f"{files[0]} has no images, only members such as {names[0]}; give shards with "
                f"members such as a.jpg, a.png or a.webp"
            )
        return cls(tuple(files), names, table, index._checked(labels, label))

    def part(self, start: int, stop: int) -> Index:
        """Return some of the images, without labels."""
        return Index(self.files, self.names[start:stop], self.places[start:stop], None)

    def items(self, start: int = 0, stop: int | None = None) -> Iterator[Item]:
        """Yield the encoded images, read one by one."""
        opened, at = -1, slice(start, stop)
        file: IO[bytes] | None = None
        with ExitStack() as stack:
            for name, place in zip(self.names[at], self.places[at].tolist(), strict=True):
                number, offset, size, _ = place
                path = self.files[number]
                if file is None or opened != number:
                    stack.close()
                    file, opened = stack.enter_context(open(check_file(path), "rb")), number
                yield f"{name} in {path}", read_member(file, Member(name, offset, size), path)

    def name(self, at: int) -> str:
        """Return how errors call an image."""
        return f"{self.names[at]!r} in {self.files[self.places[at, 0]]}"

    def _checked(self, labels: list[int | str | None], asked: str | None) -> list[int | str] | None:
        there = [one for one in labels if one is not None]
        if not there:
            if asked is not None:
                raise InputError(
                    f"{self.files[0]} has no label {asked!r}; it must be the ending of a member, "
                    "such as cls, or a name in its .json"
                )
            return None
        if len(there) < len(labels):
            without = next(at for at, one in enumerate(labels) if one is None)
            raise InputError(
                f"{self.name(without)} has no label and others have; add it, or remove the image"
            )
        return there


def load_webdataset(
    splits: dict[str, list[Path]], split: str, options: LoadOptions, name: str, where: str
) -> ImageSet:
    """Return the images of one split of shards, in their order."""
    encoded = open_webdataset(splits, split, options.label, name, where)
    # Pixels at full size would be a second copy of the set on disk.
    return cached_images(encoded, options, keep=options.image_size is not None)


def open_webdataset(
    splits: dict[str, list[Path]], split: str, label: str | None, name: str, where: str
) -> Encoded:
    """List the images of one split; words are numbered over all splits."""
    chosen = match_split(split, splits, where)
    files = splits[chosen]
    index = Index.of(files, label)
    others = [files for other, files in splits.items() if other != chosen]
    labels, class_names = _numbered(index.labels, others, label, where)
    return Encoded(
        name=name,
        source=where,
        total=len(index.names),
        items=index.items,
        labels=labels,
        class_names=class_names,
        identity=("webdataset", [str(file.resolve()) for file in files]),
        fingerprint=fingerprint(files, files[0].parent),
    )


def shard_splits(source: str | Path) -> tuple[dict[str, list[Path]], str] | None:
    """Return the shards of a pattern, a .tar file or a folder by split, and a name for the set.

    Return None if `source` is something else.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        found = find_shards(path)
        return (found, path.resolve().name) if found else None
    if str(source).lower().endswith(".tar"):
        return shards_of_pattern(str(source)), path.stem
    return None


def first_images(source: str, most: int) -> Iterator[bytes]:
    """Yield the first encoded images of shards; nothing if `source` is something else."""
    shards = shard_splits(source)
    if shards is None:
        return
    path = next(iter(shards[0].values()))[0]
    for sample in islice(_samples(path, None), most):
        with open(path, "rb") as file:
            yield read_member(file, sample.image(path), path)


def _numbered(
    values: list[int | str] | None, others: list[list[Path]], label: str | None, where: str
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...]]:
    if values is None:
        return None, ()
    if not any(isinstance(one, str) for one in values):
        return number_labels(values, where)
    words = {str(one) for one in values}
    for files in others:
        words |= {str(one) for one in Index.of(files, label).labels or ()}
    names = tuple(sorted(words))
    numbers = {word: number for number, word in enumerate(names)}
    return np.array([numbers[str(one)] for one in values], dtype=np.int64), names


def _samples(path: Path, label: str | None) -> Iterator[Sample]:
    """Group the members of a shard that follow each other and have one key."""
    wanted = {*_LABELS, *([label] if label else [])}
    sample: Sample | None = None
    for member, file in list_members(path):
        folder, _, base = member.name.rpartition("/")
        if is_clutter(base) or "__MACOSX" in folder:
            continue
        stem, _, ext = base.partition(".")
        key, ext = f"{folder}/{stem}" if folder else stem, ext.lower()
        if sample is None or sample.key != key:
            if sample is not None:
                yield sample
            sample = Sample(key)
        if ext in sample.members:
            raise InputError(f"{path} has the member {member.name!r} twice; keep one of them")
        sample.members[ext] = member
        if ext in wanted and ext not in IMAGES:
            sample.texts[ext] = read_member(file, member, path, LARGEST_TEXT)
    if sample is not None:
        yield sample


def _of_text(content: bytes, name: str) -> int | str:
    try:
        text = content.decode().strip()
    except UnicodeDecodeError as error:
        raise InputError(f"the label of {name} is not text; write a number or a word") from error
    if not text:
        raise InputError(f"the label of {name} is empty; write a number or a word")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


def _of_json(content: bytes, asked: str | None, name: str) -> int | str | None:
    try:
        about: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the .json of {name} cannot be read ({error}); repair it") from error
    key = "label" if asked is None else asked
    if not isinstance(about, dict) or key not in about:
        if asked is None:
            return None
        known = list(about) if isinstance(about, dict) else []
        hint = did_you_mean(asked, known)
        raise InputError(
            f"{name} has no label {asked!r}{hint}; its .json has: {', '.join(known) or 'none'}"
        )
    value = about[key]
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InputError(
            f"the label {key!r} of {name} must be a whole number or a word, got {value!r}"
        )
    return value
