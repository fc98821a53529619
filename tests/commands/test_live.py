"""`scale events`, `search`, `name` and `names` on a live learner's folder, with wrong input too."""

import json

import numpy as np
import pytest
from PIL import Image

from scale import cli
from scale.live import Knowledge, Store, WatchConfig, Watcher


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder of images and the folder of a live learner that has seen them."""
    root = tmp_path_factory.mktemp("live")
    rng = np.random.default_rng(0)
    (root / "in").mkdir()
    for at in range(24):
        colour = (200, 60, 60) if at % 2 else (40, 90, 200)
        noise = rng.normal(0, 25, (20, 20, 3))
        pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(root / "in" / f"{at:02d}.png")
    config = WatchConfig(method="pca", batch_size=8, image_size=16, duplicates=0, blanks=0)
    watcher = Watcher(root / "w", [str(root / "in")], config=config, once=True)
    watcher.observers.append(Knowledge(watcher.store, watcher.learner))
    watcher.run()
    watcher.close()
    return root / "in", root / "w"


def run(capsys, *arguments):
    status = cli.main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_images_are_named_by_path_or_number_and_the_rest_follow(made, capsys):
    files, folder = made
    assert run(capsys, "name", folder, "blue", files / "00.png", "3")[0] == 0
    status, out, _ = run(capsys, "name", folder, "red", "2", files / "03.png", "--json")
    assert (status, json.loads(out)["images"]) == (0, [2, 4])
    status, out, _ = run(capsys, "names", folder, "--confident", "0", "--json")
    rows = json.loads(out)
    assert status == 0
    assert [row["path"] for row in rows] == [str(files / f"{at:02d}.png") for at in range(24)]
    right = [row["name"] == ("blue", "red")[at % 2] for at, row in enumerate(rows)]
    assert np.mean(right) > 0.9
    status, out, _ = run(capsys, "names", folder, "--summary", "--json")
    assert [(one["name"], one["count"]) for one in json.loads(out)] == [("blue", 2), ("red", 2)]
    assert run(capsys, "name", folder, "blue", "1", "--remove")[0] == 0
    assert "blue" in run(capsys, "names", folder)[1]


def test_search_takes_a_number_or_any_file(made, capsys, tmp_path):
    files, folder = made
    status, out, _ = run(capsys, "search", folder, files / "05.png", "--k", "3", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["hits"][0]["id"] == 6
    assert (len(answer["hits"]), answer["stale"], answer["step"]) == (3, 0, 3)
    status, out, _ = run(capsys, "search", folder, "6", "--json")
    assert 6 not in [hit["id"] for hit in json.loads(out)["hits"]]
    assert "similarity" in run(capsys, "search", folder, "6")[1]


def test_events_are_listed_and_can_be_dismissed(made, capsys):
    _, folder = made
    assert json.loads(run(capsys, "events", folder, "--json")[1]) == []
    assert "nothing new" in run(capsys, "events", folder)[1]
    with Store(folder) as store, store.transaction() as db:
        why = json.dumps({"nearest": [[2, 0.5]], "images": [5]})
        db.execute(
            "INSERT INTO events (id, kind, image, opened, state, score, threshold, count, why) "
            "VALUES (1, 'new', 5, 1e9, 'open', 2.0, 1.0, 6, ?)",
            (why,),
        )
    (event,) = json.loads(run(capsys, "events", folder, "--json")[1])
    assert (event["image"], event["nearest"]) == (5, [[2, 0.5]])
    assert run(capsys, "events", folder, "--dismiss", "1")[0] == 0
    assert "dismissed" in run(capsys, "events", folder)[1]
    assert json.loads(run(capsys, "events", folder, "--state", "open", "--json")[1]) == []


def test_names_are_exported(made, capsys, tmp_path):
    _, folder = made
    run(capsys, "name", folder, "blue", "1", "3")
    for form in ("folders", "coco", "imagefolder"):
        status, _, _ = run(capsys, "names", folder, "--export", form, "--to", tmp_path / form)
        assert status == 0
        assert list((tmp_path / form).rglob("*.png"))
    assert run(capsys, "names", folder, "--export", "csv", "--to", tmp_path / "n.csv")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("events", "{no}"),
        ("names", "{no}"),
        ("search", "{no}", "1"),
        ("name", "{no}", "x", "1"),
        ("events", "{in}"),
        ("names", "{in}"),
        ("events", "{dir}", "--dismiss", "99"),
        ("search", "{dir}", "0"),
        ("search", "{dir}", "-5"),
        ("search", "{dir}", "9" * 40),
        ("search", "{dir}", "no.png"),
        ("search", "{dir}", "{in}"),
        ("search", "{dir}", "{dir}/watch.json"),
        ("search", "{dir}", "1", "--k", "0"),
        ("name", "{dir}", "", "1"),
        ("name", "{dir}", "a\x1b[2J", "1"),
        ("name", "{dir}", "unknown", "1"),
        ("name", "{dir}", "x"),
        ("name", "{dir}", "x", "1", "999"),
        ("name", "{dir}", "x", "{in}/nothing.png"),
        ("name", "{dir}", "x", "\udcff.png"),
        ("names", "{dir}", "--confident", "2"),
        ("names", "{dir}", "--export", "csv"),
        ("names", "{dir}", "--to", "x"),
        ("names", "{dir}", "--export", "csv", "--to", "{dir}"),
    ],
)
def test_a_mistake_is_told_on_one_line_and_changes_nothing(arguments, made, capsys, tmp_path):
    files, folder = made
    places = {"dir": folder, "in": files, "no": tmp_path / "no"}
    before = run(capsys, "names", folder, "--summary", "--json")[1]
    status, out, err = run(capsys, *(one.format(**places) for one in arguments))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "\x1b" not in err
    assert run(capsys, "names", folder, "--summary", "--json")[1] == before
    assert not (tmp_path / "no").exists()
