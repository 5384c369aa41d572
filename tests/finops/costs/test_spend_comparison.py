from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from accounts.models import Account
from finops.costs.answers import Change
from finops.costs.comparison import comparison_ranges
from finops.costs.queries import query_spend
from finops.costs.spend_query import CompareTo, Period, SpendQuery
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from tests.factories.costs import Line, add_source, cost
from tests.factories.days import days


def a_year(through: date) -> list[Line]:
    """A dollar a day, two in March 2026."""
    return [
        cost(day, 2 if day >= date(2026, 3, 1) else 1, service="new" if day >= date(2026, 3, 1) else "old")
        for day in days(date(2025, 1, 1), through)
    ]


@pytest.mark.parametrize(
    ("period", "compare_to", "current", "previous"),
    [
        ("month_to_date", "previous_period", ("03-01", "03-18"), ("02-01", "02-18")),
        ("month_to_date", "previous_year", ("03-01", "03-18"), ("2025-03-01", "2025-03-18")),
        ("quarter_to_date", "previous_period", ("01-01", "03-18"), ("2025-10-01", "2025-12-16")),
        ("year_to_date", "previous_period", ("01-01", "03-18"), ("2025-01-01", "2025-03-18")),
        ("last_7_days", "previous_period", ("03-13", "03-18"), ("03-06", "03-11")),
        ("last_month", "previous_period", ("02-01", "02-28"), ("01-01", "01-31")),
        ("last_3_months", "previous_year", ("2025-12-01", "02-28"), ("2024-12-01", "2025-02-28")),
    ],
)
def test_an_unfinished_period_is_compared_with_the_same_elapsed_days(
    acme: Account, period: Period, compare_to: CompareTo, current: tuple[str, str], previous: tuple[str, str]
) -> None:
    add_source(acme, a_year(date(2026, 3, 18)))

    comparison = query_spend(acme, SpendQuery(period=period, compare_to=compare_to)).comparison

    assert comparison is not None
    assert (comparison.start_date, comparison.end_date) == tuple(map(_day, current))
    assert (comparison.previous_start_date, comparison.previous_end_date) == tuple(map(_day, previous))


def _day(text: str) -> date:
    return date.fromisoformat(text if len(text) == 10 else f"2026-{text}")


def test_totals_and_rows_say_what_moved(acme: Account) -> None:
    add_source(acme, a_year(date(2026, 3, 19)))

    answer = query_spend(
        acme, SpendQuery(period="month_to_date", group_by=["service"], compare_to="previous_period")
    )

    assert answer.totals[0].change == Change(
        current_amount=Decimal(38),
        previous_amount=Decimal(19),
        change=Decimal(19),
        ratio=Decimal(1),
        currency="USD",
    )
    moved = {row.group["service"]: row.change for row in answer.rows}
    new, old = moved["new"], moved["old"]
    assert new is not None
    assert old is not None
    assert (new.change, new.ratio, new.reason) == (Decimal(38), None, "previous_amount is 0.")
    assert (old.change, old.ratio, old.reason) == (Decimal(-19), Decimal(-1), "")
    assert "100.0 % more than the 19.00 USD before" in answer.summary


def test_groups_that_ended_are_listed_and_not_in_other(acme: Account) -> None:
    small = [cost(date(2026, 3, 10), n, service=f"s{n}") for n in range(1, 9)]
    add_source(acme, [*small, cost(date(2026, 3, 19), 1), cost(date(2026, 2, 1), 1000, service="gone")])

    answer = query_spend(
        acme, SpendQuery(period="month_to_date", group_by=["service"], compare_to="previous_period", limit=3)
    )

    ended_service = next(row for row in answer.rows if row.group["service"] == "gone")
    assert ended_service.amount == 0
    assert ended_service.change is not None
    assert ended_service.change.change == -1000


def test_only_days_with_complete_data_are_compared_and_the_answer_says_so(acme: Account) -> None:
    add_source(acme, [*a_year(date(2026, 3, 19)), cost(date(2026, 3, 20), 100)])

    answer = query_spend(acme, SpendQuery(period="month_to_date", compare_to="previous_period"))

    assert answer.totals[0].amount == 138
    assert answer.totals[0].change is not None
    assert answer.totals[0].change.current_amount == 38
    assert answer.comparison is not None
    assert answer.comparison.note.startswith(
        "Only days with complete data are compared: 2026-03-01 to 2026-03-19 with 2026-02-01 to 2026-02-19"
    )
    assert answer.period.unfinished
    assert answer.comparison.note in answer.warnings


def test_without_earlier_data_the_change_is_null_with_its_reason(acme: Account) -> None:
    add_source(acme, [cost(day, 1) for day in days(date(2026, 3, 1), date(2026, 3, 19))])

    answer = query_spend(acme, SpendQuery(period="month_to_date", compare_to="previous_period"))

    assert answer.totals[0].change == Change(
        current_amount=Decimal(19),
        previous_amount=None,
        change=None,
        ratio=None,
        currency="USD",
        reason="The account has no data for 2026-02-01 to 2026-02-19.",
    )


