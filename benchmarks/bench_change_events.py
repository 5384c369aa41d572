"""Change events of a chart: the newest 2,001 that match its filters, of 100,000 in the account (BENCH_EVENTS).

Each event names a service, half also a team. *Few match*: the filter's service is that of the oldest 20 events only, so that
the statement reads all of the days. Milliseconds of the statement by EXPLAIN ANALYZE, median of 21.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from django.contrib.auth import get_user_model
from django.db import connection

from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks.cpu import cpu_seconds, postmaster
from benchmarks.table import Row
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import events_between
from finops.change_events.queries.scope_conditions import filter_by_scope
from finops.change_events.scopes import scope_filters_of
from finops.costs.spend_query import CostFilter, Op
from finops.lib.chart_markers import MAX_MARKERS, MarkerQuestion, markers_of
from finops.lib.cost_access import cost_access
from finops.lib.periods import DateRange

EVENTS = int(os.environ.get("BENCH_EVENTS", "100000"))
DAYS = DateRange(date(2025, 11, 1), date(2026, 11, 28))
MONTH = DateRange(date(2026, 10, 30), date(2026, 11, 28))
TURNS = 21
FEW = 20


def measure() -> list[Row]:
    owner = get_user_model().objects.create_user("change-events@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-change-events")
    _store(account)
    with account_scope(account), cost_access(None):
        return list(_rows())


def _store(account: Account) -> None:
    newest = datetime(2026, 11, 28, tzinfo=UTC)
    step = timedelta(days=DAYS.days - 1) / EVENTS
    ChangeEvent.objects.unscoped().bulk_create(
        (
            ChangeEvent(
                account=account,
                origin="note",
                kind="deployment",
                title=f"service {place % 50} v{place}",
                occurred_at=newest - step * place,
                scope={
                    "service": ["Seldom" if place >= EVENTS - FEW else f"Service {place % 50}"],
                    **({"tag:team": [f"Team {place % 9}"]} if place % 2 else {}),
                },
            )
            for place in range(EVENTS)
        ),
        batch_size=2_000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE change_events_changeevent")


def _rows() -> Iterator[Row]:
    questions: list[tuple[str, DateRange, list[tuple[str, Op, list[str]]]]] = [
        ("no filter", DAYS, []),
        ("one service of 50", DAYS, [("service", "in", ["service 7"])]),
        ("a team of 9, half without", DAYS, [("tag:team", "in", ["team 3"])]),
        ("no service contains it", MONTH, [("service", "contains", ["seldom"])]),
        ("few match", DAYS, [("service", "in", ["SELDOM"])]),
        ("few match, contains", DAYS, [("service", "contains", ["seld"])]),
        ("few match, two filters", DAYS, [("tag:team", "not_in", ["Team 1"]), ("service", "in", ["Seldom"])]),
    ]
    for name, days, filters in questions:
        cost_filters = [
            CostFilter(dimension=dimension, op=op, values=values) for dimension, op, values in filters
        ]
        rows = filter_by_scope(events_between(days.start, days.end), scope_filters_of(cost_filters))[
            : MAX_MARKERS + 1
        ]
        used = cpu_seconds(postmaster())
        plans = [json.loads(rows.explain(format="json", analyze=True))[0] for _ in range(TURNS)]
        used = cpu_seconds(postmaster()) - used
        yield {
            f"{EVENTS:,} events": name,
            "days": days.days,
            "markers": len(markers_of(MarkerQuestion(days, cost_filters))),
            "statement, ms": statistics.median(each["Execution Time"] for each in plans),
            "CPU of it, ms": used * 1_000 / TURNS,
            "planning, ms": statistics.median(each["Planning Time"] for each in plans),
            "uses the index": "change_event_newest" in json.dumps(plans[0]),
        }
