"""The retention of calls, and who may set it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry, User
from accounts.scoping import account_scope
from finops.activity import queries, services
from finops.activity.calls import store
from finops.activity.models import AssistantCall, AssistantCallCount
from finops.activity.queries import ActivityQuery, ActivityReader, retention_days
from finops.activity.services import set_activity_retention
from finops.activity.tasks import sweep
from finops.lib import clock
from tests.cast import Cast
from tests.finops.activity.call_helpers import call_of, credential_of

URL = "/a/acme/assistant-activity/retention/"
ClientFor = Callable[[User], Client]


def call_ages(cast: Cast) -> list[int]:
    """How many days ago the kept calls were, of Acme."""
    with account_scope(cast.account):
        return sorted((clock.today() - call.at.date()).days for call in AssistantCall.objects.all())


def note_days(cast: Cast, *days: int) -> None:
    for account in (cast.account, cast.other_account):
        store([call_of(credential_of(account), days_ago=ago) for ago in days])


def test_calls_are_kept_for_ninety_days_by_default(cast: Cast) -> None:
    note_days(cast, 0, 89, 90, 91, 400)

    sweep()

    assert call_ages(cast) == [0, 89, 90]


def test_each_account_keeps_as_long_as_it_says(cast: Cast) -> None:
    set_activity_retention(account=cast.account, actor=cast.actor, days=7)
    set_activity_retention(account=cast.other_account, actor=cast.other_actor, days=400)
    note_days(cast, 1, 7, 8, 399, 401)

    sweep()

    assert call_ages(cast) == [1, 7]
    with account_scope(cast.other_account):
        assert AssistantCall.objects.count() == 4
        assert AssistantCallCount.objects.count() == 4


def test_the_counts_go_with_the_calls(cast: Cast) -> None:
    note_days(cast, 5, 95)

    sweep()

    with account_scope(cast.account):
        assert [clock.today() - count.day for count in AssistantCallCount.objects.all()] == [
            timedelta(days=5)
        ]


def test_a_day_is_kept_or_deleted_as_a_whole(cast: Cast) -> None:
    first = datetime.combine(clock.today() - timedelta(days=90), time.min, UTC)
    key = credential_of(cast.account)
    store([call_of(key, at=first), call_of(key, at=first - timedelta(microseconds=1))])

    assert services.sweep() == 1


def test_a_sweep_deletes_in_pieces_and_all_of_them(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "SWEPT_AT_ONCE", 10)
    store([call_of(credential_of(cast.account), days_ago=100) for _ in range(30)])

    assert services.sweep() == 30
    assert services.sweep() == 0


def test_an_admin_changes_it_and_the_audit_log_says_so(cast: Cast, client_for: ClientFor) -> None:
    answer = client_for(cast.admin).post(URL, {"days": "30"})

    assert answer.status_code == 302
    with account_scope(cast.account):
        assert retention_days(cast.account) == 30
        entry = AuditEntry.objects.get(action="activity_retention.change")
    assert entry.detail == {"from": {"days": 90}, "to": {"days": 30}}


@pytest.mark.parametrize("role", ["viewer", "member"])
def test_only_admins_change_it(cast: Cast, client_for: ClientFor, role: str) -> None:
    client = client_for(cast.person(role))

    assert client.post(URL, {"days": "30"}).status_code == 403
    assert (
        "Only admins and owners can change this."
        in client.get("/a/acme/assistant-activity/").content.decode()
    )


@pytest.mark.parametrize("days", ["6", "401", "", "many", "-1", "99999999999"])
def test_a_retention_out_of_bounds_is_refused_with_the_bounds(
    cast: Cast, client_for: ClientFor, days: str
) -> None:
    answer = client_for(cast.owner).post(URL, {"days": days})

    assert answer.status_code == 422
    assert "7 to 400 days" in answer.content.decode()
    with account_scope(cast.account):
        assert retention_days(cast.account) == 90


# Cost


@contextmanager
def plans() -> Iterator[list[str]]:
    """How PostgreSQL runs what the block asks of calls."""
    query_plans: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield query_plans
    with connection.cursor() as cursor:
        for query in captured.captured_queries:
            if (
                'activity_assistantcall"' in query["sql"]
                or "DELETE FROM activity_assistantcall " in query["sql"]
            ):
                cursor.execute(f"EXPLAIN {query['sql']}")
                query_plans.append("\n".join(row[0] for row in cursor.fetchall()))


def test_a_page_and_the_sweep_go_along_the_index_of_the_account(cast: Cast) -> None:
    """20,000 calls of two accounts: PostgreSQL would read them all if the index did not serve the order."""
    for account in (cast.account, cast.other_account):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO activity_assistantcall (account_id, at, method, name, arguments, credential_kind,"
                " credential_id, credential_label, milliseconds, answer_bytes, outcome, problem, console_page)"
                " SELECT %s, now() - n * interval '15 minutes', 'tool', 'n', '{}', 'mcp_key', 1, 'k', 1, 1, 'ok', '', ''"
                " FROM generate_series(1, 10000) n",
                [account.pk],
            )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE activity_assistantcall")
    reader = ActivityReader(cast.owner.pk, sees_everybody=True)

    with plans() as query_plans:
        with account_scope(cast.account):
            first = queries.calls(cast.account, ActivityQuery(), reader)
            queries.calls(cast.account, ActivityQuery(cursor=first.next_cursor), reader)
            queries.calls(cast.account, ActivityQuery(sort="at"), reader)
        services._delete_calls(cast.account.pk, clock.today() - timedelta(days=90))

    assert len(query_plans) >= 4
    for plan in query_plans:
        assert "assistant_call_of_account" in plan
        assert "Sort" not in plan or plan.startswith("Delete")
