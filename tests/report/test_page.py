"""The report as a reader sees it: in a real browser, from a disk, without a network."""

from __future__ import annotations

import json
import shutil
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
from scale.report.page.compare import comparison
from scale.report.page.facts import Facts
from scale.report.page.series import thin
from scale.report.records import run_folders
from scale.runs import RunConfig, run
from tests.browser import chromium, errors, wait

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
    assert facts["maps"]["views"][0]["title"] == "images in memory, after 40 images"
    assert len(facts["maps"]["neighbours"]) == 16
    assert facts["maps"]["arrivals"] == sorted(facts["maps"]["arrivals"])
    assert 15 <= facts["maps"]["arrivals"][-1] < 40
    assert facts["title"] == "er on data as-is, seed 0"
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


def test_a_long_series_keeps_its_peaks_and_its_gaps() -> None:
    rng = np.random.default_rng(0)
    loss = rng.normal(5, 0.1, 100_000)
    loss[[77_777, 5_000]] = [90.0, -3.0]
    records: list[dict[str, Any]] = [
        {"position": i, "loss": value} for i, value in enumerate(loss.tolist())
    ]
    records[10]["loss"] = None
    records[20_000:30_000] = [{"position": i} for i in range(20_000, 30_000)]
    short = thin(records, ["loss"])
    assert len(short["loss"]) == len(short["position"]) == 1500
    assert [short["position"][0], short["position"][-1]] == [0, 99_999]
    assert short["position"] == sorted(short["position"])
    known = [value for value in short["loss"] if value is not None]
    assert [min(known), max(known)] == [-3, 90]
    at = short["position"][short["loss"].index(90)]
    assert at == pytest.approx(77_777, abs=100_000 / 750)
    assert short["loss"].count(None) == pytest.approx(150, abs=4)


def test_the_page_says_when_classes_arrive_and_what_memory_keeps(finished: Path) -> None:
    facts = Facts(finished / "0").collect()
    assert facts["arrivals"] == [[0.0, 16.0], [16.0, 32.0]]
    assert facts["verdict"].startswith("It ")
    assert facts["about"]["learner"] == "er, encoder cnn, 1 update per batch, memory of 16 images"
    moments = facts["memoryImages"]["moments"]
    assert [moment["seen"] for moment in moments] == [8, 24, 32]
    last = moments[-1]
    assert [last["parts"][0]["from"], last["parts"][-1]["to"]] == [0, 32]
    assert sum(part["held"] for part in last["parts"]) == last["held"] == 16
    arrivals = facts["memoryImages"]["arrivals"]
    for part in last["parts"]:
        assert all(part["from"] <= arrivals[i] < part["to"] for i in part["images"])
    assert facts["memoryImages"]["sprite"]["count"] == len(arrivals) == len(set(arrivals))


def test_a_run_without_samples_of_memory_shows_its_end(finished: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(finished / "0", tmp_path / "old"))
    (old / "memory" / "0000000024.npz").write_bytes(b"PK")
    for said in ("cannot be shown", "no others were kept"):
        facts = Facts(old).collect()
        assert [moment["seen"] for moment in facts["memoryImages"]["moments"]] == [32]
        assert said in " ".join(facts["missing"])
        shutil.rmtree(old / "memory", ignore_errors=True)


def test_damaged_pictures_are_named_and_the_rest_is_shown(finished: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(finished / "0", tmp_path / "broken"))
    damaged = [broken / "stream.npy", *(broken / "embeddings").iterdir()]
    for path in (*damaged, broken / "learner.safetensors"):
        path.write_bytes(b"PK")
    facts = Facts(broken).collect()
    assert facts["stream"] is facts["maps"] is None
    assert facts["curve"]["knn"]
    said = " ".join(facts["missing"])
    for part in ("picture of the stream", "embedding maps", "learner"):
        assert f"The {part} cannot be" in said


