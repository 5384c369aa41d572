from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.lib.errors import UserError
from ingestion.models import Customer, UsageMetric
from ingestion.queries import list_usage_events, query_usage
from ingestion.usage_query import EventsQuery, UsageFilter, UsageQuery
from tests.factories.usage import add_usage, event, push_events

MARCH: dict[str, Any] = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 31)}
FIRST, SECOND, THIRD = date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 9)


@pytest.fixture
def usage(acme: Account) -> Account:
    """Requests of three customers in two regions, and seats."""
    events = [
        event(FIRST, "globex", 60, unit="call", dimensions={"Region": "eu"}),
        event(SECOND, "globex", 10, unit="call", dimensions={"Region": "us"}),
        event(THIRD, "initech", 25, unit="call", dimensions={"Region": "EU"}),
        event(THIRD, "ümläut/株", "5.5", unit="call"),
        event(FIRST, "globex", 4, metric="seats", unit="seat"),
        event(SECOND, "globex", 8, metric="seats", unit="seat"),
        event(SECOND, "initech", 3, metric="seats", unit="seat", dimensions={"Region": "eu"}),
    ]
    add_usage(acme, events, seats="last")
    Customer.objects.filter(customer_id="globex").update(name="Globex GmbH")
    return acme


def usage_in_march(account: Account, **query: Any) -> Any:
    return query_usage(account, UsageQuery(**{"usage_metric": "requests", **MARCH, **query}))


def test_rows_by_customer_add_up_and_say_names_and_shares(usage: Account) -> None:
    answer = usage_in_march(usage, group_by=["customer"])

    assert (answer.quantity, answer.unit, answer.aggregation) == (Decimal("100.5"), "call", "sum")
    assert [(row.value, row.name, row.quantity) for row in answer.rows] == [
        ("globex", "Globex GmbH", Decimal(70)),
        ("initech", "", Decimal(25)),
        ("ümläut/株", "", Decimal("5.5")),
    ]
    assert sum(row.share for row in answer.rows) == pytest.approx(Decimal(1))
    assert (answer.days_with_data, answer.data_from, answer.data_through) == (3, FIRST, THIRD)
    assert answer.summary == (
        "'Acme', 'requests' from 2026-03-01 to 2026-03-31: 100.5 'calls' in total; events on 3 of 31 days; most of it: "
        "'Globex GmbH' (69.7 %), 'initech' (24.9 %) and 'ümläut/株' (5.5 %)."
    )


def test_the_rest_is_one_row(usage: Account) -> None:
    answer = usage_in_march(usage, group_by=["customer"], limit=1)

    assert [(row.value, row.quantity, row.other_groups) for row in answer.rows] == [
        ("globex", Decimal(70), 0),
        ("other", Decimal("30.5"), 2),
    ]
    assert answer.truncated == ("2 groups are in the row other: raise limit (now 1, maximum 50) or filter.")


def test_the_rest_of_a_last_value_is_the_last_of_the_rest_and_no_sum(usage: Account) -> None:
    answer = usage_in_march(usage, usage_metric="seats", group_by=["dimension:Region"], limit=1)

    assert answer.quantity == 11
    assert [(row.value, row.quantity, row.share) for row in answer.rows] == [
        ("(none)", Decimal(8), None),
        ("other", Decimal(3), None),
    ]
    assert any("do not add up" in warning for warning in answer.warnings)


def test_a_series_is_none_without_data_and_nothing_of_a_sum_is_zero(usage: Account) -> None:
    answer = usage_in_march(usage, group_by=["customer"], granularity="week", customers=["globex"])

    assert answer.quantity_series == {
        "2026-02-23": Decimal(60),
        "2026-03-02": Decimal(10),
        "2026-03-09": Decimal(0),
        "2026-03-16": None,
        "2026-03-23": None,
        "2026-03-30": None,
    }
    assert answer.rows[0].quantity_series == answer.quantity_series
    assert "The week of 2026-02-23 counts from 2026-03-01" in answer.warnings[-1]


