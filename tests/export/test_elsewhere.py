"""The exported file in places without torch: a bare Python, and a browser."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scale import load
from scale.export import export_learner
from tests.methods.learners import images

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.slow

CHROMIUM = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--virtual-time-budget=60000", "--dump-dom"),
]
PAGE = """<!doctype html><meta charset="utf-8"><body><pre id="z">waiting</pre>
<script src="node_modules/onnxruntime-web/dist/ort.wasm.min.js"></script>
<script>
(async () => {
  const shown = document.getElementById("z");
  try {
    ort.env.wasm.numThreads = 1;
    const wasm = "node_modules/onnxruntime-web/dist/";
    ort.env.wasm.wasmPaths = new URL(wasm, location.href).href;
    const given = await (await fetch("images.json")).json();
    const session = await ort.InferenceSession.create("learner.onnx");
    const pixels = new ort.Tensor("uint8", Uint8Array.from(given.pixels), given.shape);
    const found = await session.run({images: pixels});
    shown.textContent = JSON.stringify(Array.from(found.embeddings.data));
  } catch (error) {
    shown.textContent = "failed: " + error;
  }
})();
</script>
"""


@pytest.fixture(scope="module")
def file(saved: Path) -> Path:
    return export_learner(saved).path


def run(command: list[str], folder: Path, what: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{what}: {done.stderr[-200:]}")
    return done


def test_without_torch(file: Path, saved: Path, tmp_path: Path) -> None:
    python = tmp_path / "bare/bin/python"
    run([sys.executable, "-m", "venv", "bare"], tmp_path, "no environment can be made")
    install = [str(python), "-m", "pip", "install", "-q", "onnxruntime", "numpy"]
    constraints = Path(__file__).parents[2] / "constraints.txt"
    run([*install, "-c", str(constraints)], tmp_path, "onnxruntime cannot be installed")
    np.save(tmp_path / "images.npy", images(5))
    code = (
        "import importlib.util, numpy, onnxruntime\n"
        "assert importlib.util.find_spec('torch') is importlib.util.find_spec('scale') is None\n"
        f"session = onnxruntime.InferenceSession({str(file)!r})\n"
        "z = session.run(None, {'images': numpy.load('images.npy')})[0]\n"
        "numpy.save('z.npy', z)\n"
    )
    subprocess.run([str(python), "-I", "-c", code], cwd=tmp_path, check=True)
    assert np.abs(np.load(tmp_path / "z.npy") - load(saved).transform(images(5))).max() <= 1e-4


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve the test's folder; return its address."""
    handler = functools.partial(Quiet, directory=str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_in_a_browser(file: Path, saved: Path, tmp_path: Path, site: str) -> None:
    browser = shutil.which("chromium")
    if browser is None or shutil.which("npm") is None:
        pytest.skip("chromium and npm are needed")
    npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "onnxruntime-web"]
    run(npm, tmp_path, "onnxruntime-web cannot be installed")
    shutil.copy(file, tmp_path / "learner.onnx")
    batch = images(3)
    given = {"pixels": batch.ravel().tolist(), "shape": batch.shape}
    (tmp_path / "images.json").write_text(json.dumps(given))
    (tmp_path / "page.html").write_text(PAGE)
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [browser, *CHROMIUM, profile, f"{site}/page.html"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    shown = done.stdout.split('<pre id="z">')[1].split("</pre>")[0]
    assert shown.startswith("["), shown
    found = np.array(json.loads(shown), np.float32).reshape(len(batch), -1)
    assert np.abs(found - load(saved).transform(batch)).max() <= 1e-4
