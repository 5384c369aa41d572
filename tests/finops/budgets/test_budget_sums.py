"""Spend of budgets of every scope and period, compared with plain Python sums of the Parquet files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

import pyarrow.parquet as pq
import pytest
from pytest_django import DjangoDbBlocker

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.budgets.models import Budget
from finops.budgets.queries import budget_figures, budgets_of
from finops.costs.models import CostView
from finops.lake.models import LakeSegment
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import make_cast
from tests.factories.budgets import cost_tag_scope, create_budget, source_scope, team_scope
from tests.factories.costs import Line, add_source, cost
from tests.factories.module_scope import module_account

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)
TODAY = NOW.date()
TEAMS = {"Core": ("core", "Kern"), "Straße": ("STRASSE-1",)}
RULES = [
    {"when": {"dimension": "tag:env", "op": "in", "values": ["PROD"]}, "value": "Production"},
    {"when": {"dimension": "tag:env", "op": "starts_with", "values": ["dev"]}, "value": "Development"},
]
# By fiscal start month and period: the first day of the period that 17 May 2026 is in, written down by hand.
STARTS = {
    (1, "monthly"): date(2026, 5, 1),
    (1, "quarterly"): date(2026, 4, 1),
    (1, "yearly"): date(2026, 1, 1),
    (3, "monthly"): date(2026, 5, 1),
    (3, "quarterly"): date(2026, 3, 1),
    (3, "yearly"): date(2026, 3, 1),
    (8, "monthly"): date(2026, 5, 1),
    (8, "quarterly"): date(2026, 5, 1),
    (8, "yearly"): date(2025, 8, 1),
}


def lines(chance: random.Random, *, count: int = 900) -> list[Line]:
    return [
        cost(
            TODAY - timedelta(days=chance.randrange(1, 320)),
            Decimal(chance.randrange(-2_000_000, 9_000_000)) / Decimal(10**12) * chance.randrange(1, 10**6),
            currency=chance.choice(["USD", "USD", "EUR"]),
            charge_category=chance.choice(["Usage", "Usage", "Tax", "Credit"]),
            tags={
                **(
                    {"env": chance.choice(["prod", "Prod", "dev-1", "test"])} if chance.random() < 0.8 else {}
                ),
                **(
                    {"team": chance.choice(["CORE", "kern", "strasse-1", "x"])}
                    if chance.random() < 0.8
                    else {}
                ),
            },
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="module", params=[1, 3, 8], ids=lambda month: f"fiscal-{month}")
def account_with_lines(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
    request: Any,
) -> Iterator[Account]:
    """Two sources, two teams, a cost tag; a budget of every scope and period, in both currencies."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("budgets"), NOW):
        account = make_cast().account
        account.fiscal_start_month = request.param
        account.save()
        _fill(account, random.Random(request.param))
        yield account


@pytest.fixture
def account(account_with_lines: Account, db: None) -> Iterator[Account]:
    with account_scope(account_with_lines), clock.frozen(NOW):
        yield account_with_lines


def _fill(account: Account, chance: random.Random) -> None:
    with account_scope(account), clock.frozen(NOW):
        sources = [add_source(account, lines(chance), name=name) for name in ("One", "Two")]
        _allocation(account)
        scopes = {
            "all": {},
            "one": {"scope": source_scope(sources[0].pk)},
            "two": {"scope": source_scope(sources[1].pk)},
            "core": {"scope": team_scope("Core")},
            "strasse": {"scope": team_scope("Straße")},
            "production": {"scope": cost_tag_scope("stage", "production")},
            "untagged": {"scope": cost_tag_scope("stage", "(untagged)")},
        }
        for name, scope in scopes.items():
            for period in ("monthly", "quarterly", "yearly"):
                create_budget(account, f"{name} {period} USD", 10**6, period=period, **scope)
            create_budget(account, f"{name} yearly EUR", 10**6, period="yearly", currency="EUR", **scope)


