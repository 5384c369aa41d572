from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.lib import periods
from finops.lib.errors import UserError
from finops.lib.periods import (
    PERIODS,
    DateRange,
    bucket_end,
    bucket_start,
    bucket_starts,
    month_end,
    month_from_text,
    named_period,
    previous_period,
    previous_year,
    quarter_start,
    resolve_range,
    whole_period,
    year_start,
)

TODAY = date(2026, 3, 20)
days = st.dates(date(2001, 1, 1), date(2099, 12, 31))
fiscal_starts = st.integers(1, 12)


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("today", "2026-03-20", "2026-03-20"),
        ("yesterday", "2026-03-19", "2026-03-19"),
        ("last_7_days", "2026-03-13", "2026-03-19"),
        ("last_30_days", "2026-02-18", "2026-03-19"),
        ("last_90_days", "2025-12-20", "2026-03-19"),
        ("last_week", "2026-03-09", "2026-03-15"),
        ("month_to_date", "2026-03-01", "2026-03-20"),
        ("last_month", "2026-02-01", "2026-02-28"),
        ("last_3_months", "2025-12-01", "2026-02-28"),
        ("last_6_months", "2025-09-01", "2026-02-28"),
        ("last_12_months", "2025-03-01", "2026-02-28"),
        ("last_quarter", "2025-10-01", "2025-12-31"),
        ("quarter_to_date", "2026-01-01", "2026-03-20"),
        ("year_to_date", "2026-01-01", "2026-03-20"),
    ],
)
def test_a_named_period_has_these_days(name: str, start: str, end: str) -> None:
    assert named_period(name, today=TODAY) == DateRange(date.fromisoformat(start), date.fromisoformat(end))


def test_the_last_quarter_is_the_whole_one_before_in_the_fiscal_year() -> None:
    period = named_period("last_quarter", today=TODAY, fiscal_start_month=2)

    assert period == DateRange(date(2025, 11, 1), date(2026, 1, 31))


@pytest.mark.parametrize(
    ("fiscal", "quarter", "year"),
    [
        (1, "2026-01-01", "2026-01-01"),
        (2, "2026-02-01", "2026-02-01"),
        (4, "2026-01-01", "2025-04-01"),
        (12, "2026-03-01", "2025-12-01"),
    ],
)
def test_quarters_and_years_follow_the_fiscal_start(fiscal: int, quarter: str, year: str) -> None:
    assert quarter_start(TODAY, fiscal) == date.fromisoformat(quarter)
    assert year_start(TODAY, fiscal) == date.fromisoformat(year)


@given(name=st.sampled_from(PERIODS), today=days, fiscal=fiscal_starts)
def test_every_period_is_in_order_and_never_in_the_future(name: str, today: date, fiscal: int) -> None:
    period = named_period(name, today=today, fiscal_start_month=fiscal)

    assert period.start <= period.end <= today
    if "months" in name or name == "last_month":
        assert period.start.day == 1
        assert period.end == month_end(period.end)


@given(today=days, fiscal=fiscal_starts)
def test_a_quarter_holds_its_day_and_begins_in_step_with_the_year(today: date, fiscal: int) -> None:
    quarter, year = quarter_start(today, fiscal), year_start(today, fiscal)

    assert year <= quarter <= today < periods.add_months(quarter, 3)
    assert year.month == fiscal
    assert (quarter.month - fiscal) % 3 == 0


@given(start=days, length=st.integers(0, 2_000))
def test_the_previous_period_ends_just_before_and_is_as_long(start: date, length: int) -> None:
    period = DateRange(start, start + timedelta(days=length))

    earlier = previous_period(period)

    assert earlier.end == period.start - timedelta(days=1)
    if period.start.day == 1 and period.end == month_end(period.end):
        assert earlier.start.day == 1
    else:
        assert earlier.days == period.days


