"""Totals of mapped reports equal an independent computation on their lines, billed and amortized."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache

import pytest

from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.cur_files import Line, as_csv, as_legacy_csv, as_parquet, month

LINES = 3_000
Sums = dict[object, Decimal]
FORMS = ("parquet", "exact", "csv", "legacy")


@cache
def lines() -> list[Line]:
    return month(LINES)


@cache
def read(form: str) -> FocusRead:
    writers: dict[str, Callable[[list[Line]], bytes]] = {
        "parquet": as_parquet,
        "exact": lambda each: as_parquet(each, exact=True),
        "csv": as_csv,
        "legacy": as_legacy_csv,
    }
    return FocusRead(writers[form](lines()))


def parts(line: Line) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Charge category, billed and amortized cost of a line, by hand from AWS's documentation of its types."""
    kind, cost = line["line_item_line_item_type"], line["line_item_unblended_cost"]
    if kind == "SavingsPlanNegation":
        return
    if kind == "SavingsPlanCoveredUsage":
        yield "Usage", Decimal(0), line["savings_plan_savings_plan_effective_cost"]
    elif kind == "DiscountedUsage":
        yield "Usage", cost, line["reservation_effective_cost"]
    elif kind == "RIFee":
        yield "Purchase", cost, Decimal(0)
        yield (
            "Usage",
            Decimal(0),
            line["reservation_unused_amortized_upfront_fee_for_billing_period"]
            + line["reservation_unused_recurring_fee"],
        )
    elif kind == "SavingsPlanRecurringFee":
        yield "Purchase", cost, Decimal(0)
        yield (
            "Usage",
            Decimal(0),
            line["savings_plan_total_commitment_to_date"] - line["savings_plan_used_commitment"],
        )
    elif kind == "SavingsPlanUpfrontFee" or (kind == "Fee" and "reservation_reservation_a_r_n" in line):
        yield "Purchase", cost, Decimal(0)
    else:
        category = {"Usage": "Usage", "Fee": "Purchase", "Tax": "Tax", "Credit": "Credit"}
        yield category.get(kind, "Adjustment"), cost, cost


def by_hand(key: Callable[[Line, str], object], amount: int) -> Sums:
    sums: Sums = defaultdict(Decimal)
    for line in lines():
        for part in parts(line):
            sums[key(line, part[0])] += part[amount]  # type: ignore[operator]
    return {value: total for value, total in sums.items() if total}


def imported_sums(form: str, column: str, amount: str) -> Sums:
    sums: Sums = defaultdict(Decimal)
    for value, cost in zip(read(form).column(column), read(form).column(amount), strict=True):
        sums[value] += cost
    return {value: total for value, total in sums.items() if total}


KEYS: dict[str, Callable[[Line, str], object]] = {
    "service": lambda line, _: line["product"]["product_name"],
    "account_id": lambda line, _: line["line_item_usage_account_id"],
    "region": lambda line, _: line["product_region_code"],
    "charge_category": lambda _, category: category,
    "billing_period": lambda line, _: line["bill_billing_period_start_date"].date(),
    "charge_date": lambda line, _: line["line_item_usage_start_date"].date(),
    "currency": lambda line, _: line["line_item_currency_code"],
    "tag:team": lambda line, _: line.get("resource_tags", {}).get("user_team"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", [name for name in KEYS if not name.startswith("tag:")])
def test_totals_of_every_form_are_those_of_the_lines(form: str, column: str) -> None:
    assert imported_sums(form, column, "billed_cost") == by_hand(KEYS[column], 1)
    assert imported_sums(form, column, "effective_cost") == by_hand(KEYS[column], 2)


@pytest.mark.parametrize("form", FORMS)
def test_billed_cost_adds_up_to_the_unblended_cost_of_all_lines_with_their_negations(form: str) -> None:
    unblended = sum((line["line_item_unblended_cost"] for line in lines()), Decimal(0))
    assert sum(read(form).column("billed_cost")) == unblended


@pytest.mark.parametrize("form", FORMS)
def test_the_cost_of_a_plan_is_its_used_and_unused_part(form: str) -> None:
    rows = [row for row in read(form).rows if row["commitment_category"] == "Spend"]
    fees = sum(row["billed_cost"] for row in rows if row["charge_frequency"] == "Recurring")
    by_status = {
        status: sum(row["effective_cost"] for row in rows if row["commitment_status"] == status)
        for status in ("Used", "Unused", None)
    }
    assert by_status["Used"] + by_status["Unused"] == fees
    assert by_status[None] == 0


@pytest.mark.parametrize("form", FORMS)
def test_tags_have_the_keys_that_focus_has(form: str) -> None:
    keys = read(form).report.tag_keys
    assert set(keys) == {"team", "aws:createdBy", "costCategory/env"}