def _allocation(account: Account) -> None:
    CostTag.objects.create(key="stage", rules=RULES)
    TeamKey.objects.create(account=account, dimension="tag:team")
    for name, values in TEAMS.items():
        team = Team.objects.create(name=name)
        for value in values:
            TeamValue.objects.create(team=team, value=value)


def raw_lines(account: Account) -> list[dict[str, Any]]:
    lines_read = []
    for segment in LakeSegment.objects.unscoped().filter(account=account, kind="cost", retired_at=None):
        table = pq.read_table(storage().local(segment.path, segment.checksum))
        lines_read += table.to_pylist()
    return lines_read


def is_of(line: dict[str, Any], budget: Budget) -> bool:
    """Whether a line is in a budget's scope, said again in a few words."""
    kind = budget.name.split()[0]
    env, team = (line.get("tag:env") or "").lower(), (line.get("tag:team") or "").lower()
    by_scope: dict[str, bool] = {
        "all": True,
        "one": line["source"] == str(budget.cost_source_id),
        "two": line["source"] == str(budget.cost_source_id),
        "core": team in ("core", "kern"),
        "strasse": team == "strasse-1",
        "production": env == "prod",
        "untagged": env in ("", "test"),
    }
    return by_scope[kind]


def expected_sum(
    budget: Budget, rows: list[dict[str, Any]], first: date, last: date, column: str = "billed_cost"
) -> Decimal:
    with localcontext(prec=60):
        return sum(
            (
                row[column]
                for row in rows
                if first <= row["charge_date"] <= last
                and row["currency"] == budget.currency
                and is_of(row, budget)
            ),
            Decimal(0),
        )


def test_spent_is_the_sum_of_the_scopes_lines_to_the_last_digit(account: Account) -> None:
    rows, budgets = raw_lines(account), budgets_of(account)
    with localcontext(prec=60):
        whole = sum(row["billed_cost"] for row in rows)

    computed_figures = budget_figures(account, budgets, with_past=True)

    assert whole
    for figures in computed_figures:
        first = STARTS[account.fiscal_start_month, figures.budget.period]
        assert figures.status.start_date == first
        assert figures.status.spent == expected_sum(figures.budget, rows, first, TODAY), figures.budget.name


def test_earlier_periods_and_other_currencies_add_up_too(account: Account) -> None:
    rows = raw_lines(account)

    for figures in budget_figures(account, budgets_of(account), with_past=True):
        status, budget = figures.status, figures.budget
        for past in status.past:
            assert past.spent == expected_sum(budget, rows, past.start_date, past.end_date), budget.name
        for other in status.other_currencies:
            there = Budget(name=budget.name, currency=other.currency, cost_source_id=budget.cost_source_id)
            assert other.amount == expected_sum(there, rows, status.start_date, TODAY), budget.name


def test_the_sources_of_the_account_add_up_to_the_whole(account: Account) -> None:
    spent = {
        figures.budget.name: figures.status.spent for figures in budget_figures(account, budgets_of(account))
    }

    with localcontext(prec=60):
        for label in ("monthly USD", "quarterly USD", "yearly USD", "yearly EUR"):
            assert spent[f"one {label}"] + spent[f"two {label}"] == spent[f"all {label}"]  # type: ignore[operator]


def test_the_cost_view_decides_what_counts(account: Account) -> None:
    CostView.objects.create(account=account, basis="amortized", charge_categories=["Usage", "Tax"])
    rows = [row for row in raw_lines(account) if row["charge_category"] in ("Usage", "Tax")]

    for figures in budget_figures(account, budgets_of(account)):
        expected = expected_sum(figures.budget, rows, figures.status.start_date, TODAY, "effective_cost")
        assert figures.status.spent == expected, figures.budget.name


def test_a_query_of_a_past_day_uses_no_later_line(account: Account) -> None:
    rows, day = raw_lines(account), date(2026, 3, 9)

    for figures in budget_figures(account, budgets_of(account), day=day):
        status = figures.status
        assert status.start_date <= day <= status.end_date
        assert status.spent == expected_sum(figures.budget, rows, status.start_date, day), figures.budget.name
        assert max(figures.costs, default=day) <= day
