"""A report may be exported without columns: what then is unknown is said, and never counted twice in silence."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.cur_files import PLAN, RESERVATION, Line, as_csv, as_parquet, line, usage

PLAN_FEE = line(
    "SavingsPlanRecurringFee",
    "20",
    savings_plan_total_commitment_to_date=Decimal(20),
    savings_plan_used_commitment=Decimal(15),
    savings_plan_savings_plan_a_r_n=PLAN,
)
RESERVATION_FEE = line(
    "RIFee", "72", reservation_unused_recurring_fee=Decimal(3), reservation_reservation_a_r_n=RESERVATION
)


def without(each: Line, *names: str) -> Line:
    return {name: value for name, value in each.items() if name not in names}


def notes(read: FocusRead) -> str:
    return " ".join(note for file in read.report.files for note in file.notes)


@pytest.mark.parametrize("column", ["savings_plan_used_commitment", "savings_plan_total_commitment_to_date"])
def test_without_both_commitments_of_a_plan_its_unused_part_is_unknown_and_not_all_of_it(column: str) -> None:
    read = FocusRead(as_csv([usage("1"), without(PLAN_FEE, column)]))
    assert sum(read.column("effective_cost")) == 1
    assert "Unused savings plans are unknown and missing in effective cost" in notes(read)


def test_reservations_and_plans_lack_their_unused_part_each_by_itself() -> None:
    read = FocusRead(as_csv([PLAN_FEE, without(RESERVATION_FEE, "reservation_unused_recurring_fee")]))
    assert sum(read.column("effective_cost")) == 5
    assert "Unused reservations are unknown" in notes(read)
    assert "of savings plans is unknown" not in notes(read)


def test_a_whole_report_says_nothing_of_unused_commitments() -> None:
    assert "is unknown and missing" not in notes(FocusRead(as_csv([PLAN_FEE, RESERVATION_FEE])))


def test_upfront_fees_that_cannot_be_distinguished_are_reported() -> None:
    covered = line("DiscountedUsage", "0", reservation_effective_cost=Decimal("0.5"))
    fee = line("Fee", "500", reservation_reservation_a_r_n=RESERVATION)
    assert "may be in effective cost twice" not in notes(FocusRead(as_csv([fee, covered])))
    read = FocusRead(as_csv([without(fee, "reservation_reservation_a_r_n"), covered]))
    assert "Upfront fees of reservations may be in effective cost twice" in notes(read)


def test_a_discount_of_all_of_it_leaves_nothing() -> None:
    free = {
        "discount_total_discount": Decimal(-10),
        "line_item_net_unblended_cost": Decimal(0),
        "savings_plan_savings_plan_a_r_n": PLAN,
    }
    covered = line(
        "SavingsPlanCoveredUsage",
        "10",
        savings_plan_savings_plan_effective_cost=Decimal(7),
        savings_plan_net_savings_plan_effective_cost=Decimal(0),
        **free,
    )
    full = line(
        "SavingsPlanCoveredUsage",
        "10",
        savings_plan_savings_plan_effective_cost=Decimal(7),
        savings_plan_net_savings_plan_effective_cost=None,
        savings_plan_savings_plan_a_r_n=PLAN,
    )
    assert FocusRead(as_parquet([covered, full])).column("effective_cost") == [0, 7]
