"""Saved unit metrics: what is kept, what is asked by name, and cost as a share of revenue."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.costs.spend_query import CostFilter
from finops.lib.errors import UserError
from finops.unitcosts.answers import UnitCostAnswer
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.queries.unit_metrics import list_unit_metrics
from finops.unitcosts.saved_question import question_of
from finops.unitcosts.services import unit_metrics as services
from finops.unitcosts.services.unit_metrics import (
    change_unit_metric,
    create_unit_metric,
    delete_unit_metric,
)
from finops.unitcosts.unit_cost_query import UnitCostQuery
from tests.cast import Cast
from tests.examples import examples
from tests.factories.unit_costs import MARCH, add_data, cost_line, usage_event
from tests.finops.unitcosts.reference_model import is_close

EC2 = CostFilter(dimension="service", values=["EC2"])
DUBLIN = CostFilter(dimension="region", values=["eu-west-1"])


@pytest.fixture
def saas_account(acme: Account) -> Account:
    """360 USD of EC2, a ninth of it in Dublin, 40 of S3 and 20 of credits, for 3,000 requests."""
    lines = [
        cost_line(1, 320, "acme", service="EC2", region="us-east-1"),
        cost_line(2, 40, "acme", service="EC2", region="eu-west-1"),
        cost_line(3, 40, "globex", service="S3"),
        cost_line(3, -20, service="S3", charge_category="Credit"),
        cost_line(4, 90, "acme", currency="EUR", service="S3"),
    ]
    events = [usage_event(1, "acme", 1_000), usage_event(2, "globex", 2_000)]
    revenue = [
        usage_event(1, "acme", 1_200, metric="revenue", unit="usd"),
        usage_event(9, "globex", 300, metric="revenue", unit="usd"),
    ]
    add_data(acme, lines, [*events, *revenue])
    return acme


def save(cast: Cast, account: Account, name: str = "Cost per request", **fields: Any) -> UnitMetric:
    question = UnitCostQuery(**{"usage_metric": "requests", **fields})
    return create_unit_metric(account=account, actor=cast.actor, name=name, question=question)


def unit_cost_in_march(account: Account, **fields: Any) -> UnitCostAnswer:
    return query_unit_cost(account, UnitCostQuery(**{**MARCH, **fields}))


def without_name(answer: UnitCostAnswer) -> UnitCostAnswer:
    """Without what says that it was saved."""
    return replace(answer, unit_metric="", summary=answer.summary.removeprefix(f"{answer.unit_metric}: "))


@given(
    filters=st.sampled_from([[], [EC2], [EC2, DUBLIN]]),
    basis=st.sampled_from(["billed", "amortized", None]),
    categories=st.sampled_from([[], ["Usage"], ["Usage", "Credit"]]),
    splits=st.sampled_from(["before", "after"]),
    per=st.sampled_from([1, 7, 1_000]),
    mode=st.sampled_from(["total", "per_customer"]),
)
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_saved_metric_equals_the_question_that_was_saved(
    cast: Cast,
    saas_account: Account,
    filters: list[CostFilter],
    basis: Any,
    categories: list[str],
    splits: Any,
    per: int,
    mode: Any,
) -> None:
    question = UnitCostQuery(
        usage_metric="requests",
        filters=filters,
        basis=basis,
        charge_categories=categories,
        splits=splits,
        per=per,
        mode=mode,
    )
    UnitMetric.objects.all().delete()
    metric = create_unit_metric(account=saas_account, actor=cast.actor, name="Ours", question=question)

    by_name = unit_cost_in_march(saas_account, unit_metric="ours", granularity="week")

    assert question_of(metric) == question
    assert by_name.unit_metric == "Ours"
    assert without_name(by_name) == query_unit_cost(
        saas_account, replace(question, **MARCH, granularity="week")
    )


def test_a_scale_multiplies_before_it_divides(saas_account: Account) -> None:
    answer = unit_cost_in_march(saas_account, usage_metric="requests", filters=[EC2], per=3_000)

    (total,) = answer.totals
    assert (answer.per, total.unit_cost, total.usage) == (3_000, Decimal(360), Decimal(3_000))
    assert total.unit_cost_per_million is None
    assert "360.00 USD for 3,000" in answer.summary


def test_arguments_override_those_of_the_saved_metric_and_the_answer_says_so(
    cast: Cast, saas_account: Account
) -> None:
    save(cast, saas_account, filters=[EC2], per=1_000)

    as_saved = unit_cost_in_march(saas_account, unit_metric="Cost per request")
    narrowed = unit_cost_in_march(saas_account, unit_metric="Cost per request", filters=[DUBLIN])
    other = unit_cost_in_march(
        saas_account,
        unit_metric="cost per REQUEST",
        filters=[CostFilter(dimension="Service", values=["S3"])],
        per=1,
    )

    assert [total.unit_cost for total in as_saved.totals] == [120]
    assert not any("Overrides" in warning for warning in as_saved.warnings)
    assert [total.cost for total in narrowed.totals] == [40]
    assert (
        "Overrides the saved arguments of unit metric 'Cost per request': filters on region."
        in narrowed.warnings[0]
    )
    assert {total.currency: total.cost for total in other.totals} == {"EUR": 90, "USD": 20}
    assert "filters on Service and per" in other.warnings[0]


def test_an_unknown_name_is_refused_with_the_nearest(cast: Cast, saas_account: Account) -> None:
    save(cast, saas_account)

    with pytest.raises(UserError, match=r"Nearest: 'Cost per request'\. Use listUnitMetrics\."):
        unit_cost_in_march(saas_account, unit_metric="Cost per reqest")


def test_cost_in_the_currency_of_revenue_is_a_share_of_it(saas_account: Account) -> None:
    answer = unit_cost_in_march(saas_account, usage_metric="revenue", mode="per_customer")

    shares = {total.currency: total.share for total in answer.totals}
    assert is_close(shares["USD"], Fraction(380, 1_500))
    assert shares["EUR"] is None
    assert "revenue is in USD and some cost in EUR" in " ".join(answer.warnings)
    assert (
        "Each currency's cost is divided by all usage: the cost of a unit is the sum of these unit costs."
    ) not in " ".join(answer.warnings)
    rows = {(row.customer_id, row.currency): row.share for row in answer.rows}
    assert rows["acme", "USD"] == Decimal("0.3")
    assert rows["acme", "EUR"] is None
    every: list[Any] = [*answer.totals, *answer.rows]
    apart = [each for each in every if each.currency == "EUR"]
    assert [(each.usage, each.unit_cost) for each in apart] == [(None, None)] * len(apart)
    assert answer.totals[[each.currency for each in answer.totals].index("EUR")].reason == (
        "Usage is in 1,500.00 USD; cost in EUR is not divided by another currency."
    )
    assert "1 minus share is the margin" in answer.hint


def test_customers_are_ordered_by_margin_and_by_unit_cost(saas_account: Account) -> None:
    fields = {"usage_metric": "revenue", "mode": "per_customer"}

    def names(**more: Any) -> list[str | None]:
        rows = unit_cost_in_march(saas_account, **fields, **more).rows
        return [
            row.customer_id for row in rows if row.currency == "USD" and row.status in ("matched", "rest")
        ]

    assert names() == names(order_by="unit_cost") == ["acme", "globex"]
    assert names(order_by="margin") == ["globex", "acme"]
    margins = {
        row.customer_id: row.margin
        for row in unit_cost_in_march(saas_account, **fields).rows
        if row.currency == "USD"
    }
    assert [margins["acme"], margins["globex"]] == [Decimal(840), Decimal(260)]
    with pytest.raises(UserError, match="margin needs a usage metric with a currency as unit,"):
        unit_cost_in_march(saas_account, usage_metric="requests", order_by="margin")


def test_usage_in_any_other_unit_gives_no_share(saas_account: Account) -> None:
    answer = unit_cost_in_march(saas_account, usage_metric="requests")

    assert [total.share for total in answer.totals] == [None, None]
    assert not any(
        ". A share needs one currency; no exchange rate is applied." in warning for warning in answer.warnings
    )


def test_a_metric_is_made_changed_and_deleted_and_the_log_says_so(cast: Cast, saas_account: Account) -> None:
    metric = save(cast, saas_account, "  Cost per request ", filters=[EC2])
    assert metric.name == "Cost per request"
    assert AuditEntry.objects.latest("pk").action == "unit_metric.create"

    query = UnitCostQuery(usage_metric="Requests", per=1_000, period="last_month", customers=["acme"])
    change_unit_metric(metric=metric, actor=cast.actor, name="Per thousand", description="", question=query)
    changed = UnitMetric.objects.get()
    assert (changed.name, changed.usage_metric, changed.per, changed.filters) == (
        "Per thousand",
        "requests",
        1_000,
        [],
    )
    detail = AuditEntry.objects.latest("pk").detail
    assert (detail["from"]["name"], detail["to"]["per"]) == ("Cost per request", 1_000)

    delete_unit_metric(metric=changed, actor=cast.actor)
    assert not UnitMetric.objects.exists()
    assert AuditEntry.objects.latest("pk").action == "unit_metric.delete"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"usage_metric": "request"}, "Nearest: 'requests'"),
        ({"usage_metric": ""}, "usage_metric"),
        ({"filters": [CostFilter(dimension="servise", values=["EC2"])]}, "Nearest: service"),
        ({"filters": [CostFilter(dimension="service")]}, "needs at least one value"),
        ({"charge_categories": ["Usaeg"]}, "Usage"),
    ],
    ids=["misspelt metric", "no metric", "misspelt dimension", "no values", "misspelt category"],
)
def test_an_invalid_query_is_not_saved(
    cast: Cast, saas_account: Account, params: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        save(cast, saas_account, **params)

    assert not UnitMetric.objects.exists()


def test_by_customer_needs_the_customer_key(cast: Cast, acme: Account) -> None:
    with pytest.raises(UserError, match="customer key"):
        save(cast, acme, mode="per_customer")


def test_a_metric_needs_a_name_of_its_own_and_there_is_a_cap(
    cast: Cast, saas_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(cast, saas_account)
    for name in ("", "COST PER REQUEST", "x" * 101):
        with pytest.raises(ValidationError):
            save(cast, saas_account, name)

    monkeypatch.setattr(services, "MAX_UNIT_METRICS", 1)
    with pytest.raises(UserError, match=r"The maximum is 1 unit metrics per account\."):
        save(cast, saas_account, "Another")
    assert UnitMetric.objects.count() == 1


def test_metrics_are_listed_searched_and_paged(cast: Cast, saas_account: Account) -> None:
    for name in ("A", "B", "C"):
        save(cast, saas_account, f"Metric {name}", filters=[EC2])

    first = list_unit_metrics(saas_account, limit=2)
    second = list_unit_metrics(saas_account, limit=2, cursor=first.cursor)

    assert [metric.name for metric in [*first.unit_metrics, *second.unit_metrics]] == [
        "Metric A",
        "Metric B",
        "Metric C",
    ]
    assert (first.truncated, second.cursor) == ("2 of 3. Use cursor for the next page.", "")
    assert first.unit_metrics[0].filters[0].values == ["EC2"]
    assert [metric.name for metric in list_unit_metrics(saas_account, search="c b").unit_metrics] == [
        "Metric B"
    ]
    with account_scope(cast.other_account):
        assert list_unit_metrics(cast.other_account).unit_metrics == []
        with pytest.raises(UserError, match="unit_metric: 'Metric A' does not exist"):
            query_unit_cost(cast.other_account, UnitCostQuery(unit_metric="Metric A", period="last_month"))


def test_a_metric_that_nobody_has_pushed_yet_can_be_saved(cast: Cast, saas_account: Account) -> None:
    save(cast, saas_account, usage_metric="orders")

    answer = unit_cost_in_march(saas_account, unit_metric="Cost per request", start_date=date(2026, 3, 1))

    assert answer.totals[0].unit_cost is None
    assert "'orders'" in answer.totals[0].reason
