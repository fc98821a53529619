"""The code of every page runs, its links lead somewhere, and commands print its tables."""

from __future__ import annotations

import os
import re
import runpy
import shlex
from pathlib import Path

import pytest
from benchmarks.__main__ import main as benchmarks
from benchmarks.export_methods import main as export_methods
from benchmarks.guard import main as guard
from benchmarks.label_choice import main as label_choice
from benchmarks.live import main as live
from benchmarks.live_search import main as live_search
from benchmarks.live_soak import main as live_soak
from benchmarks.naming import main as naming
from benchmarks.pseudo_positives import main as pseudo_positives
from benchmarks.what_is_new import main as what_is_new
from chaos.__main__ import main as chaos

from scale.cli import main
from scale.data import DATASETS
from scale.memory import POLICIES
from scale.methods import METHODS
from scale.models import ENCODERS
from scale.streams import STREAMS

ROOT = Path(__file__).parents[1]
PRINTERS = {
    "scale": main,
    "python -m benchmarks": benchmarks,
    "python -m benchmarks.export_methods": export_methods,
    "python -m benchmarks.guard": guard,
    "python -m benchmarks.label_choice": label_choice,
    "python -m benchmarks.live": live,
    "python -m benchmarks.live_search": live_search,
    "python -m benchmarks.live_soak": live_soak,
    "python -m benchmarks.naming": naming,
    "python -m benchmarks.pseudo_positives": pseudo_positives,
    "python -m benchmarks.what_is_new": what_is_new,
    "python -m chaos": chaos,
}
MARKED = re.compile(
    rf"^<!-- ({'|'.join(map(re.escape, PRINTERS))}) (.*?) -->\n(.*?)^<!-- end -->", re.M | re.S
)
"""A table that a command prints, between the command and the end."""
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("notes/*.md"))]
WITH_LINKS = [ROOT / "RESULTS.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("results/*.md"))]
ALWAYS = ("README.md",)
"""Pages whose code the default suite runs; that of the others is slow."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


CODE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
WITH_CODE = [
    pytest.param(page, id=name_of(page), marks=() if page.name in ALWAYS else pytest.mark.slow)
    for page in PAGES
    if CODE.search(page.read_text())
]


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for registry in (DATASETS, ENCODERS, METHODS, POLICIES, STREAMS):  # what pages add goes again
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for language, code in CODE.findall(page.read_text()):
        if language == "python" and (file := re.match(r"# (\w+\.py)\n", code)):
            Path(file[1]).write_text(code)  # a block that begins with a file's name is that file
        elif language == "python":
            exec(compile(code, str(page), "exec"), names)
        elif language == "sh":
            for line in code.splitlines():
                command, *arguments = shlex.split(line)
                assert command == "scale", line
                assert main(arguments) == 0, line
        else:
            pytest.fail(f"{page.name} has a block in {language!r}, which is not executed")


@pytest.mark.parametrize("page", [*PAGES, *WITH_LINKS], ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert os.path.exists(page.parent / target), target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tables_are_what_the_command_prints(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    for command, arguments, shown in MARKED.findall(page.read_text()):
        assert PRINTERS[command](shlex.split(arguments)) == 0
        assert capsys.readouterr().out.strip() == shown.strip()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_everything_that_is_marked_is_checked(page: Path) -> None:
    text = page.read_text()
    assert len(MARKED.findall(text)) == text.count("<!-- end -->")


def test_the_api_page_is_what_the_script_prints() -> None:
    page = (DOCS / "api.md").read_text()
    assert page == runpy.run_path(str(DOCS / "make_api.py"))["page"]()
    assert len(page.encode()) <= 40_000


def test_a_table_of_the_benchmark_may_be_marked() -> None:
    command = "python -m benchmarks.pseudo_positives"
    table = "caption\n\n| kappa | mu 0.05 |\n"
    page = f"text\n<!-- {command} --table a.jsonl -->\n{table}<!-- end -->\n"
    assert MARKED.findall(page) == [(command, "--table a.jsonl", table)]