def test_there_is_no_last_value_where_a_customer_has_no_event(usage: Account) -> None:
    answer = usage_in_march(
        usage, usage_metric="seats", group_by=["customer"], granularity="day", end_date=SECOND
    )

    assert answer.quantity_series == {"2026-03-01": Decimal(4), "2026-03-02": Decimal(11)}
    rows = {row.value: row.quantity_series for row in answer.rows}
    assert rows["initech"] == {"2026-03-01": None, "2026-03-02": Decimal(3)}


def test_customers_are_found_by_id_and_by_name_in_any_case(usage: Account) -> None:
    assert usage_in_march(usage, customers=["GLOBEX gmbh", "initech"]).quantity == 95
    answer = usage_in_march(usage, customers=["init"])
    assert answer.quantity is None
    assert answer.warnings == ["No customer with the ID or name 'init'. Nearest: 'initech'."]
    assert answer.summary == (
        "'Acme' has no matching events of 'requests' from 2026-03-01 to 2026-03-31; no customer with the ID or name 'init'."
    )


def test_a_dimension_is_found_in_any_case_and_filters_are_joined_by_and(usage: Account) -> None:
    eu = UsageFilter(dimension="region", values=["eu"])
    answer = usage_in_march(usage, filters=[eu], group_by=["Dimension:Region"])

    assert answer.group_by == "dimension:Region"
    assert {row.value: row.quantity for row in answer.rows} == {"eu": Decimal(60), "EU": Decimal(25)}
    assert "Dimension 'region' was interpreted as 'Region'." in answer.warnings
    both = [eu, UsageFilter(dimension="dimension:Region", values=["us"])]
    assert usage_in_march(usage, filters=both).quantity is None
    none = [UsageFilter(dimension="Region", values=["(none)"])]
    assert usage_in_march(usage, filters=none).quantity == Decimal("5.5")


def test_an_unknown_dimension_is_said(usage: Account) -> None:
    answer = usage_in_march(usage, group_by=["dimension:plan"])
    assert [(row.value, row.quantity) for row in answer.rows] == [("(none)", Decimal("100.5"))]
    assert answer.warnings == ["No events have dimension 'plan'. See getAccountContext."]
    with pytest.raises(
        UserError, match=r"group_by: 'plan' does not exist\. Valid: customer, 'dimension:Region'"
    ):
        usage_in_march(usage, group_by=["plan"])


def test_two_units_add_up_with_a_warning(usage: Account) -> None:
    push_events(usage, [event(THIRD, "initech", 1, unit="k calls")])

    answer = usage_in_march(usage)

    assert (answer.quantity, answer.unit, answer.units) == (Decimal("101.5"), None, ["call", "k calls"])
    assert answer.warnings == [
        "Events of 'requests' have 2 units ('call', 'k calls'), added without conversion."
    ]


def test_days_with_today_are_said_to_be_unfinished(usage: Account) -> None:
    push_events(usage, [event(datetime(2026, 3, 20, 11, 59, tzinfo=UTC), "globex", 7, unit="call")])

    answer = query_usage(
        usage, UsageQuery(usage_metric="requests", start_date=date(2026, 2, 19), end_date=date(2026, 3, 20))
    )

    assert answer.period.unfinished
    assert answer.quantity == Decimal("107.5")
    assert answer.warnings == ["Today, 2026-03-20, is incomplete."]


def test_a_metric_left_out_is_the_first_and_the_others_are_named(usage: Account) -> None:
    answer = query_usage(usage, UsageQuery())
    assert answer.metric == "requests"
    assert answer.warnings[0] == ("metric was not set, so this is 'requests'; also available: 'seats'.")


def test_an_average_of_days_is_over_the_days_of_the_metric(usage: Account) -> None:
    UsageMetric.objects.filter(name="requests").update(aggregation="average_of_days", label="Requests a day")

    answer = usage_in_march(usage, group_by=["customer"])

    assert answer.quantity == Decimal("33.5")
    assert sum(row.quantity for row in answer.rows) == pytest.approx(answer.quantity)
    assert (
        "'Requests a day' from 2026-03-01 to 2026-03-31: 33.5 'calls' on average per day with data (3 days"
        in answer.summary
    )


