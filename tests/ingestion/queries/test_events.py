from __future__ import annotations

import random
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.usage.flush import flush_usage
from finops.lib.errors import UserError
from ingestion.models import Customer
from ingestion.queries import list_usage_events
from ingestion.schemas import EventsAnswer
from ingestion.usage_query import EventsQuery
from tests.cast import Cast
from tests.factories.usage import add_usage, event, push_events

DAY = date(2026, 3, 9)


def events_of(account: Account, **query: Any) -> EventsAnswer:
    return list_usage_events(account, EventsQuery(**query))


def all_pages(account: Account, **query: Any) -> list[EventsAnswer]:
    pages = [events_of(account, **query)]
    while pages[-1].cursor:
        pages.append(events_of(account, **query, cursor=pages[-1].cursor))
    return pages


def test_an_event_is_shown_as_it_was_pushed(acme: Account) -> None:
    moment = datetime(2026, 3, 9, 8, 7, 6, 543210, tzinfo=UTC)
    small = event(
        moment, "ümläut/株", "0.000000000001", unit="call", dimensions={"Region": "eu", "region": "x"}
    )
    push_events(acme, [small])
    Customer.objects.update(name="Ümläut")

    (shown_events,) = events_of(acme).events

    assert (shown_events.event_time, shown_events.customer_id, shown_events.customer_name) == (
        moment,
        "ümläut/株",
        "Ümläut",
    )
    assert (shown_events.metric, shown_events.unit, shown_events.source) == ("requests", "call", "Backend")
    assert (shown_events.quantity, shown_events.exact_quantity) == (
        Decimal("0.000000000001"),
        "0.000000000001",
    )
    assert shown_events.dimensions == {"Region": "eu", "region": "x"}
    assert shown_events.received_at == datetime(2026, 3, 20, 12, tzinfo=UTC)


def test_pages_have_every_event_once_the_newest_first(acme: Account) -> None:
    stored = [
        event(DAY + timedelta(days=day), f"c{number}", number, position=number, batch=uuid.UUID(int=day))
        for day in range(3)
        for number in range(5)
    ]
    add_usage(acme, stored)
    push_events(acme, [event(DAY + timedelta(days=1), "inbox", number) for number in range(100, 105)])

    pages = all_pages(acme, limit=4)

    assert [len(page.events) for page in pages] == [4, 4, 4, 4, 4]
    times = [each.event_time for page in pages for each in page.events]
    assert times == sorted(times, reverse=True)
    assert len({(each.event_time, each.quantity) for page in pages for each in page.events}) == 20
    assert pages[0].truncated == "Older events exist. Use cursor for the next page."
    assert pages[-1].truncated == ""


def test_events_pushed_between_two_pages_double_and_skip_nothing(acme: Account) -> None:
    push_events(acme, [event(DAY, "a", number) for number in range(6)])
    first = events_of(acme, limit=3)

    push_events(acme, [event(DAY, "new", 100), event(DAY + timedelta(days=1), "new", 101)])
    second = events_of(acme, limit=10, cursor=first.cursor)

    read = [int(each.quantity) for each in [*first.events, *second.events] if each.customer_id == "a"]
    assert sorted(read) == list(range(6))
    assert len(read) == len(set(read))


def test_a_flush_between_two_pages_doubles_and_skips_nothing(acme: Account) -> None:
    moments = [datetime(2026, 3, 9, 12, 0, 0, micro, tzinfo=UTC) for micro in (0, 1, 999_999)]
    push_events(acme, [event(moments[number % 3], "a", number, unit="x") for number in range(12)])
    before = all_pages(acme, limit=3)
    first = events_of(acme, limit=5)

    flush_usage(acme)

    second = events_of(acme, limit=10, cursor=first.cursor)
    assert [*first.events, *second.events] == [each for page in before for each in page.events]


def test_pages_continue_at_any_microsecond_of_any_year(acme: Account) -> None:
    chance = random.Random(3)
    moments = [
        datetime(year, 3, 9, 23, 59, second, micro, tzinfo=UTC)
        for year in (1, 1969, 2026, 9999)
        for second, micro in [(59, 999_999), (0, 1), *((s, chance.randrange(10**6)) for s in range(5))]
    ]
    # Three at each moment, so that every cursor ends among events of one time.
    push_events(acme, [event(moment, f"c{number}", number) for moment in moments for number in range(3)])

    read = [(each.event_time, each.customer_id) for page in all_pages(acme, limit=2) for each in page.events]

    assert len(read) == len(set(read)) == 3 * len(moments)
    assert {moment for moment, _customer in read} == set(moments)


def test_filters_are_joined(acme: Account) -> None:
    push_events(acme, [event(DAY, "a", 1), event(DAY, "b", 2), event(DAY, "a", 3, metric="seats")])
    Customer.objects.filter(customer_id="a").update(name="Alpha")

    assert {each.quantity for each in events_of(acme, usage_metric="Requests").events} == {1, 2}
    assert {each.quantity for each in events_of(acme, customers=["alpha"]).events} == {1, 3}
    assert {each.quantity for each in events_of(acme, customers=["a"], usage_metric="seats").events} == {3}
    assert events_of(acme, period="yesterday").events == []
    assert events_of(acme, start_date=DAY, end_date=DAY).summary == (
        "'Acme': 3 usage events from 2026-03-09 12:00:00 to 2026-03-09 12:00:00 UTC."
    )
    nobody = events_of(acme, customers=["gamma"])
    assert nobody.warnings == ["No customer with the ID or name 'gamma'."]
    assert nobody.summary == "'Acme' has no usage event of customer 'gamma'."


@pytest.mark.parametrize(
    "change", [{"usage_metric": "requests"}, {"customers": ["a"]}, {"period": "last_7_days"}]
)
def test_a_cursor_belongs_to_its_question(acme: Account, change: dict[str, str]) -> None:
    push_events(acme, [event(DAY, "a", number) for number in range(3)])
    cursor = events_of(acme, limit=1).cursor
    with pytest.raises(
        UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
    ):
        events_of(acme, limit=1, cursor=cursor, **change)


def test_a_cursor_belongs_to_its_account(cast: Cast, acme: Account) -> None:
    push_events(acme, [event(DAY, "a", number) for number in range(3)])
    cursor = events_of(acme, limit=1).cursor
    with (
        account_scope(cast.other_account),
        pytest.raises(
            UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
        ),
    ):
        events_of(cast.other_account, limit=1, cursor=cursor)


@pytest.mark.parametrize("cursor", ["x", "ä", "W10", "WzEsICJ4Il0", "A" * 5000])
def test_an_invalid_cursor_is_refused(acme: Account, cursor: str) -> None:
    push_events(acme, [event(DAY, "a", 1)])
    with pytest.raises(
        UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
    ):
        events_of(acme, cursor=cursor)


def test_before_any_push_it_says_how_to_push(acme: Account) -> None:
    answer = events_of(acme)
    assert (answer.events, answer.cursor) == ([], "")
    assert (
        "Create a usage source and its API key on the Connections page, and POST events to "
        "/api/usage/events. The source's page shows the request."
    ) in answer.hint


def test_an_unknown_metric_names_the_nearest(acme: Account) -> None:
    push_events(acme, [event(DAY, "a", 1)])
    with pytest.raises(UserError, match="Nearest: 'requests'"):
        events_of(acme, usage_metric="request")
