"""The worked commitment examples of the FOCUS 1.2 specification, imported as files.

tests/data/focus/spec-examples-1.2 is an unchanged copy of specification/data of FOCUS_Spec @ 04f8bb3, CC BY 4.0. The hours
are of 1 January 2023; one file of 2023 is one account's whole bill.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from finops.costs.models import CostImport, CostSource
from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentQuery, CommitmentTotal
from tests.cast import Cast
from tests.factories.imports import import_bill

EXAMPLES = Path(__file__).parents[3] / "data" / "focus" / "spec-examples-1.2"
SCENARIOS, FLEXIBILITY = (
    EXAMPLES / "commitment_discount_scenarios",
    EXAMPLES / "commitment_discount_flexibility",
)
DEFAULTS = {"BillingCurrency": "USD", "ProviderName": "Cloud", "ServiceName": "Compute"}
JANUARY = CommitmentQuery(start_date=date(2023, 1, 1), end_date=date(2023, 1, 31))


def total_of(cast: Cast, source: CostSource, path: Path) -> CommitmentTotal:
    job = import_bill(cast, source, path, **DEFAULTS)
    assert job.status == CostImport.Status.DONE, job.error
    (total,) = commitment_utilization(cast.account, JANUARY).totals
    return total


def test_a_fully_used_hour_without_unused_lines_in_the_bill_is_not_called_100_percent(
    cast: Cast, source: CostSource
) -> None:
    total = total_of(cast, source, SCENARIOS / "commitment_discount_usage_scenario_1.csv")

    assert (total.used_cost, total.unused_cost, total.utilization) == (Decimal(1), Decimal(0), None)
    assert "have no lines of unused commitment" in total.utilization_reason


def test_an_unused_hour_is_wasted_whole(cast: Cast, source: CostSource) -> None:
    total = total_of(cast, source, SCENARIOS / "commitment_discount_usage_scenario_2.csv")

    assert (total.used_cost, total.unused_cost, total.utilization) == (Decimal(0), Decimal(1), Decimal(0))
    assert (total.commitment_savings_rate, total.commitment_savings_rate_reason[:16]) == (
        None,
        "Nothing was used",
    )
    assert (total.effective_savings_rate, total.effective_savings_rate_reason[:17]) == (
        None,
        "No commitment was",
    )


def test_an_hour_used_for_three_quarters(cast: Cast, source: CostSource) -> None:
    total = total_of(cast, source, SCENARIOS / "commitment_discount_usage_scenario_3.csv")

    assert (total.used_cost, total.unused_cost) == (Decimal("0.75"), Decimal("0.25"))
    assert total.utilization == Decimal("0.75")


def test_a_flexible_commitment_used_up_by_a_larger_machine(cast: Cast, source: CostSource) -> None:
    """No Unused line, but the recurring fee of the hour, 0.50, is what the used line costs."""
    name = "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_1_resource.csv"
    total = total_of(cast, source, FLEXIBILITY / name)

    assert (total.utilization, total.utilization_by) == (Decimal(1), "quantity")
    assert (total.committed_cost, total.covered_cost, total.eligible_cost) == (
        Decimal("0.5"),
        Decimal(3),
        Decimal("5.25"),
    )
    assert total.coverage is not None
    assert round(total.coverage, 6) == Decimal("0.571429")
    # By hand: paid 0.50 committed and 2.25 on demand, list prices 3.00 and 2.25: 1 - 2.75 / 5.25.
    assert (total.eligible_actual_cost, total.effective_savings_rate_of) == (Decimal("2.75"), "list")
    assert total.effective_savings_rate is not None
    assert round(total.effective_savings_rate, 6) == Decimal("0.476190")
    assert total.commitment_savings_rate_over_list is not None
    assert round(total.commitment_savings_rate_over_list, 6) == Decimal("0.833333")


def test_a_flexible_commitment_used_up_by_two_machines(cast: Cast, source: CostSource) -> None:
    name = "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_2_resources.csv"
    total = total_of(cast, source, FLEXIBILITY / name)

    assert (total.utilization, total.committed_cost, total.coverage) == (Decimal(1), Decimal(2), Decimal(1))
    assert total.commitment_savings_rate_over_list == Decimal("0.5")


def test_on_demand_usage_without_prices_gives_no_effective_savings_rate(
    cast: Cast, source: CostSource
) -> None:
    total = total_of(cast, source, SCENARIOS / "commitment_discount_usage_scenario_4.csv")

    assert (total.used_cost, total.effective_savings_rate, total.effective_savings_rate_of) == (
        Decimal(1),
        None,
        "",
    )
    assert "no ContractedCost" in total.effective_savings_rate_reason


def test_a_commitment_used_up_without_flexibility(cast: Cast, source: CostSource) -> None:
    name = "one_hundred_percent_utilization_without_commitment_discount_flexibility.csv"
    total = total_of(cast, source, FLEXIBILITY / name)

    assert (total.utilization, total.commitment_savings_rate_over_list) == (Decimal(1), Decimal("0.5"))


def test_a_commitment_that_fits_no_machine_is_not_used_at_all(cast: Cast, source: CostSource) -> None:
    name = "zero_percent_utilization_without_commitment_discount_flexibility.csv"
    total = total_of(cast, source, FLEXIBILITY / name)

    assert (total.utilization, total.unused_cost) == (Decimal(0), Decimal("1.5"))
    assert total.commitment_savings_rate_over_list is None
    assert "No commitment was used, so the eligible usage is unknown." in total.coverage_reason


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_purchase_is_neither_used_nor_unused(cast: Cast, source: CostSource, number: int) -> None:
    total = total_of(cast, source, SCENARIOS / f"commitment_discount_purchase_scenario_{number}.csv")

    assert (total.committed_cost, total.utilization) == (Decimal(0), None)
    assert total.utilization_reason == "No usage lines on these days."
