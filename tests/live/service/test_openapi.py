"""Schemathesis asks the API for everything that its description allows, and more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.live.service.conftest import Page

pytestmark = pytest.mark.slow
EXAMPLES = 8  # requests for each route
ENDLESS = "/updates"


def test_no_request_ends_in_a_server_error(serve: Callable[..., Page]):
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis.errors import Unsatisfiable

    page = serve()
    schema = schemathesis.openapi.from_dict(page.get("/openapi.json").json())
    schema.config.update(base_url=page.server.url)
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path == ENDLESS:
            continue
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case):
                nonlocal asked
                asked += 1
                answer = case.call(timeout=60)
                assert answer.status_code < 500, (case.as_curl_command(), answer.text)

            with suppress(Unsatisfiable):  # nothing in such a request can be wrong
                ask()
    assert asked > 100
