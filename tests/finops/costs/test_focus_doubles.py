"""Doubles become the decimals that they mean: each as its shortest text is read, whole columns at once."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from finops.costs.focus import amounts
from finops.costs.focus.doubles import decimals_of
from finops.costs.focus.errors import BadCell
from finops.costs.focus.report import Findings
from finops.costs.focus.values import parse_amount

VALUES = 20_000
EDGES = (
    *(0.0, -0.0, 1e-18, 5e-19, 1.5e-18, 2.5e-18, 5e-324, 1e-300, 0.1 + 0.2, 1 / 3, 2 / 3e5),
    *(999.9999999999999, 1e14, 999999999999999.9, -999999999999999.9, 1e-7, 4.5e-10, 1234.56789012),
)


def bill(chance: random.Random) -> float:
    return round(chance.random() * 10.0 ** chance.randrange(-6, 4), chance.randrange(0, 13))


def random_amount(chance: random.Random) -> float:
    return -chance.random() * 10.0 ** chance.randrange(-22, 14)


def random_near_tie(chance: random.Random) -> float:
    return float(f"{chance.randrange(10 ** chance.randrange(1, 17))}.5e-18")


def beside_short_ones(chance: random.Random) -> float:
    return math.nextafter(
        chance.randrange(10**12) / 10.0 ** chance.randrange(0, 18), chance.choice([-1.0, 1e9])
    )


def read(values: Sequence[float | None]) -> tuple[list[object], Findings]:
    findings = Findings()
    findings.begin_batch(lambda index: f"row {index + 1}")
    decimals = amounts.amount(pa.array(values, pa.float64()), "BilledCost", findings, None).to_pylist()
    findings.end_batch()
    return decimals, findings


@pytest.mark.parametrize("make", [bill, random_amount, random_near_tie, beside_short_ones])
@pytest.mark.parametrize("empty", [0.1, 0.9])
def test_each_double_is_the_decimal_of_its_shortest_text(
    make: Callable[[random.Random], float], empty: float
) -> None:
    chance = random.Random(make.__name__)
    values = [None if chance.random() < empty else make(chance) for _ in range(VALUES)] + list(EDGES)
    decimals, findings = read(values)

    parsed = [(None, []) if value is None else parse_amount(repr(value)) for value in values]
    assert decimals == [number for number, _ in parsed]
    rounded = sum("rounded" in kinds for _, kinds in parsed)
    assert {each.kind: each.rows for each in findings.all()} == {
        "rounded": rounded,
        "floating_point": sum(value is not None for value in values),
    }


def test_amounts_of_bills_are_never_read_one_by_one() -> None:
    chance = random.Random(7)
    decimals = decimals_of(pa.array([bill(chance) for _ in range(VALUES)]))

    assert pc.sum(decimals.remaining).as_py() < VALUES * 0.01


def test_a_double_that_is_no_amount_is_named_by_its_row() -> None:
    with pytest.raises(BadCell) as error:
        read([0.5, 1e15])
    assert (error.value.index, error.value.problem) == (1, "is too large: amounts must be below 10^15")
    with pytest.raises(BadCell) as error:
        read([0.5, 1e-7, math.inf])
    assert error.value.index == 2
