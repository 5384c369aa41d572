"""Disk space of PostgreSQL per row: rows of each kind are created through their service or endpoint, and the growth
of the tables, with indexes and TOAST, is divided by their number. Source of the sizing in docs/operations.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django.test import RequestFactory, override_settings

from accounts import audit
from accounts.models import SecurityEvent
from accounts.scoping import account_scope
from accounts.security.services import record as record_security_event
from accounts.security.sessions import SessionStore
from benchmarks.table import Row
from finops.activity.recorder import recorder as activity_recorder
from finops.alerts.messages import Fact, Message
from finops.alerts.models import AlertDelivery
from finops.alerts.services.delivery_rows import create_delivery
from finops.lib import clock
from finops.notifications.models import Notification
from finops.notifications.services import notify
from finops.receipts import records
from tests.cast import Cast, make_cast
from tests.factories.alerts import create_channel
from tests.factories.costs import add_source, cost
from tests.finops.change_events.event_client import create_event_client
from tests.finops.change_events.event_client import event as change_event
from tests.ingestion.push_client import create_push_client, event
from tests.live_settings import STORAGES
from tests.mcpserver.mcp_client import McpClient, mint

ROWS: Final = 10_000
PUSHES: Final = 1_000
QUESTIONS: Final = 500
EVENTS_OF_A_PUSH: Final = 1_000

_SIZES = """
SELECT coalesce(i.inhparent::regclass::text, c.relname), sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1
"""
"""Bytes by table, partitions with their table."""

_ADDRESSES = ("checkout", "search", "billing", "gateway", "mail", "reports")


def measure() -> list[Row]:
    for name in ("MCP", "USAGE", "EVENT"):
        setattr(settings, f"{name}_RATE_LIMIT_PER_MINUTE", 100_000_000)
    cast = make_cast()
    with override_settings(STORAGES=STORAGES), account_scope(cast.account):
        return [row for action in _ACTIONS for row in _growth(cast, action)]


def _growth(cast: Cast, action: Callable[[Cast], tuple[str, int]]) -> Iterator[Row]:
    before = _sizes()
    operation, count = action(cast)
    after = _sizes()
    sys.stdout.write(f"{operation}: {count:,} rows\n")
    sys.stdout.flush()
    grown = {table: size - before.get(table, 0) for table, size in after.items()}
    for table, size in sorted(grown.items(), key=lambda each: -each[1]):
        if size >= count:
            yield {"row": operation, "table": table, "rows": count, "bytes a row": round(size / count)}


def _sizes() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        return dict(cursor.fetchall())


def _usage_events(cast: Cast) -> tuple[str, int]:
    push_client = create_push_client(cast)
    for push in range(ROWS // EVENTS_OF_A_PUSH):
        events = [
            event(
                event_id=f"evt_{push:04}{number:06}",
                customer_id=f"cust-{number % 200}",
                quantity=number % 97,
                dimensions={"region": f"eu-{number % 4}", "plan": "pro"},
            )
            for number in range(EVENTS_OF_A_PUSH)
        ]
        assert push_client.push(*events).status_code == 200
    return "usage event", ROWS


def _pushes(cast: Cast) -> tuple[str, int]:
    push_client = create_push_client(cast, name="Small pushes")
    for number in range(PUSHES):
        assert (
            push_client.push(
                event(event_id=f"one_{number}"), idempotency_key=f"push-{number:032}"
            ).status_code
            == 200
        )
    return "push of one event", PUSHES


def _audit_entries(cast: Cast) -> tuple[str, int]:
    for number in range(ROWS):
        audit.record(
            account=cast.account,
            actor=cast.actor,
            action="budget.change",
            target=f"Budget of {_ADDRESSES[number % 6]}",
            detail={"from": {"amount": "1200.00"}, "to": {"amount": f"{number}.00"}},
        )
    return "audit log entry", ROWS


def _mcp_calls(cast: Cast) -> tuple[str, int]:
    """Create tool calls of an assistant, each with its activity log entry and receipt."""
    first = date(2026, 1, 1)
    add_source(cast.account, [cost(first + timedelta(days=day), 10 + day) for day in range(60)])
    mcp_client = McpClient(mint(cast))
    for number in range(QUESTIONS):
        start = first + timedelta(days=number % 50)
        mcp_client.ask(
            "querySpend",
            start_date=start.isoformat(),
            end_date=(start + timedelta(days=number // 50 % 9)).isoformat(),
            group_by=["service"],
            top=1 + number // 450,
        )
    assert activity_recorder.flush()
    assert records.recorder.flush()
    return "MCP question", QUESTIONS


def _deliveries(cast: Cast) -> tuple[str, int]:
    channel = create_channel(cast.account)
    for number in range(ROWS):
        message = Message(
            title=f"Budget of {_ADDRESSES[number % 6]} is at 104 %",
            summary="USD 1,248.00 of USD 1,200.00 is spent with 6 days left; the forecast is USD 1,610.00.",
            facts=(
                Fact("Spent", "USD 1,248.00"),
                Fact("Forecast", "USD 1,610.00"),
                Fact("Period", "Nov 2026"),
            ),
            url=f"https://finops.example.com/a/acme/budgets/{number}/",
            severity="warning",
            kind="budget",
            dedup_key=f"budget {number}",
            data={"budget": number, "spent": {"amount": "1248.00", "currency": "USD"}},
        )
        create_delivery(cast.account, channel, message)
    attempt = [{"at": clock.now().isoformat(), "seconds": 0.21, "status_code": 200, "answer": "ok"}]
    # Unscoped: the benchmark has one account. As a worker stores the outcome, for all rows at once.
    AlertDelivery.objects.unscoped().update(
        status="delivered", attempts=attempt, next_attempt_at=None, delivered_at=clock.now()
    )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM FULL alerts_alertdelivery")
    return "alert delivery", ROWS


def _change_events(cast: Cast) -> tuple[str, int]:
    event_client = create_event_client(cast)
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    for push in range(ROWS // 100):
        events = [
            change_event(
                id=f"deploy-{push}-{number}",
                title=f"{_ADDRESSES[number % 6]} v{push}.{number}",
                occurred_at=(moment + timedelta(seconds=push * 100 + number)).isoformat(),
                url=f"https://ci.example.com/runs/{push}{number}",
                scope={"service": [_ADDRESSES[number % 6]]},
            )
            for number in range(100)
        ]
        answer = event_client.push(*events)
        assert json.loads(answer.content)["accepted"] == len(events), answer.content
    return "change event", ROWS


def _sessions(cast: Cast) -> tuple[str, int]:
    for _ in range(PUSHES):
        session = SessionStore()
        session.update({"_auth_user_id": str(cast.member.pk), "_auth_user_hash": "x" * 64})
        session.create()
    return "session", PUSHES


def _security_events(cast: Cast) -> tuple[str, int]:
    request = RequestFactory().get("/", HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0")
    for _ in range(PUSHES):
        record_security_event(user=cast.member, kind=SecurityEvent.Kind.SIGN_IN, request=request)
    return "sign-in", PUSHES


def _notifications(cast: Cast) -> tuple[str, int]:
    for number in range(ROWS):
        notify(
            account=cast.account,
            kind=Notification.Kind.SYNC,
            title=f"Sync of {_ADDRESSES[number % 6]} failed",
            text="The bucket refused the key. Enter a new one.",
            path=f"connections/cost/{number}/",
            key=f"sync {number}",
        )
    return "notification", ROWS


_ACTIONS: Final = (
    _usage_events,
    _pushes,
    _audit_entries,
    _mcp_calls,
    _deliveries,
    _change_events,
    _sessions,
    _security_events,
    _notifications,
)
