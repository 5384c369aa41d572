"""The allocation of one amount: worked examples of a public tool, and any amount by any weights."""

from __future__ import annotations

import csv
import json
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.allocation.splits import allocate, allocate_decimal

# Output of focus-data-toolkit's own fixtures; provenance and licence are in tests/data/focus/README.md.
CASES = Path(__file__).parents[3] / "data" / "focus" / "synthetic"
SPLIT_AS = {
    "scenarios_sca_equal": [Decimal(1)] * 3,
    "scenarios_sca_weighted": [Decimal(3), Decimal(2), Decimal(1)],
    "scenarios_sca_negative": [Decimal(2), Decimal(3)],
}


def rows_of(name: str) -> list[dict[str, str]]:
    with (CASES / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", sorted(SPLIT_AS))
def test_the_worked_cases_come_out_to_the_last_digit(name: str) -> None:
    rows = rows_of(name)
    origin = Decimal(rows[0]["x_SplitOriginCost"])

    parts = allocate_decimal(origin, SPLIT_AS[name], places=6)

    assert parts == [Decimal(row["BilledCost"]) for row in rows]
    assert sum(parts) == origin


@pytest.mark.parametrize("name", sorted(SPLIT_AS))
def test_the_ratios_that_the_worked_cases_state_are_one_in_such_parts(name: str) -> None:
    details = [json.loads(row["AllocatedMethodDetails"])["Elements"][0] for row in rows_of(name)]

    parts = allocate_decimal(Decimal(1), SPLIT_AS[name], places=6)

    assert parts == [Decimal(str(each["AllocatedRatio"])) for each in details]


@given(
    amount=st.integers(-(10**38), 10**38), weights=st.lists(st.integers(1, 10**40), min_size=1, max_size=50)
)
def test_any_amount_is_whole_again_and_no_part_has_the_other_sign(amount: int, weights: list[int]) -> None:
    parts = allocate(amount, weights)

    assert sum(parts) == amount
    assert all(part == 0 or (part > 0) == (amount > 0) for part in parts)
    for part, weight in zip(parts[:-1], weights[:-1], strict=True):
        assert abs(part - Fraction(amount * weight, sum(weights))) < 1


@given(
    amount=st.integers(-(10**30), 10**30), weights=st.lists(st.integers(1, 10**20), min_size=1, max_size=20)
)
def test_a_credit_is_shared_out_as_the_cost_that_it_takes_back(amount: int, weights: list[int]) -> None:
    assert allocate(-amount, weights) == [-part for part in allocate(amount, weights)]


def test_a_target_without_weight_gets_nothing_not_even_the_remainder() -> None:  # pragma: allowlist secret
    weights = [Decimal(1), Decimal(2), Decimal(0), Decimal(-1)]

    parts = allocate_decimal(Decimal("0.01"), weights)

    assert parts == [Decimal("0.003333333333333333"), Decimal("0.006666666666666667"), Decimal(0), Decimal(0)]


def test_amounts_of_38_digits_lose_none() -> None:
    amount = Decimal("99999999999999999999.999999999999999999")

    with localcontext(prec=60):
        assert sum(allocate_decimal(amount, [Decimal(1)] * 7)) == amount
