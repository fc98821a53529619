"""Where the page is served, and to whom."""

from __future__ import annotations

import pytest

from scale._errors import InputError
from scale.live.serving import parse_address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "x",
        "8765x",
        ":8765",
        "[]:8765",
        "127.0.0.1:",
        "::1:8765",
        "99999",
        "9" * 5000,
        "1.5",
        "-1",
        "٣",
    ],
)
def test_what_is_no_address_is_told(text: str):
    with pytest.raises(InputError, match=r"page.s (address|port)"):
        parse_address(text)


def test_without_a_host_only_this_machine_is_served():
    assert parse_address(" 0 ") == ("127.0.0.1", 0)
    assert parse_address("camera.lan:80") == ("camera.lan", 80)