@pytest.mark.parametrize(
    ("start", "end", "earlier_start", "earlier_end"),
    [
        ("2026-03-01", "2026-03-31", "2025-03-01", "2025-03-31"),
        ("2025-02-01", "2025-02-28", "2024-02-01", "2024-02-29"),
        ("2024-02-29", "2024-03-10", "2023-02-28", "2023-03-10"),
        ("2024-02-10", "2024-02-28", "2023-02-10", "2023-02-28"),
    ],
)
def test_the_year_before_has_the_same_dates(
    start: str, end: str, earlier_start: str, earlier_end: str
) -> None:
    period = previous_year(DateRange(date.fromisoformat(start), date.fromisoformat(end)))

    assert (str(period.start), str(period.end)) == (earlier_start, earlier_end)


def test_a_period_to_date_belongs_to_a_whole_one() -> None:
    def whole(name: str) -> str:
        return str(whole_period(name, named_period(name, today=TODAY)).end)

    assert whole("month_to_date") == "2026-03-31"
    assert whole("quarter_to_date") == "2026-03-31"
    assert whole("year_to_date") == "2026-12-31"
    assert whole("last_7_days") == "2026-03-19"


def resolve(
    start: date | None = None, end: date | None = None, period: str | None = None, default: str = "last_month"
) -> DateRange:
    return resolve_range(
        start=start, end=end, period=period, default=default, today=TODAY, fiscal_start_month=1
    )


def test_dates_a_period_or_nothing_are_ways_to_say_days() -> None:
    assert resolve(date(2026, 1, 5), date(2026, 1, 9)).days == 5
    assert resolve(period="today") == DateRange(TODAY, TODAY)
    assert resolve() == DateRange(date(2026, 2, 1), date(2026, 2, 28))


@pytest.mark.parametrize(
    ("start", "end", "period", "field", "message"),
    [
        (date(2026, 1, 1), None, None, "end_date", "end_date is missing"),
        (None, date(2026, 1, 1), None, "start_date", "start_date is missing"),
        (date(2026, 1, 2), date(2026, 1, 1), None, "end_date", "is before start_date"),
        (
            date(2026, 1, 1),
            date(2026, 1, 2),
            "today",
            "period",
            "Use either period, or start_date and end_date.",
        ),
        (None, None, "last_weeks", "period", "Nearest: "),
        (date(2000, 1, 1), date(2026, 1, 1), None, "start_date", "longer than the maximum of 3660 days"),
        (date(1989, 12, 31), date(1990, 1, 2), None, "start_date", "not between 1990 and 2199"),
        (date(2026, 1, 1), date(9999, 12, 31), None, "end_date", "not between 1990 and 2199"),
    ],
)
def test_days_that_make_no_sense_say_what_to_repair(
    start: date | None, end: date | None, period: str | None, field: str, message: str
) -> None:
    with pytest.raises(UserError) as error:
        resolve(start, end, period)

    assert error.value.field == field
    assert message in error.value.message


@pytest.mark.parametrize(
    "text",
    ["2026-13", "2026-00", "2026-5", "202605", "2026-05-01", "", "２０２６-05", "1989-12", "2200-01"],  # noqa: RUF001
)
def test_a_text_that_is_no_billing_month_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a billing month"):
        month_from_text(text)
    assert month_from_text("1990-01") == date(1990, 1, 1)
    assert month_from_text("2199-12") == date(2199, 12, 1)


@given(st.dates(), st.integers(0, 400), st.sampled_from(["day", "week", "month"]))
def test_buckets_cover_their_days_without_gaps(start: date, length: int, granularity: str) -> None:
    end = date.fromordinal(min(start.toordinal() + length, date.max.toordinal()))
    starts = bucket_starts(granularity, DateRange(start, end))
    ends = [bucket_end(granularity, each) for each in starts]

    assert starts[0] == bucket_start(granularity, start)
    assert ends[-1] >= end
    assert [each - timedelta(days=1) for each in starts[1:]] == ends[:-1]