def test_days_without_events_say_which_have_some(usage: Account) -> None:
    answer = usage_in_march(usage, start_date=date(2025, 1, 1), end_date=date(2025, 1, 31))
    assert (answer.quantity, answer.rows) == (None, [])
    assert answer.hint == "Use days from 2026-03-01 to 2026-03-09, which have events."


def test_before_any_push_the_answer_says_how_to_push(acme: Account) -> None:
    answer = query_usage(acme, UsageQuery(usage_metric="requests", group_by=["customer"]))
    assert (answer.quantity, answer.rows, answer.aggregation) == (None, [], "sum")
    assert answer.summary == "'Acme' has no usage yet."
    assert (
        "Create a usage source and its API key on the Connections page, and POST events to "
        "/api/usage/events. The source's page shows the request."
    ) in answer.hint


def test_too_many_buckets_say_what_to_ask_instead(usage: Account) -> None:
    with pytest.raises(UserError, match=r"more than 400 buckets\. Use fewer days or a coarser granularity"):
        usage_in_march(usage, start_date=date(2024, 1, 1), granularity="day")


def test_every_group_apart_for_an_export(usage: Account) -> None:
    answer = query_usage(
        usage, UsageQuery(usage_metric="requests", **MARCH, group_by=["customer"], limit=1), all_groups=True
    )
    assert [row.value for row in answer.rows] == ["globex", "initech", "ümläut/株"]
    assert answer.truncated == ""


EXTREMES = [date(1, 1, 1), date(1, 1, 2), date(12, 2, 1), date(1970, 1, 1), date(1999, 12, 31)]
EXTREMES += [date(2101, 1, 1), date(2500, 6, 15), date(9999, 12, 30), date(9999, 12, 31)]


@pytest.mark.parametrize("day", EXTREMES, ids=str)
def test_every_day_that_has_usage_can_be_asked_for(acme: Account, day: date) -> None:
    add_usage(acme, [event(day, "globex", 3), event(day, "globex", 4)])

    for granularity in ("none", "day", "week", "month"):
        for group_by in ([], ["customer"]):
            query = UsageQuery(start_date=day, end_date=day, granularity=granularity, group_by=group_by)
            answer = query_usage(acme, query)
            assert (answer.quantity, answer.data_from, answer.data_through) == (Decimal(7), day, day)
            assert [*answer.quantity_series.values()] in ([], [7])
    events = list_usage_events(acme, EventsQuery(start_date=day, end_date=day))
    assert [each.event_time.date() for each in events.events] == [day, day]
    assert str(day) in events.summary


@pytest.mark.parametrize("compare_to", ["previous_period", "previous_year"])
def test_a_comparison_with_days_before_the_calendar_is_refused(acme: Account, compare_to: Any) -> None:
    first = date(1, 1, 1)
    add_usage(acme, [event(first, "globex", 3), event(date(1970, 1, 1), "globex", 3)])

    answer = query_usage(
        acme,
        UsageQuery(start_date=date(1970, 1, 1), end_date=date(1970, 1, 1), compare_to=compare_to),
    )
    assert answer.change is not None
    with pytest.raises(UserError) as error:
        query_usage(acme, UsageQuery(start_date=first, end_date=first, compare_to=compare_to))
    assert error.value.field == "compare_to"


def test_the_longest_ranges_at_both_ends_of_the_calendar_have_their_buckets(acme: Account) -> None:
    add_usage(acme, [event(date.min, "globex", 3), event(date.max, "globex", 4)])

    for start, end, quantity in ((date.min, date(10, 12, 31), 3), (date(9990, 1, 1), date.max, 4)):
        answer = query_usage(acme, UsageQuery(start_date=start, end_date=end, granularity="month"))
        assert (answer.quantity, len(answer.quantity_series)) == (Decimal(quantity), 120)
