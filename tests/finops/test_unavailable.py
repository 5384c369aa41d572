"""A database that goes away is 503 and worth another try at every endpoint; a fault of ours is 500."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from tests.cast import Cast, signed_in
from tests.mcpserver.mcp_client import McpClient, mint

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def connection_after() -> Iterator[None]:
    yield
    connection.close()


def end_the_connection() -> None:
    """From outside, so that Django learns of it by its next statement."""
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend_id,) = cursor.fetchone() or (0,)
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [backend_id])
    finally:
        other.close()


def test_a_page_says_that_the_database_does_not_answer(cast: Cast) -> None:
    browser = signed_in(cast.owner)
    browser.raise_request_exception = False
    end_the_connection()
    answer = browser.get(f"/a/{cast.account.slug}/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert b"The database is not available" in answer.content


def test_the_mcp_endpoint_answers_503_with_retry_after(cast: Cast) -> None:
    mcp_client = McpClient(mint(cast))
    end_the_connection()
    answer = mcp_client.http(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    reply = json.loads(answer.content)
    assert reply["id"] == 7
    assert "not available" in reply["error"]["message"]


def test_a_fault_of_ours_is_500(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("finops.views.redirect", fail)
    browser = Client(raise_request_exception=False)
    browser.force_login(cast.owner)
    assert browser.get("/").status_code == 500