def test_a_few_earlier_days_are_no_comparison(acme: Account) -> None:
    add_source(acme, [cost(day, 1) for day in days(date(2026, 2, 10), date(2026, 3, 19))])
    query = SpendQuery(period="month_to_date", compare_to="previous_period", group_by=["service"])

    answer = query_spend(acme, query)

    assert answer.totals[0].change == Change(
        current_amount=Decimal(19),
        previous_amount=Decimal(10),
        change=None,
        ratio=None,
        currency="USD",
        reason="Only 10 of the 19 days from 2026-02-01 to 2026-02-19 have data.",
    )
    assert answer.rows[0].change is None


def test_a_source_with_one_line_a_month_is_compared_too(acme: Account) -> None:
    add_source(acme, [cost(date(2026, month, 1), 10**month) for month in (1, 2, 3)])

    answer = query_spend(
        acme, SpendQuery(period="last_month", compare_to="previous_period", granularity="day")
    )

    assert answer.totals[0].change is not None
    assert answer.totals[0].change.change == 90
    assert None not in answer.totals[0].series.values()


def test_a_day_missing_on_the_earlier_side_is_said(acme: Account) -> None:
    add_source(acme, [cost(day, 1) for day in days(date(2026, 2, 2), date(2026, 3, 19))])

    answer = query_spend(acme, SpendQuery(period="month_to_date", compare_to="previous_period"))

    assert answer.totals[0].change is not None
    assert answer.totals[0].change.change == 1
    assert "Only 18 of 19 days of the previous period have data." in answer.warnings


def test_a_source_that_is_new_on_this_side_is_said(acme: Account) -> None:
    add_source(acme, a_year(date(2026, 3, 19)), name="old")
    add_source(acme, [cost(date(2026, 3, 2), 1), cost(date(2026, 3, 19), 1)], name="fresh")

    warnings = query_spend(acme, SpendQuery(period="month_to_date", compare_to="previous_period")).warnings

    assert (
        "Source 'fresh' begins on 2026-03-02, after the previous period, so its cost counts as new."
        in warnings
    )


def test_without_a_complete_day_nothing_is_compared(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 2, 10), 1)])

    answer = query_spend(acme, SpendQuery(period="month_to_date", compare_to="previous_period"))

    assert answer.comparison is None
    assert "No complete day in the period to compare." in answer.warnings


def test_a_year_against_the_year_before_counts_overlapping_days_twice(acme: Account) -> None:
    add_source(acme, [cost(day, 1) for day in days(date(2024, 3, 1), date(2026, 3, 19))])

    query = SpendQuery(
        start_date=date(2024, 9, 1),
        end_date=date(2026, 2, 28),
        compare_to="previous_year",
        granularity="month",
    )
    answer = query_spend(acme, query)

    change = answer.totals[0].change
    assert answer.totals[0].amount == len(days(date(2024, 9, 1), date(2026, 2, 28)))
    assert change is not None
    assert change.previous_amount == len(days(date(2024, 3, 1), date(2025, 2, 28)))
    assert sum((amount or Decimal(0) for amount in answer.totals[0].series.values()), Decimal(0)) == (
        answer.totals[0].amount
    )


@given(
    start=st.dates(date(2020, 1, 1), date(2026, 12, 31)),
    length=st.integers(0, 800),
    through=st.dates(date(2020, 1, 1), date(2026, 12, 31)),
    compare_to=st.sampled_from(["previous_period", "previous_year"]),
)
def test_both_sides_lie_apart_and_inside_what_they_should(
    start: date, length: int, through: date, compare_to: str
) -> None:
    days = DateRange(start, start + timedelta(days=length))

    compared = comparison_ranges(compare_to=compare_to, days=days, period="", complete_through=through)

    if compared.current is None or compared.previous is None:
        assert through < start
        return
    assert days.start == compared.current.start <= compared.current.end <= min(days.end, through)
    assert compared.previous.start <= compared.previous.end
    if compare_to == "previous_period":
        assert compared.previous.end < days.start
        assert compared.previous.days <= compared.current.days + 3


def test_the_largest_changes_are_listed_and_not_the_largest_amounts(acme: Account) -> None:
    before, after = date(2026, 1, 10), date(2026, 2, 10)
    amounts = {"steady": (1_000, 1_001), "risen": (10, 60), "gone": (80, 0), "small": (5, 4)}
    add_source(
        acme,
        [
            cost(day, amount, service=service)
            for service, both in amounts.items()
            for day, amount in zip((before, after), both, strict=True)
        ]
        + [cost(day, 1, service="daily") for day in days(date(2026, 1, 1), date(2026, 3, 18))],
    )
    spend_query = SpendQuery(period="last_month", group_by=["service"], compare_to="previous_period", limit=2)
    pages = (
        spend_query,
        replace(spend_query, group_by=["service", "region"]),
    )  # ranked after and before the sum

    for splits in ("before", "after"):
        for query in pages:
            first = query_spend(acme, replace(query, splits=splits)).rows
            moved = query_spend(acme, replace(query, splits=splits, order_by="change")).rows

            assert [row.group["service"] for row in first] == ["steady", "gone", "other"]
            assert [row.group["service"] for row in moved] == ["gone", "risen", "other"]
            assert sum(row.amount for row in moved) == sum(row.amount for row in first) == 1_093


def test_an_order_by_change_needs_days_to_compare_with(acme: Account) -> None:
    with pytest.raises(UserError, match="needs compare_to"):
        query_spend(acme, SpendQuery(group_by=["service"], order_by="change"))
