"""Settings → Usage & billing: the meter by month of receipt, stored usage, and its retention."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from ingestion import services
from ingestion.models import UsageBatch, UsageRetention
from ingestion.queries import metered_events
from ingestion.queries.billing import metered_months, month_by_source, usage_storage
from ingestion.services.retention import drop_old_usage
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import create_push_client, event
from tests.pages import get_page, text_of
from tests.waiting import is_blocking_others, threads, wait_until

PAGE = "/a/acme/settings/usage/"
SAVE = f"{PAGE}retention/"
MAY = datetime(2026, 5, 20, 12, tzinfo=UTC)


def test_an_account_without_usage_sees_zeroes_and_what_to_do(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "This month so far 0" in page
    assert "No events this month. Usage sources have keys and code snippets for pushing." in page
    assert "Stored events 0" in page
    assert (
        "Now: forever. Deleted events are removed from usage and unit cost; metering is unchanged."
    ) in page


def test_the_meter_has_twelve_months_by_receipt(cast: Cast) -> None:
    push_client = create_push_client(cast)
    for back, count in ((0, 2), (31, 3), (62, 1)):
        with clock.frozen(MAY - timedelta(days=back)):
            push_client.push(*[event()] * count)

    with clock.frozen(MAY):
        months = metered_months(cast.account)
        lines = signed_in(cast.viewer).get(f"{PAGE}?format=csv").getvalue().decode().splitlines()

    assert [row.events for row in months] == [2, 3, 1] + [0] * 9
    assert [row.is_running for row in months] == [True] + [False] * 11
    assert lines[:3] == ["Month of receipt,Events metered", "2026-05,2", "2026-04,3"]
    assert len(lines) == 13


def test_the_csv_has_every_month_that_was_metered(cast: Cast) -> None:
    with clock.frozen(MAY - timedelta(days=500)):
        create_push_client(cast).push(event())

    with clock.frozen(MAY):
        client = signed_in(cast.viewer)
        lines = client.get(f"{PAGE}?format=csv").getvalue().decode().splitlines()
        page = client.get(PAGE)

    assert lines[-1] == f"{MAY - timedelta(days=500):%Y-%m},1"
    assert len(lines) == 1 + 17
    assert "This month so far. Last 12 months below; 5 earlier in the CSV" in text_of(page)
    assert page.content.decode().count('<th scope="row" role="rowheader" class="nowrap">') == 12


def test_uncounted_recommendations_are_listed_next_to_counted_ones(cast: Cast) -> None:
    first, second = create_push_client(cast, name="One"), create_push_client(cast, name="Two")
    other = create_push_client(cast, cast.other_account)
    first.push(event(event_id="a"), event(), event(customer_id=""))
    first.push(event(event_id="a"))
    bad = first.push(event(), event())
    second.push(event())
    second.send('{"events": []}', path="?dry_run=true")
    other.push(event())
    services.void_usage_batch(
        batch=UsageBatch.objects.unscoped().get(pk=bad.headers["Usage-Batch-Id"]), actor=cast.actor
    )

    rows = {row.name: row for row in month_by_source(cast.account)}
    page = get_page(signed_in(cast.viewer), PAGE)

    assert {name: row.events for name, row in rows.items()} == {"One": 2, "Two": 1}
    assert (rows["One"].duplicates, rows["One"].rejected, rows["One"].voided) == (1, 1, 2)
    assert sum(row.events for row in rows.values()) == metered_events(cast.account, clock.today()) == 3
    assert "This month so far 3" in page
    assert "One 2 1 1 2" in page


def test_storage_says_what_is_kept_and_what_waits(cast: Cast) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(), event())
    flush_usage(cast.account)
    push_client.push(event())

    stored = usage_storage(cast.account)

    assert (stored.events, stored.waiting, stored.stuck) == (3, 1, None)
    assert stored.bytes > 0
    assert stored.last_flush_at is not None
    assert stored.waiting_since is not None
    assert usage_storage(cast.other_account).events == 0


def test_events_that_are_not_flushed_are_reported_as_waiting(cast: Cast) -> None:
    with clock.frozen(clock.now() - timedelta(hours=2)):
        create_push_client(cast).push(event())

    page = get_page(signed_in(cast.viewer), PAGE)

    assert "Events have been waiting since " in page
    assert ". They are counted, and new ones are accepted." in page
    assert "no worker has flushed it" in page


def test_a_retention_that_deletes_nothing_is_saved_at_once(cast: Cast) -> None:
    answer = signed_in(cast.admin).post(SAVE, {"months": "13"}, follow=True)

    assert "Raw usage is kept for 13 whole months and the current one." in text_of(answer)
    assert UsageRetention.objects.unscoped().get().months == 13
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="usage_retention.change")
    assert entry.detail == {"from": {"months": None}, "to": {"months": 13}}


def test_a_billing_change_that_deletes_says_how_much_and_asks_for_confirmation(cast: Cast) -> None:
    client = signed_in(cast.admin)
    with clock.frozen(MAY):
        create_push_client(cast).push(
            event(timestamp="2026-01-31"), event(timestamp="2026-02-01"), event(timestamp="2026-05-01")
        )
        flush_usage(cast.account)

        confirmation = text_of(client.post(SAVE, {"months": "3"}))
        assert not UsageRetention.objects.unscoped().exists()
        finished_page = text_of(client.post(SAVE, {"months": "3", "confirmed": "true"}, follow=True))

        assert "1 event will be permanently deleted" in confirmation
        assert "Feb 1" in confirmation
        assert "1 event is deleted tonight" in finished_page
        assert usage_storage(cast.account).events == 3
        assert drop_old_usage(account=cast.account) == 1
        assert usage_storage(cast.account).events == 2
        assert metered_events(cast.account, clock.today()) == 3


def test_an_empty_field_means_no_end(cast: Cast) -> None:
    client = signed_in(cast.admin)
    client.post(SAVE, {"months": "13"})

    assert "Now: 13 full months and the current one." in get_page(client, PAGE)
    assert "Raw usage is kept forever." in text_of(client.post(SAVE, {"months": ""}, follow=True))
    assert UsageRetention.objects.unscoped().get().months is None


@pytest.mark.parametrize("months", ["0", "-1", "241", "many", "1.5", "9" * 40])
def test_another_number_is_refused_with_what_is_allowed(cast: Cast, months: str) -> None:
    answer = signed_in(cast.admin).post(SAVE, {"months": months, "confirmed": "true"})

    assert re.search("1 to 240 months|whole number of months", text_of(answer, status=422))
    assert not UsageRetention.objects.unscoped().exists()


@pytest.mark.parametrize("name", ["member", "viewer"])
def test_only_an_admin_sets_it(cast: Cast, name: str) -> None:
    client = signed_in(cast.person(name))

    assert "Only admins and owners can change this." in get_page(client, PAGE)
    assert client.post(SAVE, {"months": "3", "confirmed": "true"}).status_code == 403
    assert not UsageRetention.objects.unscoped().exists()


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_admins_who_set_the_retention_at_once_changes_the_value_of_the_first(
    cast: Cast,
) -> None:
    def store(months: int) -> int | None:
        return services.set_usage_retention(account=cast.account, actor=cast.actor, months=months).months

    with threads(1) as submit:
        with transaction.atomic():
            store(3)
            second = submit(store, 6)
            wait_until(is_blocking_others)
        assert second.result(timeout=30) == 6

    with account_scope(cast.account):
        assert [row.months for row in UsageRetention.objects.all()] == [6]
        changes = AuditEntry.objects.filter(action="usage_retention.change").order_by("pk")
        assert [entry.detail["from"]["months"] for entry in changes] == [None, 3]


def test_the_page_asks_the_same_number_of_questions_whatever_is_there(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    create_push_client(cast, name="first").push(event())
    counts = []
    for number in (0, 6):
        for each in range(number):
            create_push_client(cast, name=f"source {each}").push(event(), event(customer_id=""))
        with CaptureQueriesContext(connection) as queries:
            client.get(PAGE)
        counts.append(len(queries))

    assert counts[0] == counts[1]