def test_runs_in_a_folder_are_compared_with_their_floors(finished: Path) -> None:
    folders = run_folders([finished])
    assert [folder.name for folder in folders] == ["0", "1"]
    compared = comparison(folders)
    assert [row["floor"] for row in compared["rows"]] == [False, True, True, True]
    assert compared["rows"][0]["values"]["knn"]["low"] is not None
    assert compared["columns"]["memory"]["unit"] == "MB"


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
    from selenium.webdriver import ActionChains, Keys

    page = write_page([finished / "0"])
    browser.get(page.as_uri())
    titles = [one.text for one in browser.find_elements("css selector", "h2")]
    wanted = [
        "What was run",
        "Measures",
        "Accuracy over the stream",
        "Stream",
        "Accuracy by class",
        "Embedding maps",
        "Memory",
        "While it learned",
        "Time and memory",
    ]
    assert [title for title in wanted if title not in titles] == []
    browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert len(browser.find_elements("css selector", ".chart canvas")) >= 3
    assert len(browser.find_elements("css selector", ".maps .scatter canvas")) == 3
    assert browser.find_elements("css selector", ".periods .thumb")
    slider = browser.find_element("css selector", ".moments input")
    slider.send_keys(Keys.HOME)
    assert browser.find_element("css selector", ".moments output").text.startswith("After image 8 ")
    assert "peak memory" in browser.find_element("tag name", "main").text
    summary = json.loads((finished / "0/summary.json").read_text())
    rows = browser.find_elements("css selector", "#measures tbody tr")
    found = {row.find_element("tag name", "th").text: row.text.split()[-4:] for row in rows}
    floors = [summary["floors"][name] for name in ("random", "pixels", "pca")]
    assert found["ACC, %"] == [f"{row['acc']:.1f}" for row in (summary, *floors)]
    assert browser.find_elements("css selector", ".neighbour .thumb")
    captions = browser.find_elements("css selector", ".neighbour figcaption")
    assert {one.get_attribute("data-same") for one in captions} <= {"true", "false"}
    assert HOSTILE.replace("/", "_") in browser.find_element("tag name", "main").text

    map_ = browser.find_element("css selector", ".scatter canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", map_)
    moves = ActionChains(browser)
    for dx in range(-200, 201, 10):
        moves.move_to_element_with_offset(map_, dx, dx // 2)
    moves.send_keys_to_element(map_, "+")  # the point nearest to the middle
    moves.perform()
    assert browser.find_element("css selector", ".tip").is_displayed()
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.find_element("xpath", "//dd[text()='mnist']").is_displayed(), "a folded setting"
    assert errors(browser) == []
    assert requests(browser) == []


def lengthen(run: Path, points: int) -> Path:
    """Give a run's metrics so many batches, with a loss that falls and one peak."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    batch = next(json.loads(line) for line in lines if '"kind": "batch"' in line)
    loss = 5 / (1 + np.arange(points) / points)
    loss[points // 2] = 40
    more = (
        json.dumps({**batch, "batch": i + 1, "position": 8 * (i + 1), "loss": value})
        for i, value in enumerate(loss.tolist())
    )
    asked = [line for line in lines if '"kind": "evaluation"' in line]
    (run / "metrics.jsonl").write_text("\n".join([*asked, *more]) + "\n")
    return run


@pytest.mark.slow
def test_a_run_of_100_000_batches_has_a_small_page_that_opens(
    finished: Path, browser: Any, tmp_path: Path
) -> None:
    long = lengthen(Path(shutil.copytree(finished / "0", tmp_path / "long")), 100_000)
    page = write_page([long])
    assert page.stat().st_size < 3_000_000
    browser.get(page.as_uri())
    drawn = "document.querySelectorAll('.charts .chart canvas').length >= 2"
    wait(browser, drawn)
    loss = browser.execute_script(
        "return JSON.parse(document.getElementById('facts').textContent).runs[0].batches.loss"
    )
    assert [len(loss), max(loss)] == [1500, 40]
    assert errors(browser) == []


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


@pytest.mark.slow
def test_differences_by_class_are_from_the_row_that_the_reader_chooses(
    finished: Path, browser: Any, tmp_path: Path
) -> None:
    compared = comparison(run_folders([finished]))
    first = compared["rows"][0]
    worse = {**first, "name": "worse", "perClass": [knn - 10 for knn in first["perClass"]]}
    rows = [*compared["rows"], worse]
    page = tmp_path / "two.html"
    page.write_text(bundle("two", {"runs": [], "compared": {**compared, "rows": rows}}))
    browser.get(page.as_uri())
    browser.find_elements("css selector", "details select option")[1].click()
    table = browser.find_element("css selector", "details table")
    titles = [one.text for one in table.find_elements("css selector", "thead th")]
    assert titles == ["class", "worse", first["name"]]
    cells = table.find_element("css selector", "tbody tr").text.split()
    assert cells[-2:] == [f"{worse['perClass'][0]:.1f}", "+10.0"]
    assert errors(browser) == []
