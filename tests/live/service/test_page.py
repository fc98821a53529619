"""Every screen of the page in headless Chromium, while a real learner runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale.evaluate import Guard
from scale.live import WatchConfig, Watcher
from scale.live.knowledge import Knowledge
from scale.live.service import Server, make_app
from tests.browser import chromium, errors, resize, show, wait
from tests.live.service.conftest import BATCH, NOON, digit_frames

pytestmark = pytest.mark.slow
SCREENS = ("now", "timeline", "groups", "search", "names", "memory", "events")
LAST = "document.querySelector('.last strong')?.textContent.endsWith(arguments[0])"
LABELLED = """
return [...document.querySelectorAll('button, a, input, select, canvas, img, dialog, section')]
  .filter((one) => one.checkVisibility() && !one.closest('[aria-hidden]'))
  .filter((one) => one.tagName === 'IMG' ? !one.hasAttribute('alt')
    : !(one.ariaLabel || one.textContent.trim() || one.labels?.length))
  .map((one) => one.outerHTML.slice(0, 200))
"""


class Camera:
    """A watcher with its page, and real digits to feed it."""

    def __init__(self, folder: Path) -> None:
        params = {"encoder": "cnn", "augmentation": "digits", "steps_per_batch": 1}
        params |= {"clusters": 32, "memory_size": 64}
        config = WatchConfig(
            batch_size=BATCH, image_size=16, params=params, duplicates=0, checkpoint_seconds=1e6
        )
        self.watcher = Watcher(folder, config=config)
        self.knowledge = Knowledge(self.watcher.store, self.watcher.learner)
        self.watcher.observers.append(self.knowledge)
        self.watcher.start()
        app = make_app(self.watcher, self.knowledge, self.watcher.store)
        self.server = Server(app, "127.0.0.1", 0)
        self.frames, self.fed = digit_frames(160), 0

    def feed(self, n: int) -> list[int]:
        """Feed so many more digits, a minute apart."""
        some = self.frames[self.fed : self.fed + n]
        when = [NOON + 60.0 * (self.fed + i) for i in range(n)]
        self.fed += n
        return self.watcher.feed(some, when=when)

    def event(self, image: int) -> int:
        """Open an event, as novelty does."""
        with self.watcher.store.transaction() as db:
            made = db.execute(
                "INSERT INTO events (kind, image, opened, state, score, threshold, count, why) "
                "VALUES ('new', ?, ?, 'open', 1.8, 1.0, 3, '{}')",
                (image, NOON),
            )
            return int(made.lastrowid or 0)


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Camera]:
    made = Camera(tmp_path_factory.mktemp("camera"))
    with made.server:
        made.feed(4 * BATCH)
        made.watcher.flush()
        yield made
    made.watcher.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(opened: Any) -> Iterator[Any]:
    resize(opened, 1280)
    opened.get("about:blank")
    errors(opened)
    yield opened
    assert errors(opened) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_shows_itself(browser: Any, camera: Camera, screen: str):
    show(browser, camera.server.url, screen)
    wait(browser, "document.querySelectorAll('h1').length === 1")
    chosen = browser.find_element("css selector", "nav [aria-current=page]")
    assert chosen.get_attribute("data-screen") == screen
    assert browser.title.endswith("scale")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("screen", [*SCREENS, "search/3", "names/zero"])
def test_a_screen_fits_a_phone_and_is_labelled(
    browser: Any, camera: Camera, screen: str, dark: bool
):
    resize(browser, 390, 844, dark=dark)
    show(browser, camera.server.url, screen)
    wait(browser, "document.documentElement.scrollWidth <= 390")
    assert browser.execute_script(LABELLED) == []


def test_now_follows_the_learner_by_itself(browser: Any, camera: Camera):
    show(browser, camera.server.url, "now")
    value = "document.querySelector('.tile-value').textContent"
    before = wait(browser, value)
    (*_, last) = camera.feed(BATCH)
    wait(browser, f"{value} !== arguments[0]", before)
    wait(browser, LAST, last)


def test_now_shows_the_guard_in_percent(browser: Any, camera: Camera):
    camera.watcher.guard = Guard(41.0, 22.3, images=512).to_json()
    show(browser, camera.server.url, "now")
    said = "finds 41 % of views again, untrained 22.3 %"
    wait(browser, "document.querySelector('.tiles')?.textContent.includes(arguments[0])", said)


def test_two_browsers_follow_the_same_learner(browser: Any, camera: Camera, tmp_path: Path):
    with chromium(tmp_path / "second") as second:
        for one in (browser, second):
            show(one, camera.server.url, "now")
        (*_, last) = camera.feed(BATCH)
        for one in (browser, second):
            wait(
                one,
                LAST,
                last,
            )
    show(browser, camera.server.url, "now")  # the other went away


def select(browser: Any, *images: int) -> None:
    for image in images:  # in one go: the grid may be drawn anew at any moment
        box = f"document.querySelector(\"[data-select='{image}']\")"
        wait(browser, f"({box} && ({box}.checked || {box}.click() || true))")


def test_naming_a_selection_changes_the_labels(browser: Any, camera: Camera):
    show(browser, camera.server.url, f"timeline/{int(NOON // 3600)}")
    wait(browser, "document.querySelector(\"[data-select='60']\")")
    for images, name in (((1, 2, 3), "zero"), ((58, 59, 60), "other")):
        select(browser, *images)
        field = browser.find_element("css selector", "#selection input")
        field.send_keys(name)
        browser.find_element("css selector", "#selection button.main").click()
        wait(browser, "document.querySelector('#selection').hidden")
    labels = "[...document.querySelectorAll('.cell .note')].map((one) => one.textContent)"
    wait(browser, f"{labels}.filter((one) => /^zero [0-9]+/.test(one)).length > 0")
    wait(browser, f"{labels}.filter((one) => one === 'zero').length === 3")
    wait(browser, "document.querySelector('.name-strip .run')")
    show(browser, camera.server.url, "names")
    rows = wait(browser, "[...document.querySelectorAll('tbody a')].map((one) => one.textContent)")
    assert rows == ["other", "zero"]


def test_a_hostile_name_is_only_text(browser: Any, camera: Camera):
    name = "<img src=x onerror=document.title='in'>"
    camera.knowledge.name([5], name)
    for screen in ("names", "now", "timeline", "groups"):
        show(browser, camera.server.url, screen)
        assert browser.execute_script("return document.querySelector('img[src=x]')") is None
    show(browser, camera.server.url, "names")
    names = wait(browser, "[...document.querySelectorAll('tbody a')].map((one) => one.textContent)")
    assert name in names
    camera.knowledge.unname([5])


SHOW_ALL = """
[...document.querySelectorAll('.group')].some((group) => {
  const buttons = [...group.querySelectorAll('button')];
  buttons.find((one) => one.textContent.startsWith('Show all'))?.click();
  return group.querySelectorAll('.cell').length > 12;
})
"""


def test_a_group_shows_all_its_images_and_is_named_as_a_whole(browser: Any, camera: Camera):
    show(browser, camera.server.url, "groups")
    wait(browser, SHOW_ALL.strip())
    wait(browser, "document.querySelector('.scatter canvas').width > 0")
    # In one step, because the page may draw its groups anew at any time.
    browser.execute_script(
        "const form = document.querySelector('.group form');"
        "form.elements.name.value = 'grouped'; form.requestSubmit();"
    )
    wait(browser, "document.querySelector('.toast')?.textContent.includes('named grouped')")
    found = camera.watcher.store.query("SELECT COUNT(*) FROM names WHERE name = 'grouped'")
    assert found[0][0] >= 3


def test_search_by_upload_finds_the_image(browser: Any, camera: Camera, tmp_path: Path):
    frame = camera.watcher.store.pixels([20])[0].transpose(1, 2, 0)
    path = tmp_path / "query.png"
    Image.fromarray(np.ascontiguousarray(frame)).save(path)
    show(browser, camera.server.url, "search")
    browser.find_element("css selector", "#search-file").send_keys(str(path))
    first = wait(browser, "document.querySelector('.cell')?.dataset.id")
    assert first == "20"


def test_search_refuses_what_is_no_image(browser: Any, camera: Camera, tmp_path: Path):
    path = tmp_path / "page.jpg"
    path.write_text("<script>alert(1)</script>")
    show(browser, camera.server.url, "search")
    browser.find_element("css selector", "#search-file").send_keys(str(path))
    wait(browser, "document.querySelector('.nothing')?.textContent.includes('cannot be read')")
    assert [one for one in errors(browser) if "415" not in one] == []


def test_more_like_this_from_an_image(browser: Any, camera: Camera):
    show(browser, camera.server.url, "search/20")
    cells = wait(browser, "[...document.querySelectorAll('.cell')].map((one) => one.dataset.id)")
    assert "20" not in cells
    show(browser, camera.server.url, "search/20")  # again by hash: nothing is left over
    assert len(browser.find_elements("css selector", ".query")) == 1


def test_an_event_shows_up_and_is_dismissed(browser: Any, camera: Camera):
    show(browser, camera.server.url, "events")
    camera.event(9)
    button = "document.querySelector('.event button.main')"
    wait(browser, button)
    wait(browser, "document.querySelector('#open-events').textContent.startsWith('1')")
    browser.execute_script(f"{button}.click()")
    wait(browser, "document.querySelector('.event .badge').textContent === 'dismissed'")


def test_the_keyboard_reaches_images(browser: Any, camera: Camera):
    from selenium.webdriver import ActionChains, Keys

    show(browser, camera.server.url, "memory")
    wait(browser, "document.querySelectorAll('.cell').length > 2")
    browser.execute_script("document.querySelector('.cell .thumb').focus()")
    focused = "document.activeElement.closest('.cell')?.dataset.id"
    first = wait(browser, focused)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    second = wait(browser, f"{focused} !== arguments[0] && {focused}", first)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    wait(browser, "document.querySelector('#picture-title')?.textContent === arguments[0]",
         f"Image {second}")  # fmt: skip
    wait(browser, "document.querySelector('#picture img').naturalWidth > 0")
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    wait(browser, "!document.querySelector('#picture').open")
    assert wait(browser, focused) == second


def test_a_lost_connection_is_shown_and_comes_back(browser: Any, tmp_path: Path):
    camera = Camera(tmp_path)
    with camera.server:
        show(browser, camera.server.url, "now")
    wait(browser, "document.querySelector('#pulse-text').textContent === 'connection lost'")
    app = make_app(camera.watcher, camera.knowledge, camera.watcher.store)
    with Server(app, "127.0.0.1", camera.server.port):
        wait(browser, "document.querySelector('#pulse-text').textContent !== 'connection lost'")
    camera.watcher.close()
    errors(browser)  # the browser reports the refused connections
