"""What endpoints and pages answer to a request that admission refuses, each in its own form."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.scoping import account_scope
from finops.allocation.models import Team
from finops.web.admission import BUSY, INCOMPLETE, REFUSAL, Refusal, _RefusalLog
from tests.cast import Cast, signed_in
from tests.credentials.endpoints import COSTS, EVENTS, MCP, OPENMETER, OTLP, PUSH, SCIM

PATHS = (
    MCP,
    PUSH,
    OPENMETER,
    OTLP,
    EVENTS,
    COSTS,
    SCIM,
    "/api/v1/tools/querySpend",
    "/oauth/token",
    "/a/acme/budgets/new/",
)


def refuse(path: str, refusal: Refusal) -> Any:
    environ: dict[str, Any] = {REFUSAL: refusal}
    return Client(raise_request_exception=False).post(path, b"{}", "application/json", **environ)


@pytest.mark.parametrize("path", PATHS)
def test_a_refused_request_gets_its_status_in_the_form_of_its_endpoint_and_no_line_in_the_log(
    db: None, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    busy, incomplete = refuse(path, BUSY), refuse(path, INCOMPLETE)

    assert (busy.status_code, busy.headers["Retry-After"]) == (503, "2")
    assert incomplete.status_code == 400
    for answer in (busy, incomplete):
        is_json = "json" in answer.headers["Content-Type"]
        assert is_json == path.startswith(("/api/", "/scim/", "/oauth/")), answer.headers["Content-Type"]
        if is_json:
            assert answer.json()
    assert [record for record in caplog.records if record.name == "django.request"] == []


def test_refusals_are_one_warning_a_second_with_their_number(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 100.0
    monkeypatch.setattr("finops.web.admission.time.monotonic", lambda: now)
    refusals = _RefusalLog()
    for _ in range(30):
        refusals.note("pages")
    assert len(caplog.records) == 1
    now = 101.5
    refusals.note("mcp")
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "29 at pages" in caplog.messages[1]
    assert "1 at mcp" in caplog.messages[1]


def test_a_null_character_that_a_page_passes_on_to_the_database_is_400(operator: Client, cast: Cast) -> None:
    client, account = signed_in(cast.owner), cast.account
    client.raise_request_exception = operator.raise_request_exception = False
    with account_scope(account):
        team = Team.objects.create(account=account, name="Core")

    answers = [
        operator.get("/admin/accounts/user/", {"q": "a\0b"}),
        client.post(reverse("session_end"), {"key": "a\0b"}),
        client.post(f"/a/{account.slug}/teams/{team.pk}/members/", {"email": "a\0b"}),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400]
