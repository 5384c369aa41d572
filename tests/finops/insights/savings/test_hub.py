"""Recommendations of AWS Cost Optimization Hub count with ours, each resource once."""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Account, AuditEntry
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving
from finops.insights.savings.hub import read_file
from finops.insights.savings.queries import list_savings, recommendation
from finops.insights.savings.schemas import Recommendation, SavingsQuery
from finops.insights.savings.services import RecommendationImport, dismiss, import_recommendations
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import daily, volume
from tests.finops.insights.savings.hub_files import VOLUME_ARN, Row, as_csv, as_gzip, as_parquet, row

COMPUTE_PLAN = {
    "action_type": "PurchaseSavingsPlans",
    "current_resource_type": "",
    "recommended_resource_type": "ComputeSavingsPlans",
    "current_resource_summary": "",
    "recommended_resource_summary": "$1.20/hour commitment, 1 year, no upfront",
    "resource_arn": "",
    "estimated_monthly_savings_after_discount": 40,
}


@pytest.fixture
def source(acme: Account) -> CostSource:
    """Ten USD a day of a gp2 volume, of which our rule saves 60 USD a month."""
    return add_source(acme, volume("10"))


def bring(source: CostSource, *rows: Row) -> RecommendationImport:
    return import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(as_csv(rows)))


def hub(account: Account) -> list[Recommendation]:
    return list_savings(account, SavingsQuery(rule="cost_optimization_hub")).recommendations


@pytest.mark.parametrize("written", [as_csv, as_gzip, as_parquet], ids=["csv", "gzip", "parquet"])
def test_an_export_is_read_in_each_of_its_formats(
    source: CostSource, written: Callable[[list[Row]], bytes]
) -> None:
    rows = [row(), row(recommendation_id="b", resource_arn=f"{VOLUME_ARN}2", restart_needed=True)]

    outcome = import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(written(rows)))

    assert (outcome.kept, outcome.left_out) == (2, 0)
    first = ImportedSaving.objects.get(recommendation_id="MTEx==")
    assert (first.monthly_saving, first.monthly_cost) == (Decimal("120.25"), Decimal("300.5"))
    assert (first.restart_needed, first.rollback_possible) == (False, True)
    assert (first.lookback_days, first.refreshed_at and first.refreshed_at.date()) == (14, date(2026, 2, 27))
    assert ImportedSaving.objects.get(recommendation_id="b").restart_needed is True


def test_a_recommendation_says_what_aws_says(acme: Account, source: CostSource) -> None:
    bring(source, row())

    (row_found,) = hub(acme)

    assert (row_found.title, row_found.monthly_saving, row_found.monthly_cost, row_found.currency) == (
        "Rightsize: vol-1",
        Decimal("120.25"),
        Decimal("300.5"),
        "USD",
    )
    assert row_found.advice == "Found by Compute optimizer. gp2 900 GB → gp3 500 GB."
    assert (row_found.effort, row_found.risk, row_found.risk_reason) == ("low", "low", "Can be undone.")
    assert "730 hours" in row_found.formula
    assert "14 days" in row_found.formula
    assert row_found.evidence[0].resource == VOLUME_ARN


@pytest.mark.parametrize("resource", ["vol-1", VOLUME_ARN])
def test_one_resource_counts_once_whether_the_bill_has_its_arn_or_its_id(
    acme: Account, resource: str
) -> None:
    source = add_source(acme, volume("10", resource_id=resource))
    assert list_savings(acme, SavingsQuery()).totals[0].monthly_saving == 60

    bring(source, row())
    answer = list_savings(acme, SavingsQuery())

    assert [each.rule for each in answer.recommendations] == ["cost_optimization_hub"]
    assert answer.recommendations[0].instead_of == ["volume_type"]
    assert answer.totals[0].monthly_saving == Decimal("120.25")


def test_a_dismissed_one_gives_the_resource_back_to_our_rule(acme: Account, source: CostSource) -> None:
    bring(source, row())
    candidate, _ = recommendation(acme, hub(acme)[0].id)
    assert candidate is not None
    dismiss(account=acme, actor=ACTOR, candidate=candidate, reason="Needs the IOPS")

    assert [each.rule for each in list_savings(acme, SavingsQuery()).recommendations] == ["volume_type"]


def test_the_largest_of_several_savings_of_one_resource_counts(acme: Account, source: CostSource) -> None:
    bring(
        source,
        row(),
        row(recommendation_id="b", action_type="Delete", estimated_monthly_savings_after_discount=300.5),
    )

    (row_found,) = hub(acme)

    assert (row_found.title, row_found.monthly_saving) == ("Delete: vol-1", Decimal("300.5"))
    assert "largest of 2 alternatives" in row_found.advice


def test_a_plan_for_compute_takes_the_place_of_our_estimate(acme: Account) -> None:
    source = add_source(acme, daily("10"))
    assert [each.rule for each in list_savings(acme, SavingsQuery()).recommendations] == ["steady_on_demand"]

    bring(
        source,
        row(**COMPUTE_PLAN),
        row(**COMPUTE_PLAN | {"recommendation_id": "ri", "estimated_monthly_savings_after_discount": 30}),
    )
    answer = list_savings(acme, SavingsQuery())

    (row_found,) = answer.recommendations
    assert (row_found.rule, row_found.monthly_saving, row_found.instead_of) == (
        "cost_optimization_hub",
        Decimal(40),
        ["steady_on_demand"],
    )
    assert (row_found.title, row_found.risk) == ("Buy a savings plan: Compute savings plans", "medium")


