from __future__ import annotations

from datetime import date

from finops.costs.coverage import Segment, coverage_of
from finops.lib.periods import DateRange

TODAY = date(2026, 6, 20)
OCTOBER = DateRange(date(2025, 10, 1), date(2025, 10, 31))


def segment(month: date, first: date, last: date, source: int = 1) -> Segment:
    return (source, month, first, last, 10)


def test_a_correction_of_the_month_before_does_not_make_that_month_look_covered() -> None:
    november = segment(date(2025, 11, 1), date(2025, 10, 28), date(2025, 11, 30))

    coverage = coverage_of([november], today=TODAY)

    assert coverage.days_with_data(OCTOBER) == 0
    assert not coverage.has_data(OCTOBER.start, OCTOBER.end)
    assert coverage.days_with_data(DateRange(date(2025, 11, 1), date(2025, 11, 30))) == 30


def test_data_that_begins_within_a_month_covers_from_there() -> None:
    november = segment(date(2025, 11, 1), date(2025, 11, 11), date(2025, 11, 30))

    assert (
        coverage_of([november], today=TODAY).days_with_data(DateRange(date(2025, 11, 1), date(2025, 11, 30)))
        == 20
    )


def test_a_past_month_is_covered_whole_though_it_has_one_line() -> None:
    months = [
        segment(date(2026, month, 1), date(2026, month, 1), date(2026, month, 1)) for month in (3, 4, 5)
    ]

    assert (
        coverage_of(months, today=TODAY).days_with_data(DateRange(date(2026, 3, 1), date(2026, 4, 30))) == 61
    )


def test_a_bill_paid_afterwards_covers_the_days_of_its_lines() -> None:
    arrears = segment(date(2026, 4, 1), date(2026, 3, 1), date(2026, 3, 31))

    assert (
        coverage_of([arrears], today=TODAY).days_with_data(DateRange(date(2026, 3, 1), date(2026, 3, 31)))
        == 31
    )
