"""Whatever is sent to any URL of the project, it answers, and never with a fault of ours. A new URL joins by itself.

A few inputs of each URL in the suite; a million in `make soak` (SOAK=1), or as many as SOAK_INPUTS says. The soak adds
each fault to tests/data/soak/found.jsonl.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings

from finops.lib.ratelimit import rate_limiter
from tests.any_input import inputs
from tests.any_input.endpoints import BODIES, Endpoint, endpoint_of
from tests.any_input.fields import observed
from tests.any_input.found import found, keep
from tests.any_input.inputs import Fields, Sent
from tests.cast import Cast
from tests.examples import SOAK
from tests.isolation.discovery import Route, routes

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

INPUTS = int(os.environ.get("SOAK_INPUTS", "1000000"))
FEW = 6
# A page takes 20 ms, an endpoint of programs 4, and pages of the admin console have one code.
SHARES = {"programs": 0.84, "pages": 0.15, "admin": 0.01}
EMPTY = [
    *(Sent(content_type=kind) for kind in (inputs.FORM, inputs.MULTIPART, inputs.JSON, "")),
    Sent(method="GET"),
]


def group_of(route: Route) -> str:
    if route.path in BODIES or route.path in ("oauth/token", "oauth/revoke"):
        return "programs"
    return "admin" if route.path.startswith("admin/") else "pages"


GROUPS = Counter(map(group_of, routes()))
ROUTES = [
    pytest.param(route, id=str(route), marks=[pytest.mark.slow] if group_of(route) == "admin" else [])
    for route in routes()
]


class Walk:
    """Sends requests to one URL, and undoes what each did."""

    def __init__(self, endpoint: Endpoint, faults: list[str]) -> None:
        self.endpoint, self.faults = endpoint, faults
        self.count, self.last = 0, Sent()

    def check(self, sent: Sent) -> int:
        """Return the status. Raises AssertionError for a fault, with its traceback."""
        self.count, self.last = self.count + 1, sent
        self.faults.clear()
        cache.clear()
        rate_limiter.cache_clear()
        with transaction.atomic():
            answer = self.endpoint.send(sent)
            transaction.set_rollback(True)
        assert answer.status_code < 500, f"{self.endpoint.url}\n{sent}\n{''.join(self.faults[-1:])}"
        return int(answer.status_code)

    def run(self, route: Route) -> None:
        """Check what every run checks of a URL, then generated requests."""
        fields = Fields()
        with observed(fields):
            for sent in [*EMPTY, *found()[route.path]]:
                self.check(sent)
            plausible = [(name, values[0]) for name, values in fields.items() if values]
            self.check(Sent(body=inputs.as_form(plausible).encode()))
        nulls = inputs.as_form([(name, "a\0b") for name in fields])
        self.check(Sent(method="GET", query=nulls))
        self.check(Sent(body=nulls.encode()))
        valid = self.endpoint.valid
        if valid is not None:
            # Else all hostile ones would end at the first check.
            assert self.check(Sent(content_type=inputs.JSON, body=json.dumps(valid).encode())) < 300
            for body in inputs.edges(valid):
                self.check(Sent(content_type=inputs.JSON, body=body))
        with_settings = settings(
            max_examples=inputs_of(route),
            deadline=None,
            database=None,
            derandomize=not SOAK,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )

        def check(sent: Sent) -> None:
            self.check(sent)

        with_settings(given(inputs.requests(fields, valid))(check))()


def inputs_of(route: Route) -> int:
    if not SOAK:
        return FEW
    return max(FEW, int(INPUTS * SHARES[group_of(route)] / GROUPS[group_of(route)]))


@pytest.mark.parametrize("route", ROUTES)
def test_any_request_gets_an_answer(
    cast: Cast, faults: list[str], route: Route, record_property: Callable[[str, object], None]
) -> None:
    walk = Walk(endpoint_of(route, cast), faults)
    try:
        walk.run(route)
    except AssertionError:
        if SOAK:
            keep(route.path, walk.last)
        raise
    record_property("inputs", walk.count)


def test_what_was_found_is_of_urls_that_there_are() -> None:
    assert found().keys() <= {route.path for route in routes()}
