"""Every module has its place, and nothing heavy is imported before it is needed.

`make lint` checks that data flows in one direction.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import scale

ROOT = Path(__file__).parent.parent
PACKAGE = Path(scale.__file__).parent
ENTRANCES = {"__init__", "__main__"}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_every_module_has_its_place_among_the_stations():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (contract,) = config["tool"]["importlinter"]["contracts"]
    placed = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - ENTRANCES
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {f"scale.{name}" for name in modules | packages} <= placed


@pytest.mark.parametrize("module", ["scale", "scale.cli", "scale._files", "scale._registry"])
def test_importing_does_not_wait_for_torch(module):
    heavy = "{'torch', 'sklearn', 'matplotlib', 'scipy', 'pyarrow'} & sys.modules.keys()"
    done = run(sys.executable, "-c", f"import sys, {module}; sys.exit(str({heavy} or ''))")
    assert done.stderr.strip() == ""


def test_help_does_not_wait_for_torch():
    code = (
        "import sys; from scale.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    )
    assert run(sys.executable, "-c", code).returncode == 0


@pytest.mark.parametrize("name", scale.__all__)
def test_every_public_name_is_there(name):
    assert getattr(scale, name) is not None


def test_an_unknown_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        _ = scale.nonsense
