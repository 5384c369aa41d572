"""listRecentEvents: events for an assistant that starts without data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.notifications.models import Notification
from finops.notifications.services import notify
from tests.cast import Cast
from tests.mcpserver.mcp_client import McpClient


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


def happen(account: Account, title: str, *, admins_only: bool = False) -> int:
    notify(
        account=account,
        kind=Notification.Kind.ALERT,
        title=title,
        path=f"/a/{account.slug}/budgets/",
        key=title,
        admins_only=admins_only,
    )
    with account_scope(account):
        return Notification.objects.get(title=title).pk


def test_events_come_newest_first_with_their_page(acme: Account, mcp_client: McpClient) -> None:
    happen(acme, "Core at 80 %")
    newest = happen(acme, "Core at 100 %")

    answer = mcp_client.ask("listRecentEvents")

    assert [event["title"] for event in answer["events"]] == ["Core at 100 %", "Core at 80 %"]
    assert answer["events"][0]["id"] == newest
    assert answer["events"][0]["console_url"] == f"http://127.0.0.1:8000/a/{acme.slug}/budgets/"
    assert answer["summary"].startswith(
        "'Acme' has 2 alerts and failed jobs in the last 7 days; the newest: 'Core at 100 %'"
    )


def test_only_events_after_the_given_one_are_returned(acme: Account, mcp_client: McpClient) -> None:
    old_event = happen(acme, "old")

    assert mcp_client.ask("listRecentEvents", after=old_event)["events"] == []
    happen(acme, "new")
    assert [event["title"] for event in mcp_client.ask("listRecentEvents", after=old_event)["events"]] == [
        "new"
    ]


def test_a_shortened_answer_says_so(acme: Account, mcp_client: McpClient) -> None:
    for title in ("one", "two", "three"):
        happen(acme, title)

    answer = mcp_client.ask("listRecentEvents", limit=2)

    assert (len(answer["events"]), answer["total_events"]) == (2, 3)
    assert answer["truncated"] == "The newest 2 of 3. Ask for fewer days."


def test_events_for_admins_and_of_other_accounts_are_not_returned(
    cast: Cast, acme: Account, mcp_client: McpClient
) -> None:
    happen(acme, "for admins", admins_only=True)
    happen(cast.other_account, "elsewhere")

    assert mcp_client.ask("listRecentEvents")["events"] == []
