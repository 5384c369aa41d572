from __future__ import annotations

from datetime import date

from accounts.models import Account
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.filters import resolve_filters
from finops.costs.queries.spend_lake import SpendBuild, SpendPlan
from finops.costs.spend_query import Filter
from finops.lake.engine.compiler import Query, compile_query
from finops.lake.schema import Kind
from finops.lib.periods import DateRange
from tests.factories.costs import add_source, cost


def plan(account: Account, days: DateRange, previous: DateRange | None = None) -> SpendPlan:
    context = DimensionContext(account, source_names={"7": "Bill"})
    names = [Filter(dimension="tag:env", values=["prod"]), Filter(dimension="source", values=["Bill"])]
    return SpendPlan(
        days=days,
        dimensions=(registry.resolve(context, "service"), registry.resolve(context, "source")),
        filters=tuple(resolve_filters(context, names)),
        basis="billed",
        categories=("Usage",),
        granularity="month",
        limit=10,
        compared=previous and days,
        previous=previous,
    )


def compile_plan(spend_plan: SpendPlan) -> Query:
    return compile_query(Kind.COST, SpendBuild.of(spend_plan), spend_plan.tag_keys)


def test_the_same_question_about_other_days_is_compiled_once(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 3, 2), 1, tags={"env": "prod"})])
    march, april = (DateRange(date(2026, month, 1), date(2026, month, 28)) for month in (3, 4))

    assert compile_plan(plan(acme, march)) is compile_plan(plan(acme, april))


def test_a_comparison_is_compiled_for_its_days(acme: Account) -> None:
    february, march, april = (DateRange(date(2026, month, 1), date(2026, month, 28)) for month in (2, 3, 4))

    assert compile_plan(plan(acme, march, february)) is compile_plan(plan(acme, march, february))
    assert compile_plan(plan(acme, march, february)) is not compile_plan(plan(acme, april, february))


def test_only_the_columns_that_a_question_needs_are_read(acme: Account) -> None:
    assert set(compile_plan(plan(acme, DateRange(date(2026, 3, 1), date(2026, 3, 2)))).needed) == {
        "charge_date",
        "source",
        "service",
        "charge_category",
        "charge_class",
        "charge_frequency",
        "billed_cost",
        "currency",
        "tag:env",
    }