def test_a_new_file_replaces_what_the_source_had_and_ids_stay(acme: Account, source: CostSource) -> None:
    other = add_source(acme, daily("1", resource_id="i-2"), name="Other payer")
    bring(other, row(resource_arn="arn:aws:ec2:eu-west-1:222:volume/vol-9"))
    bring(source, row(), row(recommendation_id="b", resource_arn=f"{VOLUME_ARN}2"))
    before = {each.title: each.id for each in hub(acme)}

    outcome = bring(source, row(recommendation_id="refreshed", estimated_monthly_savings_after_discount=99))

    after = {each.title: each.id for each in hub(acme)}
    assert (outcome.kept, outcome.replaced) == (1, 2)
    assert after == {title: before[title] for title in ("Rightsize: vol-1", "Rightsize: vol-9")}
    assert AuditEntry.objects.filter(action="savings_import.replace").count() == 3


def test_old_advice_is_said_to_be_old(acme: Account, source: CostSource) -> None:
    bring(source, row(last_refresh_timestamp="2026-01-02 06:00:00"))

    assert any("is from 2026-01-02" in warning for warning in list_savings(acme, SavingsQuery()).warnings)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"estimated_monthly_savings_after_discount": "much"}, "'much', which is not a number"),
        ({"estimated_monthly_savings_after_discount": "NaN"}, "which is not an amount."),
        ({"estimated_monthly_savings_after_discount": "1e400"}, "which is not an amount."),
        ({"estimated_monthly_savings_after_discount": -3}, "less than 0"),
        ({"currency_code": "USB"}, "'USB' is not an ISO 4217 currency"),
        ({"recommendation_id": ""}, "recommendation_id is empty"),
    ],
    ids=["text", "nan", "huge", "negative", "currency", "id"],
)
def test_a_row_that_cannot_be_read_is_left_out_and_named(
    source: CostSource, columns: dict[str, Any], problem: str
) -> None:
    outcome = bring(source, row(), row(**{"recommendation_id": "b", **columns}))

    assert (outcome.kept, outcome.left_out) == (1, 1)
    assert outcome.problems[0].startswith("Row 3: ")
    assert problem in outcome.problems[0]


def test_a_saving_before_discounts_is_used_where_there_is_none_after(
    acme: Account, source: CostSource
) -> None:
    bring(
        source,
        row(estimated_monthly_savings_after_discount=None, estimated_monthly_cost_after_discount=None),
    )

    assert (hub(acme)[0].monthly_saving, hub(acme)[0].monthly_cost) == (Decimal(125), Decimal(310))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a,b\n1,2\n", "no column recommendation_id"),
        (b"", "no column recommendation_id"),
        (b"PAR1 is not parquet", "The file begins like Parquet but its footer cannot be read"),
        (as_gzip([row()])[:60], "The file is truncated or damaged"),
        (b"\xff\xfe\x00", "The file is truncated or damaged"),
    ],
    ids=["other", "empty", "parquet", "gzip", "bytes"],
)
def test_a_file_that_is_no_export_changes_nothing(source: CostSource, content: bytes, problem: str) -> None:
    bring(source, row())

    with pytest.raises(UserError, match=problem):
        import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(content))

    assert ImportedSaving.objects.count() == 1


def test_a_file_of_unreadable_rows_alone_changes_nothing(source: CostSource) -> None:
    bring(source, row())

    with pytest.raises(UserError, match="No row of the file is readable"):
        bring(source, row(currency_code="?"))

    assert ImportedSaving.objects.count() == 1


def test_an_archive_that_unpacks_to_too_much_is_refused(
    source: CostSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.insights.savings.hub.MAX_UNPACKED", 1_000)

    with pytest.raises(UserError, match="unpacks to more than 1,000 bytes"):
        import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(as_gzip([row()] * 50)))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (gzip.compress(as_csv([row()]) + b"\n" * 500_000), "unpacks to more than 250,000 bytes"),
        (as_gzip([row()] * 2_000), r"more rows than [\d,]+ bytes can hold"),
        (as_parquet([row()] * 2_000), r"more rows than [\d,]+ bytes can hold"),
        (as_parquet([row(resource_arn="x" * 70_000)] * 100), "the value has 70,000 bytes"),
    ],
    ids=["blank lines", "gzip", "parquet", "long values"],
)
def test_a_small_file_that_unpacks_to_much_work_is_refused(
    source: CostSource, content: bytes, problem: str
) -> None:
    with pytest.raises(UserError, match=problem):
        import_recommendations(source=source, actor=ACTOR, file=io.BytesIO(content))


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=200).map(lambda tail: as_csv([row()]) + tail)))
def test_any_bytes_are_read_or_refused_with_a_message(content: bytes) -> None:
    with contextlib.suppress(UserError):
        hub_file = read_file(io.BytesIO(content))
        assert all(each.monthly_saving >= 0 and len(each.currency) == 3 for each in hub_file.rows)


def test_the_other_account_sees_nothing_of_it(cast: Cast, acme: Account, source: CostSource) -> None:
    bring(source, row())

    assert ImportedSaving.objects.unscoped().filter(account=cast.other_account).count() == 0
