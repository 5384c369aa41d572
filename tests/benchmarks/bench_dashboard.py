"""A board of twelve widgets over a year of 12 million lines: seconds until the last has answered.

The widgets are asked for side by side, six at a time as a browser does, through the pages (Django's test client in
threads: no network, no drawing): with nothing of the lake's answers kept, then once more with what was kept; and each
alone.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal

from django.conf import settings
from django.db import connection

from accounts.audit import Actor
from accounts.models import Account, Role, User
from accounts.scoping import account_scope
from accounts.services import add_member, create_account
from finops.budgets.models import Budget
from finops.costs.models import CostSource
from finops.dashboards.services import create_dashboard
from finops.dashboards.starters import draft
from finops.lib import clock
from tests.benchmarks import lake_data
from tests.benchmarks.table import Row
from tests.cast import signed_in

NOW = datetime(2025, 12, 20, 12, tzinfo=UTC)
AT_ONCE = 6
ACTOR = Actor.command("bench")
TYPES = (
    *("total", "total, month", "spend_over_time", "spend_over_time, year", "spend_by region", "spend_by tag"),
    *("top_movers", "budget_status", "anomalies", "commitment_utilization", "table", "text"),
)


def measure() -> list[Row]:
    owner, viewer = (User.objects.create(email=f"{name}@bench.example") for name in ("owner", "viewer"))
    account = create_account(name="Board", owner=owner, slug="board")
    add_member(account=account, user=viewer, role=Role.VIEWER, actor=ACTOR)
    lake_data.make_year(account, 2025, lake_data.FEW_TAGS)
    with account_scope(account), clock.frozen(NOW):
        CostSource.objects.create(account=account, pk=1, name="Bills")
        widgets = _board(account)
        kept = settings.LAKE_ANSWERS_BYTES
        settings.LAKE_DEADLINE_SECONDS = 300  # to the end, also while the machine does other things
        settings.LAKE_ANSWERS_BYTES = 0
        _seconds(viewer, widgets[:1], {})  # opens connections, compiles templates
        first = _seconds(viewer, widgets, {})
        days = _seconds(viewer, widgets, {"period": "last_30_days"})
        alone = [_ask(viewer, url, {}) for url in widgets]
        settings.LAKE_ANSWERS_BYTES = kept
        _seconds(viewer, widgets, {})
        again = _seconds(viewer, widgets, {})
    rows = [
        _row("each its own days", first),
        _row("all of them: last 30 days", days),
        _row("again, answers kept", again),
    ]
    for name, took in zip(TYPES, alone, strict=True):
        rows.append({"alone": name, "s": round(took, 2)})
    return rows


def _row(what: str, seconds: tuple[float, float]) -> Row:
    return {
        "12 widgets": what,
        "all have answered, s": round(seconds[0], 2),
        "the slowest, s": round(seconds[1], 2),
    }


def _board(account: Account) -> list[str]:
    for number in range(6):
        Budget.objects.create(name=f"Budget {number}", amount=Decimal(10**7), currency="USD")
    places = [((number % 3) * 4, (number // 3) * 5, 4, 5) for number in range(12)]
    made = create_dashboard(
        account=account,
        actor=ACTOR,
        name="Twelve",
        widgets=[
            draft("total", places[0]),
            draft("total", places[1], period="month_to_date"),
            draft("spend_over_time", places[2]),
            draft("spend_over_time", places[3], period="last_12_months", granularity="month"),
            draft("spend_by", places[4], group_by="region"),
            draft("spend_by", places[5], group_by="tag:team"),
            draft("top_movers", places[6]),
            draft("budget_status", places[7]),
            draft("anomalies", places[8]),
            draft("commitment_utilization", places[9]),
            draft("table", places[10], group_by=["service", "region"], compare_to="previous_period"),
            draft("text", places[11], text="What this board is about."),
        ],
    )
    return [f"/a/{account.slug}/dashboards/widgets/{each.pk}/" for each in made.widgets.all()]


def _seconds(viewer: User, urls: list[str], params: dict[str, str]) -> tuple[float, float]:
    """Until the last has answered, and how long the slowest took."""
    began = time.perf_counter()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        taken = list(pool.map(lambda url: _ask(viewer, url, params), urls))
    return time.perf_counter() - began, max(taken)


def _ask(viewer: User, url: str, params: dict[str, str]) -> float:
    began = time.perf_counter()
    try:
        with clock.frozen(NOW):
            answer = signed_in(viewer).get(url, params)
        body = answer.content.decode()
        assert answer.status_code == 200, (url, answer.status_code)
        assert "alert-danger" not in body, body[:500]
    finally:
        connection.close()
    return time.perf_counter() - began
