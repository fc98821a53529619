from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def picture(tmp_path):
    """A path to draw to; `check` says that it became a PNG that shows something."""

    class Picture:
        path = tmp_path / "new folder" / "picture.png"

        def check(self):
            with Image.open(self.path) as image:
                image.load()
                assert image.format == "PNG"
                assert 400 <= image.width <= 4000
                assert 300 <= image.height <= 4000
                assert image.info["dpi"][0] == pytest.approx(150, abs=0.5)
                shades = np.unique(np.asarray(image.convert("L")))
            assert len(shades) > 20
            assert [file.name for file in self.path.parent.iterdir()] == ["picture.png"]

    return Picture()


@pytest.fixture(scope="session")
def run_alone():
    """Run code in a fresh interpreter and return what it prints."""

    def run(code):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run
