"""Which files are the shards of a dataset: one .tar file, a brace pattern, or a folder of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scale._errors import InputError
from scale.data.listing import visible
from scale.data.splits import SPLITS

_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>\d+)(-of-(?P<total>\d+))?\.tar")
_BESIDE = (".json", ".jsonl", ".txt", ".md", ".csv", ".yaml", ".yml", ".idx", ".index")
_MOST = 100_000  # files of a pattern


def expand(pattern: str) -> list[str]:
    """Return the names that a brace pattern stands for, in its order.

    Examples
    --------
    >>> expand("a-{08..10}.tar")
    ['a-08.tar', 'a-09.tar', 'a-10.tar']
    >>> expand("{x,y}.tar")
    ['x.tar', 'y.tar']
    """
    names: list[str] = []
    for name in _expand(pattern, pattern):
        if len(names) == _MOST:
            raise InputError(f"{pattern} names more than {_MOST} files; name fewer")
        names.append(name)
    return names


def _expand(text: str, pattern: str) -> Iterator[str]:
    before, brace, rest = text.partition("{")
    if not brace:
        yield text
        return
    inside, end, after = rest.partition("}")
    between = _RANGE.fullmatch(inside)
    if not end or not (between or "," in inside):
        raise InputError(
            f"the braces of {pattern} must hold a range or a list, such as {{000..003}} or {{a,b}}"
        )
    parts: Iterator[str] = iter(inside.split(","))
    if between:
        first, last = between.groups()
        if int(first) > int(last):
            raise InputError(f"the range {{{inside}}} of {pattern} must go upwards")
        parts = (str(i).zfill(len(first)) for i in range(int(first), int(last) + 1))
    for part in parts:
        for end_of_name in _expand(after, pattern):
            yield before + part + end_of_name


def shards_of_pattern(pattern: str) -> dict[str, list[Path]]:
    """Return the files of a brace pattern or of one file as train split; none may be missing."""
    exact = Path(pattern).expanduser()
    files = [exact] if exact.is_file() else [Path(one).expanduser() for one in expand(pattern)]
    missing = [file for file in files if not file.exists()]
    if missing:
        which = f"; {len(missing)} of the {len(files)} shards are missing" if len(files) > 1 else ""
        raise InputError(f"there is no file {missing[0]}{which}; check the path")
    return {"train": files}


def find_shards(folder: Path) -> dict[str, list[Path]]:
    """Return the .tar files of each split; nothing if this is a folder of something else.

    The split is a sub-folder, or a word of the file's name: `val` for `set-val-000.tar`. Files
    without such a word are of the train split.
    """
    splits: dict[str, list[Path]] = {}
    for child in visible(folder):
        if child.is_dir():
            inside = visible(child) if child.name in SPLITS else []
            tars = [one for one in inside if one.suffix.lower() == ".tar"]
            if not tars:
                return {}
            splits.setdefault(child.name, []).extend(tars)
        elif child.suffix.lower() == ".tar":
            words = re.split(r"[-_.]", child.name.lower())
            split = next((one for one in SPLITS if one in words), "train")
            splits.setdefault(split, []).append(child)
        elif child.suffix.lower() not in _BESIDE:
            return {}
    for files in splits.values():
        _check_numbers(files)
    return splits


def _check_numbers(files: list[Path]) -> None:
    """Refuse a gap in the numbers of shards: one was not copied."""
    series: dict[tuple[Path, str], list[re.Match[str]]] = {}
    for file in files:
        if match := _NUMBERED.fullmatch(file.name):
            series.setdefault((file.parent, match["before"]), []).append(match)
    for (folder, _), matches in series.items():
        numbers = {int(match["number"]): match for match in matches}
        last = max(numbers)
        total = max((int(match["total"]) for match in matches if match["total"]), default=0)
        expected = range(total) if total else range(min(numbers), last + 1)
        if len(matches) > 1 or total:
            missing = next((one for one in expected if one not in numbers), None)
            if missing is not None:
                raise InputError(
                    f"{folder} has {matches[0].string} and others, but shard {missing} is missing; "
                    "copy it, or name those to read with a pattern such as a-{000,002}.tar"
                )
