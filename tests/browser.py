"""Headless Chromium for the tests of pages; they skip where it is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 120  # how long a test waits for what must come
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars",
)  # fmt: skip


@contextmanager
def chromium(profile: Path, width: int = 1280, height: int = 900) -> Iterator[Any]:
    """Yield a browser of this size with an empty profile."""
    selenium = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = selenium.ChromeService(driver)
    browser = selenium.Chrome(options=options, service=service)
    try:
        yield browser
    finally:
        browser.quit()


def resize(browser: Any, width: int, height: int = 900, *, dark: bool = False) -> None:
    """Give the page another size and theme."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})


def wait(browser: Any, condition: str, *arguments: object) -> Any:
    """Wait until a JavaScript expression is true, and return its value."""
    from selenium.webdriver.support.ui import WebDriverWait

    def ask(driver: Any) -> Any:
        return driver.execute_script(f"return {condition}", *arguments)

    return WebDriverWait(browser, SECONDS, 0.05).until(ask, f"never true: {condition}")


def show(browser: Any, url: str, screen: str) -> None:
    """Go to a screen of the live page and wait until it has loaded."""
    browser.get(f"{url}#{screen}")
    key = screen.partition("/")[0]
    ready = "!document.querySelector('[aria-busy]') && !document.querySelector('.waiting')"
    there = "document.querySelector('#main')?.dataset.screen === arguments[0]"
    live = "document.querySelector('#pulse')?.dataset.tone"
    wait(browser, f"{there} && {ready} && {live}", key)


def errors(browser: Any) -> list[str]:
    """Return what the console complains about, since the last call."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
