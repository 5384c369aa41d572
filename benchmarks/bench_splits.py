"""Spend after shared-cost splits against the same question before them, and where splits do not apply: one run's ratios.

python -m benchmarks splits                                   # 120,000 lines of a year, a minute
BENCH_SPLITS_LINES=12_000_000 BENCH_SPLITS_CUSTOMERS=2_000 python -m benchmarks splits
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from django.conf import settings

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks import lake_data
from benchmarks.table import Row, timings
from finops.allocation.models import SharedCostSplit
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from tests.factories.usage import add_usage, event

LINES = int(os.environ.get("BENCH_SPLITS_LINES", "120_000"))
TURNS = int(os.environ.get("BENCH_SPLITS_TURNS", "3"))
CUSTOMERS = int(os.environ.get("BENCH_SPLITS_CUSTOMERS", "50"))
YEAR = {"start_date": date(2025, 1, 1), "end_date": date(2025, 12, 31)}


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    lake_data.LINES_A_MONTH = LINES // 12
    account = Account.objects.create(name="shared", slug="shared")
    lake_data.make_year(account, 2025, lake_data.FEW_TAGS)
    with account_scope(account):
        _push(account)
        rows: list[Row] = []
        for name, split in _splits().items():
            SharedCostSplit.objects.all().delete()
            SharedCostSplit.objects.create(account=account, name=name, **split)
            for title, question in _questions().items():
                rows.append(_row(account, name, title, question))
        return rows


def _push(account: Account) -> None:
    days = [YEAR["start_date"] + timedelta(days=number) for number in range(365)]
    events = [event(day, f"customer-{number}", number + 1) for day in days for number in range(CUSTOMERS)]
    add_usage(account, events)


def _value(number: int) -> str:
    return f"tag:team-{number:08x}"


def _splits() -> dict[str, dict[str, Any]]:
    targets = [{"value": _value(number), "percent": None} for number in range(1, 11)]
    single: dict[str, Any] = {"dimension": "tag:team", "source_value": _value(0)}
    return {
        "even, 10 targets": {**single, "method": "even", "targets": targets},
        "proportional, 10 targets": {**single, "method": "proportional", "targets": targets},
        f"usage, {CUSTOMERS} customers": {
            **single,
            "method": "usage",
            "every_customer": True,
            "usage_metric": "requests",
        },
    }


def _questions() -> dict[str, dict[str, Any]]:
    return {
        "a year by team": {"group_by": ["tag:team"]},
        "a year by team and month": {"group_by": ["tag:team"], "granularity": "month"},
        "a year by team and service": {"group_by": ["tag:team", "service"]},
        "30 days by team and day": {
            "group_by": ["tag:team"],
            "granularity": "day",
            "start_date": date(2025, 12, 2),
        },
        "a year by service": {"group_by": ["service"]},
    }


def _row(account: Account, name: str, title: str, question: dict[str, Any]) -> Row:
    def question_with(splits: Any) -> Callable[[], object]:
        return lambda: query_spend(account, SpendQuery(**{**YEAR, **question}, splits=splits))

    by_action = timings(TURNS, before=question_with("before"), after=question_with("after"))
    return {
        "split": name,
        "query": title,
        "before CPU ms": by_action["before"].cpu,
        "after CPU ms": by_action["after"].cpu,
        "after ms": by_action["after"].clock,
        "÷ before": by_action["after"].cpu / by_action["before"].cpu,
    }
