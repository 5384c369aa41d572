"""The rules for ok, at risk and exceeded budgets, with many amounts."""

from __future__ import annotations

from datetime import date
from decimal import Decimal, localcontext

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from finops.budgets.cycles import is_first_day, period_of, shift_period
from finops.budgets.status_rules import StatusInputs, reason_of, status_of
from finops.costs.dictionary_encoding import fold_case

ENDS = date(2026, 3, 31)
AMOUNTS = st.decimals(min_value="0.01", max_value=10**18, places=2)
COSTS = st.none() | st.decimals(min_value=-(10**6), max_value=10**18, places=12)


def inputs(amount: str | Decimal, spent: object, forecast: object = None, percent: int = 80) -> StatusInputs:
    return StatusInputs(
        amount=Decimal(amount),
        currency="USD",
        warning_percent=percent,
        spent=None if spent is None else Decimal(str(spent)),
        forecast=None if forecast is None else Decimal(str(forecast)),
        ends_on=ENDS,
    )


@pytest.mark.parametrize(
    ("case", "status"),
    [
        (inputs("100", "100"), "exceeded"),
        (inputs("100", "99.999999999999"), "warning"),
        (inputs("100", "80"), "warning"),
        (inputs("100", "79.999999999999"), "ok"),
        (inputs("100", "10", "100"), "warning"),
        (inputs("100", "10", "99.999999999999"), "ok"),
        (inputs("100", None, "100"), "warning"),
        (inputs("100", None), "ok"),
        (inputs("100", "-5"), "ok"),
        (inputs("100", "100", percent=100), "exceeded"),
        (inputs("0.01", "0.01"), "exceeded"),
        (inputs("999999999999999999.99", "799999999999999999.991999999999"), "ok"),
        (inputs("999999999999999999.99", "799999999999999999.992"), "warning"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.amount}-{value.spent}-{value.forecast}",
)
def test_the_boundaries_belong_to_the_worse_status(case: StatusInputs, status: str) -> None:
    assert status_of(case) == status


@given(AMOUNTS, COSTS, COSTS, st.integers(1, 100))
@example(Decimal("0.03"), Decimal("0.024"), None, 80)
def test_the_status_is_what_the_product_page_says(
    amount: Decimal, spent: Decimal | None, forecast: Decimal | None, percent: int
) -> None:
    case = inputs(amount, spent, forecast, percent)

    with localcontext(prec=80):
        if spent is not None and spent >= amount:
            expected = "exceeded"
        elif (spent is not None and spent * 100 >= percent * amount) or (
            forecast is not None and forecast >= amount
        ):
            expected = "warning"
        else:
            expected = "ok"
    assert status_of(case) == expected
    reason = reason_of(case, crosses_on=None)
    assert reason.endswith(".")
    assert ("at or above" in reason) == (expected != "ok")


@given(st.dates(date(2001, 1, 1), date(2099, 12, 31)), st.integers(1, 12))
def test_every_day_is_in_one_period_of_each_kind_and_periods_follow_each_other(
    day: date, fiscal: int
) -> None:
    for kind, months in (("monthly", 1), ("quarterly", 3), ("yearly", 12)):
        period = period_of(kind, day, fiscal)
        assert period.start <= day <= period.end
        assert period.start.day == 1
        assert (period.start.month - fiscal) % months == 0
        assert is_first_day(kind, period.start, fiscal)
        assert (shift_period(kind, period, 1).start - period.end).days == 1
        assert shift_period(kind, shift_period(kind, period, 5), -5) == period
        assert period_of(kind, period.end, fiscal) == period


def test_small_letters_are_made_as_the_lake_makes_them() -> None:
    """Every character there is, so that a budget counts what a filter by the same value shows."""
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]

    with duckdb.connect() as bare:
        bare.register("given", pa.table({"text": every, "place": range(len(every))}))
        lowered = bare.execute("SELECT lower(text) AS small FROM given ORDER BY place").to_arrow_table()

    assert lowered["small"].to_pylist() == [fold_case(each) for each in every]
