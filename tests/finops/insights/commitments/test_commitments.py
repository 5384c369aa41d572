"""Cost, coverage and waste of commitments, compared with plain sums."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accounts.models import Account
from finops.costs.models import ContractCommitment, CostSource
from finops.insights.commitments.figures import term_of
from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentAnswer, CommitmentQuery
from finops.lib.errors import UserError
from finops.lib.money import exact_difference, exact_sum
from tests.examples import examples
from tests.factories.costs import Line, add_source, cost, store_lines

JANUARY = CommitmentQuery(start_date=date(2026, 1, 1), end_date=date(2026, 1, 31))
DAY = date(2026, 1, 5)


def commitment_line(amount: str, status: str | None, /, day: date = DAY, **columns: Any) -> Line:
    """A usage line of a commitment; worth twice its price on demand."""
    worth = (
        {"contracted_cost": Decimal(amount) * 2, "list_cost": Decimal(amount) * 4} if status == "Used" else {}
    )
    values = {
        "commitment_id": "sp-1",
        "commitment_name": "Savings Plan 1yr",
        "commitment_type": "Savings Plan",
        "commitment_category": "Spend",
        "commitment_status": status,
        "pricing_category": "Committed",
        "provider": "AWS",
        "service": "EC2",
        **worth,
        **columns,
    }
    return cost(day, 0, **values) | {"effective_cost": Decimal(amount)}


def on_demand(amount: str, **columns: Any) -> Line:
    values = {
        "pricing_category": "Standard",
        "provider": "AWS",
        "service": "EC2",
        "list_cost": Decimal(amount),
        **columns,
    }
    return cost(DAY, amount, **values)


def utilization(acme: Account, lines: Sequence[Line], query: CommitmentQuery = JANUARY) -> CommitmentAnswer:
    add_source(acme, lines)
    return commitment_utilization(acme, query)


def test_utilization_waste_savings_and_coverage_of_a_spend_commitment(acme: Account) -> None:
    answer = utilization(
        acme, [commitment_line("75", "Used"), commitment_line("25", "Unused"), on_demand("100")]
    )

    (total,) = answer.totals
    assert (total.committed_cost, total.used_cost, total.unused_cost) == (
        Decimal(100),
        Decimal(75),
        Decimal(25),
    )
    assert (total.utilization, total.utilization_by) == (Decimal("0.75"), "cost")
    assert (total.on_demand_cost, total.net_savings) == (Decimal(150), Decimal(50))
    assert total.commitment_savings_rate is not None
    assert round(total.commitment_savings_rate, 6) == Decimal("0.333333")
    assert (total.covered_cost, total.eligible_cost, total.coverage) == (
        Decimal(300),
        Decimal(400),
        Decimal("0.75"),
    )
    assert "25.00 USD wasted" in answer.summary


def test_a_usage_based_commitment_is_measured_in_its_quantity(acme: Account) -> None:
    usage: dict[str, Any] = {"commitment_category": "Usage", "commitment_unit": "Hours"}
    answer = utilization(
        acme,
        [
            commitment_line("10", "Used", commitment_quantity=Decimal(9), **usage),
            commitment_line("10", "Unused", commitment_quantity=Decimal(1), **usage),
        ],
    )

    (row,) = answer.rows
    assert (row.utilization, row.utilization_by) == (Decimal("0.9"), "quantity")
    assert (row.used_quantity, row.unused_quantity, row.unit) == (Decimal(9), Decimal(1), "Hours")


def test_purchases_count_neither_as_cost_nor_as_quantity(acme: Account) -> None:
    fee = commitment_line(
        "0", None, charge_category="Purchase", charge_frequency="One-Time", list_cost=Decimal(999)
    )
    answer = utilization(
        acme,
        [fee | {"billed_cost": Decimal(400)}, commitment_line("3", "Used"), commitment_line("1", "Unused")],
    )

    (row,) = answer.rows
    assert (row.committed_cost, row.purchased_amount) == (Decimal(4), Decimal(400))
    assert row.commitment_savings_rate_over_list is not None
    assert round(row.commitment_savings_rate_over_list, 6) == Decimal("0.666667")


def test_used_lines_without_an_on_demand_price_give_no_savings_rate(acme: Account) -> None:
    answer = utilization(
        acme, [commitment_line("3", "Used", contracted_cost=None), commitment_line("1", "Unused")]
    )

    (total,) = answer.totals
    assert total.commitment_savings_rate is None
    assert "no ContractedCost" in total.commitment_savings_rate_reason


def test_the_effective_savings_rate_is_over_all_eligible_usage(acme: Account) -> None:
    """Covered 150 contracted (300 list) for 75, waste 25, uncovered 100 contracted (125 list) for 100: actual 200 of 250
    (425). Spot, other services and purchases are no part of it; the savings rate of commitments is 50 of 150."""
    answer = utilization(
        acme,
        [
            commitment_line("75", "Used"),
            commitment_line("25", "Unused", service="Savings Plans"),
            on_demand("100", contracted_cost=Decimal(100), list_cost=Decimal(125)),
            on_demand("40", contracted_cost=Decimal(40), pricing_category="Dynamic"),
            on_demand("900", contracted_cost=Decimal(900), service="S3"),
            commitment_line("0", None, charge_category="Purchase", list_cost=Decimal(999)),
        ],
    )

    (total,) = answer.totals
    assert (total.eligible_actual_cost, total.eligible_on_demand_cost) == (Decimal(200), Decimal(250))
    assert (total.effective_savings_rate, total.effective_savings_rate_of) == (Decimal("0.2"), "contracted")
    assert total.effective_savings_rate_over_list is not None
    assert round(total.effective_savings_rate_over_list, 6) == Decimal("0.529412")
    assert "effective savings rate 20.0 % of contracted prices (52.9 % of list)" in answer.summary
    assert total.commitment_savings_rate is not None
    assert (round(total.commitment_savings_rate, 6), total.net_savings) == (Decimal("0.333333"), Decimal(50))


@pytest.mark.parametrize(
    ("missing", "rate", "prices", "reason"),
    [
        ({"contracted_cost": None, "list_cost": Decimal(125)}, Decimal("0.529412"), "list", ""),
        ({"contracted_cost": None, "list_cost": None}, None, "", "no ContractedCost"),
    ],
)
def test_without_all_prices_the_effective_savings_rate_names_its_prices_or_is_null(
    acme: Account, missing: dict[str, Any], rate: Decimal | None, prices: str, reason: str
) -> None:
    answer = utilization(
        acme, [commitment_line("75", "Used"), commitment_line("25", "Unused"), on_demand("100", **missing)]
    )

    (total,) = answer.totals
    savings_rate = total.effective_savings_rate
    assert (savings_rate if savings_rate is None else round(savings_rate, 6)) == rate
    assert total.effective_savings_rate_of == prices
    assert reason in total.effective_savings_rate_reason


def test_another_source_with_unused_lines_says_nothing_of_this_one(acme: Account) -> None:
    add_source(acme, [commitment_line("1", "Unused", commitment_id="other")], name="Complete export")
    add_source(acme, [commitment_line("1", "Used", provider="Azure")], name="Export without unused lines")

    rows = commitment_utilization(acme, JANUARY).rows

    assert {row.commitment: row.utilization for row in rows} == {"other": 0, "sp-1": None}


def test_unused_lines_of_another_month_show_that_the_export_has_them(acme: Account) -> None:
    answer = utilization(
        acme, [commitment_line("1", "Unused", date(2025, 11, 3)), commitment_line("1", "Used")]
    )

    assert answer.rows[0].utilization == 1


def test_rows_by_type_buckets_by_day_and_currencies_apart(acme: Account) -> None:
    lines = [
        commitment_line("3", "Used"),
        commitment_line("1", "Unused", date(2026, 1, 6)),
        commitment_line("5", "Used", commitment_id="ri-1", commitment_type="Reservation", currency="EUR"),
    ]
    answer = utilization(
        acme,
        lines,
        CommitmentQuery(
            start_date=date(2026, 1, 5), end_date=date(2026, 1, 6), group_by=["type"], granularity="day"
        ),
    )

    assert [(row.type, row.currency) for row in answer.rows] == [
        ("Reservation", "EUR"),
        ("Savings Plan", "USD"),
    ]
    (dollars,) = [total for total in answer.totals if total.currency == "USD"]
    assert [(bucket.used_cost, bucket.unused_cost) for bucket in dollars.buckets] == [
        (Decimal(3), Decimal(0)),
        (Decimal(0), Decimal(1)),
    ]


def test_the_commitments_that_are_not_listed_are_summed(acme: Account) -> None:
    lines = [commitment_line(str(n), "Unused", commitment_id=f"sp-{n}") for n in range(1, 6)]
    answer = utilization(
        acme, lines, CommitmentQuery(start_date=JANUARY.start_date, end_date=JANUARY.end_date, limit=2)
    )

    assert [(row.commitment, row.unused_cost) for row in answer.rows] == [
        ("sp-5", Decimal(5)),
        ("sp-4", Decimal(4)),
        ("other", Decimal(6)),
    ]
    assert answer.truncated.startswith("3 more are in the row other")


def test_an_account_without_commitments_says_so(acme: Account) -> None:
    answer = utilization(acme, [on_demand("5")])

    assert answer.totals == []
    assert (
        answer.summary
        == "'Acme' has no commitment in its bills from 2026-01-01 to 2026-01-31; no day is complete from 2026-01-06 on; "
        "bills cover 1 of 31 days."
    )


def three(acme: Account, **columns: Any) -> CommitmentAnswer:
    """A plan of a year that wastes 2 of 10, a reservation of 3 years that wastes 1 of 2, and one whose end is not known."""
    bought: dict[str, Any] = {"charge_category": "Purchase", "charge_frequency": "One-Time"}
    reserved: dict[str, Any] = {
        "commitment_id": "ri-1",
        "commitment_name": "RI 3yr",
        "commitment_type": "Reserved Instance",
    }
    unknown: dict[str, Any] = {
        "commitment_id": "x-1",
        "commitment_name": "Something",
        "commitment_type": "Reserved Instance",
    }
    lines = [
        on_demand("1") | {"charge_date": date(2026, 1, 2)},
        commitment_line("0", None, **bought),
        commitment_line("8", "Used"),
        commitment_line("2", "Unused"),
        commitment_line("0", None, **bought, **reserved),
        commitment_line("1", "Used", **reserved),
        commitment_line("1", "Unused", **reserved),
        commitment_line("5", "Used", **unknown),
    ]
    return utilization(acme, lines, replace(JANUARY, **columns))


@pytest.mark.parametrize(
    ("columns", "names", "committed_cost"),
    [
        ({}, ["sp-1", "ri-1", "x-1"], 17),
        ({"type": "reserved"}, ["ri-1", "x-1"], 7),
        ({"type": "Savings plan", "group_by": ["type"]}, [""], 10),
        ({"expires_before": date(2027, 6, 1)}, ["sp-1"], 10),
        ({"expires_before": date(2026, 6, 1)}, [], 0),
        ({"order_by": "committed_cost"}, ["sp-1", "x-1", "ri-1"], 17),
        ({"order_by": "utilization"}, ["ri-1", "sp-1", "x-1"], 17),
        ({"order_by": "expiry"}, ["sp-1", "ri-1", "x-1"], 17),
    ],
    ids=str,
)
def test_commitments_are_narrowed_by_type_and_end_and_ordered(
    acme: Account, columns: dict[str, Any], names: list[str], committed_cost: int
) -> None:
    answer = three(acme, **columns)

    assert [row.commitment for row in answer.rows] == names
    assert sum(total.committed_cost for total in answer.totals) == committed_cost
    left_out = any("1 commitment is left out" in warning for warning in answer.warnings)
    assert left_out == ("expires_before" in columns)
    assert ("; 1 commitment is left out: the bills" in answer.summary) == left_out


def test_a_type_that_no_commitment_has_is_refused_with_the_nearest(acme: Account) -> None:
    with pytest.raises(UserError, match="Reserved Instance"):
        three(acme, type="reservd")


def test_the_end_of_a_term_is_estimated_from_its_purchase_and_its_name(acme: Account) -> None:
    fee = commitment_line("0", None, charge_category="Purchase", charge_frequency="One-Time")
    answer = utilization(
        acme, [on_demand("1") | {"charge_date": date(2026, 1, 2)}, fee, commitment_line("1", "Unused")]
    )

    assert answer.rows[0].expires_on == date(2027, 1, 4)
    assert answer.rows[0].expires_reason.startswith("Estimated: bought on 2026-01-05")


def test_eligibility_details_are_the_denominator(acme: Account) -> None:
    """The example of FOCUS 1.4: a support fee of the same service is not eligible, a covered line without details is."""
    details: dict[str, Any] = {
        "commitment_program_eligibility_details": '{"CommitmentPrograms": [{"ProgramType": "FlexibleSpendPlan"}]}'
    }

    def list_price(amount: str) -> dict[str, Any]:
        return {"list_cost": Decimal(amount), "contracted_cost": Decimal(amount)}

    lines = [
        on_demand("200", **list_price("200"), **details),
        commitment_line("150", "Used", **list_price("200"), **details),
        commitment_line("100", "Used", **list_price("200")),
        on_demand("50", **list_price("50")),
        on_demand(
            "7", **list_price("7"), commitment_program_eligibility_details='{"CommitmentPrograms": []}'
        ),
    ]
    answer = utilization(acme, lines)
    (total,) = answer.totals

    assert (total.eligible_by, total.covered_cost, total.eligible_cost) == (
        "eligibility_details",
        Decimal(400),
        Decimal(600),
    )
    assert (total.eligible_actual_cost, total.eligible_on_demand_cost) == (Decimal(450), Decimal(600))
    assert total.effective_savings_rate == Decimal("0.25")
    assert any(
        (
            "Eligible usage for coverage and effective savings rate: lines that the bills "
            "mark as eligible (CommitmentProgramEligibilityDetails), and usage covered by "
            "commitments."
        )
        in warning
        for warning in answer.warnings
    )

    store_lines(
        acme,
        CostSource.objects.get(),
        [{**each, "commitment_program_eligibility_details": None} for each in lines],
    )
    other = commitment_utilization(acme, JANUARY)
    assert (other.totals[0].eligible_by, other.totals[0].eligible_cost) == ("services", Decimal(657))


def test_a_contract_commitment_says_term_and_scope(acme: Account) -> None:
    for year, promised in ((2025, "80"), (2026, "100")):
        ContractCommitment.objects.create(
            account=acme,
            source=CostSource.objects.create(account=acme, name=f"Contracts {year}"),
            commitment_id="sp-1",
            description="Compute, all regions",
            category="Spend",
            cost=Decimal(promised),
            currency="USD",
            contract_id="C-7",
            period_start=datetime(year, 1, 5, tzinfo=UTC),
            period_end=datetime(year + 1, 1, 5, tzinfo=UTC),
        )
    row, *other_rows = three(acme).rows

    assert (row.commitment, row.starts_on, row.expires_on) == ("sp-1", date(2026, 1, 5), date(2027, 1, 4))
    assert row.expires_reason == "Contract Commitment file: 2026-01-05 to 2027-01-04 of contract C-7."
    assert row.scope == "Compute, all regions, Spend, 100.00 USD"
    assert [each.scope for each in other_rows] == ["", ""]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("Compute Savings Plan 3yr No Upfront", date(2029, 1, 4)),
        ("VM_RI_D4sv5_1Y", date(2027, 1, 4)),
        ("36 months", date(2029, 1, 4)),
        ("1 year, all upfront", date(2027, 1, 4)),
        ("m5.2xlarge", None),
        ("db.r6g.2xl", None),
        ("21 year", None),
    ],
)
def test_the_term_is_read_from_its_name(text: str, ends: date | None) -> None:
    assert term_of([text], DAY).ends_on == ends


amounts = st.decimals(min_value=0, max_value="9e9", places=12, allow_nan=False)
lines = st.builds(
    lambda amount, status, **columns: commitment_line(str(amount), status, **columns),
    amounts,
    st.sampled_from(["Used", "Unused"]),
    day=st.dates(date(2026, 1, 1), date(2026, 1, 31)),
    commitment_id=st.sampled_from(["a", "b", "c"]),
    currency=st.sampled_from(["USD", "EUR"]),
)


# Without shrinking: an example writes files.
@settings(
    max_examples=examples(25),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(rows=st.lists(lines, min_size=1, max_size=30), limit=st.integers(1, 3))
def test_rows_and_buckets_add_up_to_the_totals(
    acme: Account, source: CostSource, rows: list[Line], limit: int
) -> None:
    store_lines(acme, source, rows)

    answer = commitment_utilization(
        acme,
        CommitmentQuery(
            start_date=JANUARY.start_date, end_date=JANUARY.end_date, granularity="week", limit=limit
        ),
    )

    for total in answer.totals:
        rows_of_currency = [row for row in answer.rows if row.currency == total.currency]
        for name in ("committed_cost", "used_cost", "unused_cost"):
            assert exact_sum(getattr(row, name) for row in rows_of_currency) == getattr(total, name)
        assert exact_sum(bucket.used_cost for bucket in total.buckets) == total.used_cost
        plain = [row for row in rows if row["currency"] == total.currency]
        used = sum(
            (Fraction(row["effective_cost"]) for row in plain if row["commitment_status"] == "Used"),
            Fraction(),
        )
        whole = sum((Fraction(row["effective_cost"]) for row in plain), Fraction())
        assert Fraction(total.used_cost) == used
        if total.utilization is not None:
            assert abs(Fraction(total.utilization) - used / whole) < Fraction(1, 10**30)
        if total.net_savings is not None and total.on_demand_cost is not None:
            assert total.net_savings == exact_difference(total.on_demand_cost, total.committed_cost)
