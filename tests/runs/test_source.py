"""The digest of the source: what changes it, and for which runs. On copies of the package."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import scale
from scale.runs.source import LEFT_OUT, Source, digest_of, reached

PACKAGE = Path(scale.__file__).parent
ROOTS = {
    "scale": ("runs.run", "methods.scale", "memory.psa", "streams.seq", "models.resnet"),
    "pixels": ("runs.run", "methods.pixels", "streams.seq"),
    "si": ("runs.run", "methods.si", "streams.seq", "models.resnet"),
}
Copy = Callable[[], Path]


def sources(method: str, package: Path) -> list[Source]:
    return [
        Source(f"scale.{name}", package.joinpath(*name.split(".")).with_suffix(".py"))
        for name in ROOTS[method]
    ]


def digests(package: Path) -> dict[str, str]:
    return {method: digest_of(sources(method, package), package) for method in ROOTS}


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    """The digests of the package as it is."""
    return digests(PACKAGE)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may edit."""
    ignore = shutil.ignore_patterns("__pycache__", "*.toml")
    return Path(shutil.copytree(PACKAGE, tmp_path / "scale", ignore=ignore))


def test_it_does_not_depend_on_where_the_package_lies(package: Path, ours: dict[str, str]) -> None:
    assert digests(package) == ours
    assert len(set(ours.values())) == 3, "methods differ"


def test_words_and_formatting_do_not_count(package: Path, ours: dict[str, str]) -> None:
    for file in package.rglob("*.py"):
        text = file.read_text().replace('"""', '"""Plainly: ', 1)
        file.write_text(f"# A comment.\n{text}\n\n\n# The end.\n")
    edit(package / "methods" / "core" / "checks.py", "must be", "has to be")
    edit(package / "runs" / "begin.py", "versions changed", "other versions")
    assert digests(package) == ours


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("losses/forgetting.py", {"scale"}),
        ("methods/si.py", {"si"}),
        ("methods/core/learner.py", {*ROOTS}),
        ("evaluate/knn.py", {*ROOTS}),
    ],
)
def test_a_change_counts_for_the_runs_that_reach_it(
    file: str, changed: set[str], package: Path, ours: dict[str, str]
) -> None:
    with open(package / file, "a") as source:
        source.write("\nWEIGHT = 2\n")
    after = digests(package)
    assert {method for method in ROOTS if ours[method] != after[method]} == changed


def test_what_no_run_reaches_does_not_count(package: Path, ours: dict[str, str]) -> None:
    for file in ("memory/fifo.py", "streams/iid.py", "report/table.py", "runs/display.py"):
        with open(package / file, "a") as source:
            source.write("\nWEIGHT = 2\n")
    assert digests(package) == ours


def test_a_new_method_changes_no_other_digest(package: Path, ours: dict[str, str]) -> None:
    shutil.copy(package / "methods" / "si.py", package / "methods" / "own.py")
    edit(
        package / "methods" / "__init__.py",
        "from scale.methods.si import SI\n",
        "from scale.methods.si import SI\nfrom scale.methods.own import SI as Own\n",
    )
    assert digests(package) == ours


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not(package: Path) -> None:
    with open(package / "methods" / "pixels.py", "a") as source:
        source.write("\ndef more():\n    from scale.memory import POLICIES\n")
        source.write("\nif TYPE_CHECKING:\n    from scale.methods import SCALE\n")
    names = {source.name for source in reached(sources("pixels", package), package)}
    assert {"scale.evaluate.knn", "scale.memory._policy"} <= names
    assert not {"scale.memory.psa", "scale.methods.scale", "scale.methods"} & names


@pytest.mark.parametrize(
    "text",
    [
        "import scale\nclass Mine(scale.SCALE): ...\n",
        "from scale.methods import SCALE as Base\nclass Mine(Base): ...\n",
        "from beside import Base\nclass Mine(Base): ...\n",
    ],
)
def test_a_users_file_counts_with_what_it_imports(text: str, tmp_path: Path) -> None:
    for folder, weight in (("one", 1), ("same", 1), ("other", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"{text}\nWEIGHT = {weight}\n")
        (tmp_path / folder / "beside.py").write_text("from scale.methods import SCALE as Base\n")
    roots = [[Source("mine", tmp_path / f / "mine.py")] for f in ("one", "same", "other")]
    one, same, other = (digest_of(root, PACKAGE) for root in roots)
    assert one == same
    assert one != other
    assert "scale.methods.scale" in {source.name for source in reached(roots[0], PACKAGE)}


def test_every_module_that_is_left_out_exists() -> None:
    for name in LEFT_OUT:
        assert PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py").is_file(), name
