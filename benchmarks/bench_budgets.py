"""Fifty budgets of every scope over a year of 12 million lines: number and duration of lake queries, compared with
one query.

*One query* is the most expensive query of the statuses: a year by day of one cost tag. *Alone* runs the queries of each budget
separately, as a page per budget would.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks import lake_data
from benchmarks.table import Row, timings
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.budgets.models import Budget
from finops.budgets.queries import budget_figures, budget_statuses, budgets_of
from finops.budgets.queries.actual_costs import CostRequest, daily_costs
from finops.costs.models import CostSource
from finops.costs.queries.sources import load_sources
from finops.lake.engine import engine
from finops.lib import clock
from finops.lib.periods import DateRange

TURNS = 2
NOW = datetime(2025, 12, 20, 12, tzinfo=UTC)
COST_TAGS, TEAMS = 3, 15
PERIODS = ("monthly", "quarterly", "yearly")


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    settings.LAKE_DEADLINE_SECONDS = 300  # to the end, also while the machine does other things
    account = Account.objects.create(name="fifty", slug="fifty")
    lake_data.make_year(account, 2025, lake_data.FEW_TAGS)
    with account_scope(account), clock.frozen(NOW):
        _fill(account)
        return [_count_queries(account), *_times(account)]


def _fill(account: Account) -> None:
    source = CostSource.objects.create(account=account, pk=1, name="Bills")
    TeamKey.objects.create(account=account, dimension="tag:team")
    for number in range(TEAMS):
        team = Team.objects.create(account=account, name=f"Team {number}")
        TeamValue.objects.create(account=account, team=team, value=f"tag:team-{number:08x}")
    tags = [
        CostTag.objects.create(account=account, key=f"cut {n}", rules=_rules(n)) for n in range(COST_TAGS)
    ]
    teams = list(Team.objects.all())
    scopes: list[dict[str, Any]] = [{"scope": "account"}] * 6
    scopes += [{"scope": "cost_source", "cost_source": source}] * 4
    scopes += [{"scope": "team", "team": team} for team in teams]
    scopes += [
        {"scope": "cost_tag", "cost_tag": tags[n % COST_TAGS], "cost_tag_value": f"part {n // COST_TAGS}"}
        for n in range(50 - len(scopes))
    ]
    for number, scope in enumerate(scopes):
        Budget.objects.create(
            account=account,
            name=f"Budget {number}",
            amount=Decimal(10**7),
            currency="USD",
            period=PERIODS[number % 3],
            **scope,
        )


def _rules(number: int) -> list[dict[str, Any]]:
    """Return ten values, each defined by a service or a tag."""
    keys = ("service", "tag:app", "tag:env")
    key = keys[number % len(keys)]
    return [
        {"when": {"dimension": key, "op": "in", "values": [f"{key}-{part:08x}"]}, "value": f"part {part}"}
        for part in range(10)
    ]


def _count_queries(account: Account) -> Row:
    run_patch = patch.object(engine, "run", wraps=engine.run)
    with run_patch as lake, CaptureQueriesContext(connection) as rows:
        statuses = budget_statuses(account, _budgets(account))
    return {
        "budgets": len(statuses),
        "lake queries": lake.call_count,
        "PostgreSQL queries": len(rows),
        "with cost": sum(bool(each.spent) for each in statuses),
        "with a forecast": sum(each.forecast is not None for each in statuses),
    }


def _budgets(account: Account) -> list[Budget]:
    """Create budgets in the currency of the synthetic lines."""
    budgets = budgets_of(account)
    for budget in budgets:
        budget.currency = "currency-00000000"
    return budgets


def _times(account: Account) -> list[Row]:
    budgets = _budgets(account)
    tagged = [budget for budget in budgets if budget.cost_tag is not None]
    whole = [budget for budget in budgets if budget.scope == Budget.Scope.ACCOUNT]
    by_action = timings(
        TURNS,
        one=lambda: _sums_of(account, tagged[:1]),
        whole=lambda: _sums_of(account, whole[:1]),
        lake=lambda: _sums_of(account, budgets),
        fifty=lambda: budget_statuses(account, budgets),
    )
    single = timings(1, alone=lambda: [budget_figures(account, [budget]) for budget in budgets])["alone"]
    one_query = by_action["one"].clock
    return [
        {
            "what": title,
            "ms": each.clock,
            "CPU ms": each.cpu,
            "against one query": each.clock / one_query,
        }
        for title, each in (
            ("one query: a cost tag value by day", by_action["one"]),
            ("one query: the whole account by day", by_action["whole"]),
            ("daily cost of all fifty scopes", by_action["lake"]),
            ("statuses of fifty budgets", by_action["fifty"]),
            ("the fifty one by one (one turn)", single),
        )
    ]


def _sums_of(account: Account, budgets: list[Budget]) -> object:
    """Run only the lake queries."""
    year = DateRange(date(2025, 1, 1), date(2025, 12, 31))
    requests = [CostRequest(budget, year) for budget in budgets]
    return daily_costs(account, requests, load_sources(account))
