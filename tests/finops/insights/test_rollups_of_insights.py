"""What pages and tools say of a bill is the same whether its lines or its summaries are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from django.test import override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.queries.values import list_dimension_values
from finops.costs.spend_query import CostFilter, SpendQuery
from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from finops.lake.models import LakeRollup, LakeSegment
from tests.examples import SOAK
from tests.factories.costs import Line, cost, store_lines
from tests.finops.lake.rollups.test_rollups import _no_result_cache as _no_result_cache
from tests.finops.lake.rollups.test_rollups import summarise

pytestmark = pytest.mark.django_db

DAYS: dict[str, Any] = {"start_date": date(2026, 2, 1), "end_date": date(2026, 2, 28)}

money = st.decimals("-20", "20", places=3)
maybe = st.none() | money
lines = st.builds(
    lambda day, amount, columns: cost(day, amount, **columns),
    st.dates(date(2026, 1, 1), date(2026, 2, 28)),
    money,
    st.fixed_dictionaries(
        {
            "service": st.sampled_from(["S3", "EC2", None]),
            "sku_id": st.sampled_from(["a", "b", None]),
            "usage_type": st.sampled_from(["Hours", None]),
            "resource_id": st.sampled_from(["r1", "r2", "r3"]),
            "provider": st.just("AWS"),
            "charge_category": st.sampled_from(["Usage", "Purchase", "Tax", "Credit", "Adjustment"]),
            "charge_class": st.sampled_from([None, "Correction"]),
            "charge_frequency": st.sampled_from(["Usage-Based", "Recurring", "One-Time"]),
            "pricing_category": st.sampled_from(["Standard", "Committed"]),
            "commitment_id": st.sampled_from([None, None, "sp-1", "ri-1"]),
            "commitment_status": st.sampled_from([None, "Used", "Unused"]),
            "commitment_category": st.sampled_from(["Usage", "Spend"]),
            "commitment_quantity": maybe,
            "effective_cost": money,
            "list_cost": maybe,
            "contracted_cost": maybe,
            "consumed_quantity": maybe,
            "consumed_unit": st.sampled_from(["Hours", None]),
            "account_id": st.just("1"),
            "account_name": st.sampled_from(["Old name", "New name", None]),
            "tags": st.sampled_from([{}, {"env": "prod"}, {"env": "dev"}]),
        }
    ),
)


def change(account: Account, **given: Any) -> Any:
    query = SpendChangeQuery(
        **DAYS, previous_start_date=date(2026, 1, 1), previous_end_date=date(2026, 1, 31), **given
    )
    return explain_spend_change(account, query)


def spend(account: Account, **given: Any) -> Any:
    return query_spend(account, SpendQuery(**{**DAYS, **given}))


QUESTIONS: dict[str, Callable[[Account], Any]] = {
    "total with change": lambda acme: spend(acme, granularity="day", compare_to="previous_period"),
    "by service and tag": lambda acme: spend(
        acme, group_by=["service", "tag:env"], limit=2, basis="amortized"
    ),
    "by resource": lambda acme: spend(acme, group_by=["resource"], limit=2),
    "filtered": lambda acme: spend(
        acme, group_by=["sku"], filters=[CostFilter(dimension="service", op="not_in", values=["EC2"])]
    ),
    "after splits": lambda acme: spend(acme, group_by=["service"], splits="after", granularity="month"),
    "change by service": lambda acme: change(acme, group_by=["service"], limit=1),
    "change by tag": lambda acme: change(acme, group_by=["tag:env"], basis="amortized"),
    "commitments": lambda acme: commitment_utilization(acme, CommitmentQuery(**DAYS, granularity="week")),
    "values": lambda acme: list_dimension_values(acme, "account"),
    "by renamed account": lambda acme: spend(acme, group_by=["account"], granularity="week"),
}


@pytest.fixture(autouse=True)
def split(acme: Account) -> Iterator[None]:
    SharedCostSplit.objects.create(
        account=acme,
        name="Shared",
        dimension="service",
        source_value="S3",
        method="even",
        targets=[{"value": "EC2", "percent": None}, {"value": "Own", "percent": None}],
    )
    with override_settings(LAKE_DEADLINE_SECONDS=300):  # also while the machine does other things
        yield


@pytest.mark.slow
@settings(
    max_examples=30 if SOAK else 6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(lines, min_size=1, max_size=30))
def test_an_answer_over_summaries_is_the_answer_over_lines(
    acme: Account, source: CostSource, rows: list[Line]
) -> None:
    store_lines(acme, source, [*rows, *(cost(date(2026, 1, day), Decimal("0.5")) for day in range(1, 32))])
    before = {name: msgspec.json.encode(ask(acme)) for name, ask in QUESTIONS.items()}

    summarise(acme)

    assert {name: msgspec.json.encode(ask(acme)) for name, ask in QUESTIONS.items()} == before
    live = LakeSegment.objects.unscoped().filter(retired_at=None)
    assert LakeRollup.objects.unscoped().filter(segment__in=live).count() == 2 * live.count()
