"""The cost of a limit for an uncached query: a month of a million lines, by service.

*limited* runs within the limit `tag:team` in two values, *filtered* with the same as a filter of the query, *whole* without
either. The limited manifest is read first, once per process and file (its row gives the time). The three take turns.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from time import perf_counter

import msgspec
from django.conf import settings

from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from benchmarks import lake_data
from benchmarks.table import Row, timings
from finops.cost_access.resolution import limit_of_alternatives
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import CostFilter, Filter, SpendQuery
from finops.lib.cost_access import CostLimit, cost_access

TURNS = 5
MONTHS = [date(2025, month, 1) for month in (1,)]
DAYS = SpendQuery(start_date=date(2025, 1, 1), end_date=date(2025, 1, 31))


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0
    owner = User.objects.create(email="owner@bench.example")
    account = create_account(name="Limits", owner=owner, slug="limits")
    lake_data.make_months(account, MONTHS, lake_data.FEW_TAGS)
    with account_scope(account), cost_access(None):
        CostSource.objects.create(account=account, pk=1, name="Bills")
        names = [row.group["tag:team"] for row in query_spend(account, _question(["tag:team"])).rows]
        values = [name for name in names if not name.startswith("(")][:2]
        limit = limit_of_alternatives(account, [[CostFilter(dimension="tag:team", values=values)]])
        filters = [Filter(dimension="tag:team", values=values)]

        def ask(limit: CostLimit | None, group: str, filters: list[Filter]) -> Callable[[], object]:
            def run() -> object:
                with cost_access(limit):
                    return query_spend(account, _question([group], filters))

            return run

        start = perf_counter()
        ask(limit, "service", [])()
        first = (perf_counter() - start) * 1_000
        rows: list[Row] = []
        for group in ("service", "resource"):
            by_action = timings(
                TURNS,
                whole=ask(None, group, []),
                filtered=ask(None, group, filters),
                limited=ask(limit, group, []),
            )
            rows.append(
                {
                    "group by": group,
                    **{f"{name} ms": round(each.clock) for name, each in by_action.items()},
                    "limited / filtered": round(by_action["limited"].clock / by_action["filtered"].clock, 2),
                    "limited / whole": round(by_action["limited"].clock / by_action["whole"].clock, 2),
                }
            )
        return [*rows, {"first question of a process within the limit ms": round(first)}]


def _question(group_by: list[str], filters: list[Filter] | None = None) -> SpendQuery:
    return msgspec.structs.replace(DAYS, group_by=group_by, filters=filters or [])
