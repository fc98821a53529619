"""What the API says about a store of real digits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.live.service.conftest import NOON, Page

HOUR = int(NOON // 3600)


def test_the_newest_images_come_first(page: Page):
    answer = page.get("/images?limit=5").json()
    assert [image["id"] for image in answer["images"]] == [96, 95, 94, 93, 92]
    assert answer["more"]
    older = page.get("/images?limit=5&before=3").json()
    assert ([image["id"] for image in older["images"]], older["more"]) == ([2, 1], False)


def test_an_image_has_its_facts(page: Page):
    image = page.get("/images/7").json()
    assert image["taken"] == NOON + 360
    assert image["source"] == "/camera/<door>"
    assert (image["width"], image["height"], image["batch"]) == (32, 32, 1)


def test_thumbnail_and_picture_are_images_of_ours(page: Page):
    small, whole = page.get("/images/7/thumbnail"), page.get("/images/7/picture")
    assert (small.headers["content-type"], small.content[:2]) == ("image/jpeg", b"\xff\xd8")
    assert (whole.headers["content-type"], whole.content[:4]) == ("image/png", b"\x89PNG")


@pytest.mark.parametrize(
    "path",
    ["/images/0", "/images/97", "/images/-1", "/images/1e3", "/images/99999999999999999999",
     "/images/%2e%2e%2f%2e%2e%2fetc%2fpasswd/thumbnail", "/images/../../etc/passwd",
     "/images/1/../../token", "/images/97/picture", "/images/97/thumbnail", "/web/../token",
     "/web/%2e%2e/__init__.py", "/web/__init__.py", "/web/assets.py", "/web//etc/passwd",
     "/web/live", "/search?image=97", "/token", "/store.sqlite", "/images/1%00/thumbnail"],
)  # fmt: skip
def test_what_is_not_there_is_not_found(page: Page, path: str):
    assert page.get(path).status in (404, 422)


def test_an_image_that_left_the_store_has_facts_but_no_picture(own_page: Page):
    own_page.store.remove([7])
    assert own_page.get("/images/7").json()["stored"] is False
    assert own_page.get("/images/7/thumbnail").status == 404
    assert own_page.get("/images/7/picture").status == 404
    assert 7 not in [image["id"] for image in own_page.get("/images?limit=500").json()["images"]]


def test_the_timeline_counts_by_hour(page: Page):
    hours = page.get("/timeline").json()["hours"]
    assert [(one["hour"], one["images"], one["events"]) for one in hours] == [
        (HOUR, 60, 1),
        (HOUR + 1, 36, 0),
    ]


def test_an_hour_shows_its_images_from_a_moment_on(page: Page):
    answer = page.get(f"/timeline/{HOUR}?after={NOON + 600}&limit=3").json()
    assert [image["id"] for image in answer["images"]] == [11, 12, 13]
    assert answer["more"]
    assert [event["image"] for event in answer["events"]] == [50]
    assert page.get(f"/timeline/{HOUR + 5}").json()["images"] == []


def test_names_reach_the_neighbours(own_page: Page):
    assert own_page.send("/names", {"images": [1, 2, 3], "name": "zero"}).json() == {"changed": 3}
    assert own_page.send("/names", {"images": [60, 61], "name": "six"}).status == 200
    (six, zero) = own_page.get("/names").json()["names"]
    assert (six["name"], zero["name"], zero["count"]) == ("six", "zero", 3)
    assert zero["examples"] == [1, 2, 3]
    images = own_page.get("/images?limit=96").json()["images"]
    assert {image["name"] for image in images} <= {"zero", "six", "unknown"}
    assert [image["id"] for image in images if image["given"]] == [61, 60, 3, 2, 1]
    of_name = own_page.get("/images?name=zero&limit=96").json()["images"]
    assert [image["id"] for image in of_name[:3]] == [3, 2, 1]
    assert own_page.send("/names/remove", {"images": [1, 2, 3, 60, 61]}).status == 200
    assert own_page.get("/names").json()["names"] == []


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "../../x", "名前 \u05d0", "a'\"--"]
)
def test_a_hostile_name_is_text(own_page: Page, name: str):
    assert own_page.send("/names", {"images": [1], "name": name}).status == 200
    answer = own_page.get("/names")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["names"][0]["name"] == name


@pytest.mark.parametrize(
    "naming",
    [
        {"images": [1], "name": ""},
        {"images": [1], "name": "   "},
        {"images": [1], "name": "x" * 101},
        {"images": [1], "name": "a\nb"},
        {"images": [1], "name": "\ud800"},
        {"images": [1], "name": "unknown"},
        {"images": [], "name": "x"},
        {"images": [97], "name": "x"},
        {"images": [0], "name": "x"},
        {"images": [2**70], "name": "x"},
        {"images": ["1; DROP TABLE names"], "name": "x"},
        {"images": 1, "name": "x"},
        [],
        None,
    ],
)
def test_a_bad_naming_is_refused_and_changes_nothing(page: Page, naming: object):
    answer = page.send("/names", naming)
    assert answer.status in (400, 422)
    assert answer.json()["detail"]
    assert page.store.query("SELECT * FROM names") == []


def test_a_body_that_is_no_json_is_refused(page: Page):
    answer = page.ask("POST", "/names", b"{", {"content-type": "application/json"})
    assert answer.status == 422


def test_search_finds_others_nearest_first(page: Page):
    answer = page.get("/search?image=3&k=10").json()
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 10
    assert 3 not in [hit["id"] for hit in answer["hits"]]


def test_groups_are_of_images_without_a_name(own_page: Page):
    own_page.send("/names", {"images": [1, 2, 3], "name": "zero"})
    groups = own_page.get("/groups").json()["groups"]
    grouped = [image for group in groups for image in group["images"]]
    assert grouped
    assert not {1, 2, 3} & set(grouped)
    assert len(set(grouped)) == len(grouped)


def test_the_map_has_all_images_and_follows_names(own_page: Page):
    answer = own_page.get("/map?points=200").json()
    assert sorted(point["id"] for point in answer["points"]) == list(range(1, 97))
    assert all(0 <= point[axis] <= 1 for point in answer["points"] for axis in "xy")
    own_page.send("/names", {"images": [5], "name": "a"})
    named = own_page.get("/map?points=200").json()["points"]
    assert {point["id"]: point["name"] for point in named}[5] == "a"


def test_memory_says_what_is_kept_and_why(page: Page):
    answer = page.get("/memory?limit=4").json()
    assert len(answer["images"]) == 4
    assert (answer["total"], answer["size"]) == (64, 64)
    assert answer["images"] == page.get("/memory").json()["images"][::16], "evenly over all"
    assert "policy" in answer["why"]


def test_an_event_is_shown_and_dismissed(own_page: Page):
    (event,) = own_page.get("/events?state=open").json()["events"]
    assert [one["id"] for one in event["nearest"]] == [3, 4]
    assert own_page.send(f"/events/{event['id']}/dismiss", None).json()["state"] == "dismissed"
    assert own_page.get("/events?state=open").json()["events"] == []
    assert own_page.get("/events?state=dismissed").json()["events"] != []
    assert own_page.send("/events/99/dismiss", None).status == 404
    assert own_page.get("/events?state=nonsense").status == 422


def test_history_has_the_diagnostics_of_batches(page: Page):
    answer = page.get("/history?points=3").json()
    assert answer["step"] == [2, 4, 6]
    assert answer["series"]["loss"] == [1 / 2, 1 / 4, 1 / 6]


def test_metrics_are_in_the_format_of_prometheus(page: Page):
    answer = page.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = dict(
        line.rsplit(" ", 1) for line in answer.content.decode().splitlines() if line[0] != "#"
    )
    assert values["scale_images_stored"] == "96"
    assert values["scale_up"] == "0"


def test_static_files_are_not_sent_twice(page: Page):
    first = page.get("/web/theme.css")
    again = page.get("/web/theme.css", if_none_match=first.headers["etag"])
    assert (again.status, again.content) == (304, b"")


def test_many_ask_at_once(page: Page):
    paths = ["/status", "/images", "/search?image=4", "/map?points=50", "/groups", "/memory"] * 8
    with ThreadPoolExecutor(16) as pool:
        assert {answer.status for answer in pool.map(page.get, paths)} == {200}


def test_the_description_names_every_route(page: Page):
    described = page.get("/openapi.json").json()
    names = "status images search names events map groups memory timeline history updates metrics"
    assert {f"/{name}" for name in names.split()} <= set(described["paths"])
    assert json.dumps(described).count("Internal") == 0
