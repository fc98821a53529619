"""The report as a reader sees it: in a real browser, from a disk, without a network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError
from scale.cli import main
from scale.report.page import write_page
from scale.report.page.bundle import bundle
from scale.report.page.facts import Facts
from scale.runs import RunConfig, run
from tests.browser import chromium, errors

HOSTILE = "</script><img src=x onerror=alert(1)>"


def make_images(folder: Path, labelled: bool = True) -> Path:
    rng = np.random.default_rng(0)
    for kind, low in (("bright", 128), (HOSTILE.replace("/", "_"), 0)):
        place = folder / kind if labelled else folder
        place.mkdir(parents=True, exist_ok=True)
        for i in range(20):
            pixels = rng.integers(low, low + 128, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / f"{low}-{i}.png")
    return folder


def config(dataset: Path, **more: Any) -> RunConfig:
    tiny = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1, "memory_size": 16}
    options = {"stream_batch": 8, "evaluations": 3, "threads": 1, **more}
    return RunConfig(dataset=str(dataset), method="er", params=tiny, **options)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_images(tmp_path_factory.mktemp("data"))
    out = tmp_path_factory.mktemp("runs")
    for seed in (0, 1):
        run(config(data, seed=seed), out / str(seed))
    return out


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def test_a_run_in_progress_and_one_without_labels_say_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "plain"
    run(config(make_images(tmp_path / "data", labelled=False), stream="as-is"), out)
    (out / "summary.json").unlink()
    facts = Facts(out).collect()
    said = " ".join(facts["missing"])
    assert "not finished" in said
    assert "no labels" in said
    assert facts["state"].startswith("in progress: 40 of 40")
    assert facts["batches"]["loss"]


def test_the_command_repeats_the_run(finished: Path, tmp_path: Path) -> None:
    import shlex

    words = shlex.split(Facts(finished / "0").collect()["command"])
    assert words[:2] == ["scale", "run"]
    again = tmp_path / "again"
    words[words.index("--out") + 1] = str(again)
    assert main([*words[1:], "--no-pictures"]) == 0
    for name in ("metrics.jsonl", "learner.safetensors"):
        assert (again / name).read_bytes() == (finished / "0" / name).read_bytes()


def test_a_long_run_is_averaged_to_a_small_page(finished: Path, tmp_path: Path) -> None:
    import shutil

    long = tmp_path / "long"
    shutil.copytree(finished / "0", long)
    lines = (long / "metrics.jsonl").read_text().splitlines()
    batch = next(json.loads(line) for line in lines if '"kind": "batch"' in line)
    more = (json.dumps({**batch, "position": i, "loss": float(i)}) for i in range(20_000))
    (long / "metrics.jsonl").write_text("\n".join([*lines, *more]) + "\n")
    page = write_page([long])
    assert page.stat().st_size < 3_000_000
    loss = Facts(long).collect(pictures=False)["batches"]["loss"]
    assert len(loss) == 1500
    assert loss[-1] == pytest.approx(19_993, abs=10)


def test_wrong_sources_are_refused(tmp_path: Path, finished: Path) -> None:
    with pytest.raises(InputError, match="not a folder"):
        write_page([tmp_path / "nothing"])
    with pytest.raises(InputError, match="holds no run"):
        write_page([tmp_path])
    with pytest.raises(InputError, match=r"must end in \.html"):
        write_page([finished / "0"], tmp_path / "page.txt")


def test_data_cannot_leave_its_script() -> None:
    page = bundle(HOSTILE, {"runs": [], "compared": None, "text": HOSTILE})
    assert HOSTILE not in page


def requests(driver: Any) -> list[str]:
    """Return the addresses that the page asked for, other than itself and data."""
    events = (json.loads(one["message"])["message"] for one in driver.get_log("performance"))
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith(("data:", "file:", "chrome:"))]


@pytest.mark.slow
def test_the_page_of_a_run_shows_its_charts_and_images(finished: Path, browser: Any) -> None:
    page = write_page([finished / "0"])
    browser.get(page.as_uri())
    titles = [one.text for one in browser.find_elements("css selector", "h2")]
    wanted = [
        "Measures",
        "Accuracy over the stream",
        "Stream",
        "Accuracy by class",
        "Embedding map",
    ]
    assert [title for title in wanted if title not in titles] == []
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert len(browser.find_elements("css selector", ".chart canvas")) >= 3
    assert browser.find_elements("css selector", ".neighbour .thumb")
    assert HOSTILE.replace("/", "_") in browser.find_element("tag name", "main").text

    from selenium.webdriver import ActionChains

    map_ = browser.find_element("css selector", ".scatter canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", map_)
    moves = ActionChains(browser)
    for dx in range(-200, 201, 10):
        moves.move_to_element_with_offset(map_, dx, dx // 2)
    moves.send_keys_to_element(map_, "+")  # the point nearest to the middle
    moves.perform()
    assert browser.find_element("css selector", ".tip").is_displayed()
    assert errors(browser) == []
    assert requests(browser) == []


@pytest.mark.slow
def test_runs_are_compared_and_each_is_a_click_away(
    finished: Path, browser: Any, tmp_path: Path
) -> None:
    page = write_page([finished / "0", finished / "1"], tmp_path / "both.html")
    browser.get(page.as_uri())
    assert "2 runs compared" in browser.find_element("tag name", "h1").text
    browser.find_elements("css selector", ".runs a")[1].click()
    assert browser.find_element("tag name", "h1").text.endswith("seed 1")
    assert errors(browser) == []
    assert requests(browser) == []
