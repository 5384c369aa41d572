"""Every credential at every place: it opens its own endpoint, no other, and where it opens nothing nothing changes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from django.test import Client

from tests.cast import Cast
from tests.credentials.endpoints import (
    CLOUDEVENTS,
    COSTS,
    ENDPOINTS,
    EVENTS,
    MCP,
    OPENMETER,
    OTLP,
    PUSH,
    REST,
    Outcome,
)
from tests.credentials.entries import ENTRIES, Entry
from tests.credentials.toys import with_toys
from tests.isolation.discovery import fingerprint, routes


@pytest.fixture(autouse=True)
def _toys(settings: Any) -> None:
    settings.MIDDLEWARE = with_toys(settings.MIDDLEWARE)


_WITHOUT_DESCRIPTION = re.compile(r'(?<=error="invalid_token", )error_description="[^"]+", ')


def expected_outcome(entry: Entry, endpoint: str) -> Outcome:
    if endpoint not in entry.opens and endpoint not in entry.special:
        return ENDPOINTS[endpoint].refused if entry.is_token else ENDPOINTS[endpoint].asked
    outcome = entry.special.get(endpoint, ENDPOINTS[endpoint].opened)
    used = (entry.used,) if entry.used else ()
    return dataclasses.replace(outcome, writes=(*outcome.writes, *used))


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("name", ENTRIES)
def test_a_credential_is_accepted_by_its_own_endpoint_only(cast: Cast, name: str, endpoint: str) -> None:
    client, entry = Client(), ENTRIES[name]
    headers = entry.show(cast, client)
    before, outcome = fingerprint(), expected_outcome(entry, endpoint)

    answer = ENDPOINTS[endpoint].ask(client, headers)

    assert answer.status_code == outcome.status, answer.content
    challenge = answer.headers.get("WWW-Authenticate")
    assert (challenge and _WITHOUT_DESCRIPTION.sub("", challenge)) == outcome.challenge
    assert answer.headers.get("Location", "").startswith(outcome.leads_to)
    assert outcome.says in answer.content.decode()
    assert_changed(before, fingerprint(), outcome.writes)


def assert_changed(before: dict[str, str], after: dict[str, str], writes: tuple[str, ...]) -> None:
    """Each of these changed, and nothing else did."""
    changed = [table for table in after if after[table] != before[table]]

    assert [table for table in changed if not table.startswith(writes or ("-",))] == []
    assert [name for name in writes if not any(table.startswith(name) for table in changed)] == []


def test_every_endpoint_of_tokens_is_in_the_matrix() -> None:
    paths = {f"/{route.path}" for route in routes() if route.path.startswith("api/")}
    # Of one endpoint class each (finops.connections.views.push.CostEndpoint): the matrix has the first.
    # Those of configuration pass what the tools pass (tests/mcpserver/rest/test_rest_configuration.py).
    other_paths = ("/api/costs/pushes/", "/api/costs/months/", "/api/v1/configuration")
    endpoints = {path for path in paths if not path.startswith(other_paths)}

    # The documents of the endpoints are for everybody, with or without a credential.
    documents = {
        "/api/usage/openapi.json",
        "/api/costs/openapi.json",
        "/api/v1/openapi.json",
        "/api/events/openapi.json",
        "/api/mcp/server-card",
        "/api/mcp/server.json",
    }
    assert endpoints == {
        MCP,
        PUSH,
        CLOUDEVENTS,
        OPENMETER,
        OTLP,
        COSTS,
        EVENTS,
        REST,
        f"{REST}/<str:name>",
        *documents,
    }
