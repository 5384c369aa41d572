"""The join of cost and usage, and folding its rows: nothing is lost, nothing counted twice."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.costs.queries.cost_sums import ValueCost
from finops.unitcosts.answers import UnitCostRow
from finops.unitcosts.queries.customers import CustomerCost, Customers, Quantity, join_by_customer
from finops.unitcosts.queries.division import divide_cost, per_million
from finops.unitcosts.queries.fold import fold_rows

ABSENT = "(untagged)"
VALUES = [ABSENT, "a", "A", "a ", "b", "b-old", "c", "ghost", "lost"]
CUSTOMERS = Customers({"a": "Ay", "b": "", "c": "Cee", "d": ""}, {"b-old": "b", "lost": "gone", "A": "c"})
OWNER = {"a": "a", "b": "b", "b-old": "b", "c": "c", "A": "c"}

figures = st.decimals(-(10**14), 10**14, places=18)
costs = st.dictionaries(st.tuples(st.sampled_from(VALUES), st.sampled_from(["USD", "EUR"])), figures)
usage = st.dictionaries(st.sampled_from(["a", "b", "c", "d"]), figures)


def rows_of(costs: dict[tuple[str, str], Decimal], usage: dict[str, Decimal]) -> list[CustomerCost]:
    return join_by_customer(
        [ValueCost(value, currency, amount=amount) for (value, currency), amount in costs.items()],
        {customer: Quantity(quantity) for customer, quantity in usage.items()},
        CUSTOMERS,
        absent=ABSENT,
        currencies=["USD", "EUR"],
    )


@given(costs, usage)
def test_costs_add_up_by_currency_and_every_usage_is_on_its_customer(
    costs: dict[tuple[str, str], Decimal], usage: dict[str, Decimal]
) -> None:
    rows = rows_of(costs, usage)

    for currency in ("USD", "EUR"):
        total = sum((Fraction(row.cost) for row in rows if row.currency == currency), Fraction(0))
        assert total == sum((Fraction(v) for k, v in costs.items() if k[1] == currency), Fraction(0))
    assert {row.customer_id: row.usage.whole for row in rows if row.usage} == usage
    assert all(row.customer_id is not None for row in rows if row.usage)


@given(costs, usage)
def test_each_row_is_one_owner_with_the_status_that_it_has(
    costs: dict[tuple[str, str], Decimal], usage: dict[str, Decimal]
) -> None:
    rows = rows_of(costs, usage)

    expected: dict[tuple[str, str], str] = {}
    for value, currency in costs:
        owner = OWNER.get(value)
        status = "no_customer" if value == ABSENT else "unknown_customer"
        owner_status = "matched" if owner in usage else "no_usage"
        expected[owner or f"?{value}", currency] = owner_status if owner else status
    paid = {owner for owner, _currency in expected}
    expected |= {(customer, "USD"): "no_cost" for customer in usage if customer not in paid}
    assert {(row.customer_id or f"?{row.values[0]}", row.currency): row.status for row in rows} == expected
    assert len(rows) == len(expected)


@given(costs, usage)
def test_rows_come_by_currency_then_status_then_size(
    costs: dict[tuple[str, str], Decimal], usage: dict[str, Decimal]
) -> None:
    rows = rows_of(costs, usage)

    kinds = ["matched", "no_usage", "no_cost", "unknown_customer", "no_customer"]
    order = [(row.currency == "EUR", kinds.index(row.status), -abs(Fraction(row.cost))) for row in rows]
    assert order == sorted(order)


@given(
    st.lists(st.tuples(figures, st.none() | st.decimals(0, 10**9, places=6)), max_size=12), st.integers(0, 6)
)
def test_folding_keeps_every_cent_and_every_unit(
    rows: list[tuple[Decimal, Decimal | None]], keep: int
) -> None:
    every = [_row(f"c{place}", cost, usage) for place, (cost, usage) in enumerate(rows)]

    rows_kept = fold_rows(fold_rows(every, keep + 3), keep)

    assert sum((Fraction(row.cost) for row in rows_kept), Fraction(0)) == sum(
        (Fraction(c) for c, _u in rows), Fraction(0)
    )
    used = [Fraction(row.usage) for row in rows_kept if row.usage is not None]
    assert sum(used, Fraction(0)) == sum((Fraction(u) for _c, u in rows if u is not None), Fraction(0))
    assert sum(row.other_rows or 1 for row in rows_kept) == len(rows)
    assert len(rows_kept) <= 2 * (keep + 1)
    for row in rows_kept:
        assert (row.unit_cost is None) == bool(row.reason)
        if row.unit_cost is not None and row.usage:
            assert row.unit_cost == divide_cost(row.cost, row.usage)[0]


def _row(customer: str, cost: Decimal, usage: Decimal | None) -> UnitCostRow:
    unit_cost, reason = divide_cost(cost, usage, unused="unused")
    return UnitCostRow(
        customer_id=customer,
        status="matched" if usage is not None else "no_usage",
        direct_cost=cost,
        allocated_cost=Decimal(0),
        cost=cost,
        currency="USD",
        usage=usage,
        unit_cost=unit_cost,
        reason=reason,
    )


@given(figures, st.decimals(Decimal("0.000001"), 10**14, places=6))
def test_a_division_is_right_to_38_digits(cost: Decimal, usage: Decimal) -> None:
    quotient, reason = divide_cost(cost, usage)

    assert reason == ""
    assert quotient is not None
    exact = Fraction(cost) / Fraction(usage)
    assert exact == 0 == quotient or abs(Fraction(quotient) / exact - 1) <= Fraction(1, 10**37)


@pytest.mark.parametrize(
    ("cost", "usage", "message"),
    [
        ("5", None, "No usage on these days."),
        (None, None, "No usage on these days."),
        (None, "5", "No cost data for these days."),
        ("5", "0", "Usage is 0 on these days."),
        ("5", "-1", "Usage is negative on these days: corrections exceed usage."),
    ],
)
def test_a_missing_quotient_has_a_reason(cost: str | None, usage: str | None, message: str) -> None:
    quotient = divide_cost(None if cost is None else Decimal(cost), None if usage is None else Decimal(usage))

    assert quotient == (None, message)


@pytest.mark.parametrize(
    ("unit_cost", "million"), [("0.0000004", "0.4"), ("-0.0009", "-900"), ("0.001", None), ("0", None)]
)
def test_a_small_unit_cost_is_said_for_a_million(unit_cost: str, million: str | None) -> None:
    with localcontext(prec=60):
        assert per_million(Decimal(unit_cost)) == (None if million is None else Decimal(million))
