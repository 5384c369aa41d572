"""A source's page: what came in, what was refused, and voiding a batch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.lake.usage.flush import flush_usage
from finops.lake.usage.usage_segments import live_usage
from finops.lib import clock
from ingestion import services
from ingestion.models import UsageBatch
from ingestion.queries import metered_events
from ingestion.queries.activity import source_activity
from ingestion.services import voiding
from ingestion.tasks import void_due, void_requested_batches
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import create_push_client, event, inbox
from tests.pages import get_page, text_of


def batch_of(answer: Any) -> str:
    return str(answer.headers["Usage-Batch-Id"])


def stored_events(account: Account) -> int:
    """Events in answers: in segments, and waiting."""
    return sum(live_usage(account).values_list("rows", flat=True)) + len(inbox())


def test_a_new_source_says_that_nothing_came_yet(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), create_push_client(cast).page)

    assert "None in the last 35 days" in page
    assert "— no events" in page
    assert "Rejected events appear here with the reason, and in the response to the push." in page
    assert "No events received in the last 35 days" in page


def test_the_page_says_what_came_today_and_how_much_of_it_was_wrong(cast: Cast) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(), event(quantity="5"), event(customer_id=""), event())

    page = get_page(signed_in(cast.viewer), push_client.page)

    assert "Events today (UTC) 2" in page
    assert "50%: 2 of 4 rejected" in page.replace("50%", "50%")
    assert "quantity must be a number" in page
    assert "customer_id must be a non-empty string up to 255 characters" in page
    assert '"quantity": "5"' in page


def test_a_rejected_event_shows_its_batch_and_place_and_no_key(cast: Cast) -> None:
    push_client = create_push_client(cast)
    answer = push_client.push(event(), event(unit=push_client.key, quantity="x"))

    page = signed_in(cast.viewer).get(f"{push_client.page}rejected/")

    assert batch_of(answer) in page.content.decode()
    assert push_client.key not in page.content.decode()
    lines = (
        signed_in(cast.viewer).get(f"{push_client.page}rejected/?format=csv").getvalue().decode().splitlines()
    )
    assert lines[0] == "Received,Reason,Index,Event as sent,Batch ID"
    assert ",quantity must be a number,1," in lines[1]


def test_events_are_counted_in_the_hour_and_day_they_were_received(cast: Cast) -> None:
    push_client = create_push_client(cast)
    with clock.frozen(clock.now() - timedelta(hours=3)):
        push_client.push(event(), event(customer_id=""))
    with clock.frozen(clock.now() - timedelta(days=4)):
        push_client.push(event(), event(), event())
    push_client.push(event())

    hours, days = source_activity(push_client.source), source_activity(push_client.source, "day")

    assert [(bucket.stored, bucket.rejected) for bucket in hours.buckets if bucket.stored] == [(1, 1), (1, 0)]
    assert hours.buckets[-4].stored == 1
    assert len(hours.buckets) == 24
    assert len(days.buckets) == 30
    assert days.buckets[-5].stored == 3
    assert sum(bucket.stored for bucket in days.buckets) == 5
    assert hours.error_rate == pytest.approx(1 / 3)


def test_two_sources_and_two_accounts_never_mix(cast: Cast) -> None:
    first, second = create_push_client(cast, name="One"), create_push_client(cast, name="Two")
    other = create_push_client(cast, cast.other_account, name="One")
    first.push(event(customer_id="", metric="of-one"))
    second.push(event(customer_id="", metric="of-two"), event(), event())
    other.push(event(customer_id="", metric="of-other"), event())

    pages = [
        signed_in(cast.both).get(push_client.page).content.decode() for push_client in (first, second, other)
    ]

    for place, own in enumerate(("of-one", "of-two", "of-other")):
        assert [name in pages[place] for name in ("of-one", "of-two", "of-other")].count(True) == 1
        assert own in pages[place]
    assert source_activity(first.source).events_today == 0
    assert source_activity(second.source).events_today == 2


def test_a_metric_in_two_units_is_warned_of_on_its_source_alone(cast: Cast) -> None:
    mixed, tidy = create_push_client(cast, name="Mixed"), create_push_client(cast, name="Tidy")
    now = clock.now().isoformat()
    mixed.push(
        event(metric="traffic", unit="GB", timestamp=now), event(metric="traffic", unit="MB", timestamp=now)
    )
    tidy.push(event(metric="traffic", unit="GB", timestamp=now), event(metric="calls", timestamp=now))

    pages = [get_page(signed_in(cast.viewer), push_client.page) for push_client in (mixed, tidy)]

    assert "traffic has several units: GB, MB" in pages[0]
    assert "several units" not in pages[1]


@pytest.mark.parametrize("path", ["", "batches/", "rejected/", "batches/?format=csv", "rejected/?format=csv"])
def test_a_stranger_finds_nothing(cast: Cast, path: str) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(), event(customer_id=""))

    assert signed_in(cast.stranger).get(push_client.page + path).status_code == 404
    elsewhere = push_client.page.replace("/a/acme/", "/a/elsewhere/")
    assert signed_in(cast.stranger).get(elsewhere + path).status_code == 404


@pytest.mark.parametrize("flushed", [False, True], ids=["waiting", "in segments"])
def test_a_voided_batch_leaves_answers_and_meter_and_stays_in_the_list(cast: Cast, flushed: bool) -> None:
    push_client = create_push_client(cast)
    bad, good = push_client.push(event(), event(customer_id="b")), push_client.push(event())
    if flushed:
        flush_usage(cast.account)
    before = metered_events(cast.account, clock.today())

    answer = signed_in(cast.member).post(
        f"{push_client.page}batches/void/", {"batch": batch_of(bad)}, follow=True
    )

    assert "Batch voided. Its events are no longer counted or metered." in text_of(answer)
    assert "Voided" in text_of(answer)
    assert before == 3
    assert metered_events(cast.account, clock.today()) == 1
    assert stored_events(cast.account) == 1
    row = UsageBatch.objects.unscoped().get(pk=batch_of(bad))
    assert row.voided_by_label == cast.actor.label
    assert UsageBatch.objects.unscoped().get(pk=batch_of(good)).voided_at is None
    with account_scope(cast.account):
        assert AuditEntry.objects.filter(action="usage_batch.void").count() == 1


def test_voiding_twice_is_voiding_once(cast: Cast) -> None:
    push_client = create_push_client(cast)
    batch = UsageBatch.objects.unscoped().get(pk=batch_of(push_client.push(event())))

    first = services.void_usage_batch(batch=batch, actor=cast.actor).voided_at
    second = services.void_usage_batch(batch=batch, actor=cast.actor).voided_at

    assert first == second
    with account_scope(cast.account):
        assert AuditEntry.objects.filter(action="usage_batch.void").count() == 1


def test_the_events_of_a_voided_batch_may_be_sent_again_under_their_ids(cast: Cast) -> None:
    push_client = create_push_client(cast)
    usage_event = event(event_id="e-1")
    batch = UsageBatch.objects.unscoped().get(pk=batch_of(push_client.push(usage_event)))
    services.void_usage_batch(batch=batch, actor=cast.actor)

    answer = push_client.push(usage_event)

    assert answer.headers["Usage-Duplicates"] == "0"
    assert stored_events(cast.account) == 1


def test_a_viewer_sees_no_button_and_gets_403(cast: Cast) -> None:
    push_client = create_push_client(cast)
    answer = push_client.push(event())
    client = signed_in(cast.viewer)

    page = client.get(push_client.page).content.decode()

    assert batch_of(answer) in page
    assert "batches/void/" not in page
    assert client.post(f"{push_client.page}batches/void/", {"batch": batch_of(answer)}).status_code == 403
    assert stored_events(cast.account) == 1


@pytest.mark.parametrize("batch_id", ["", "nonsense", "00000000-0000-4000-8000-000000000000"])
def test_an_unknown_batch_is_not_found(cast: Cast, batch_id: str) -> None:
    push_client = create_push_client(cast)

    assert (
        signed_in(cast.member).post(f"{push_client.page}batches/void/", {"batch": batch_id}).status_code
        == 404
    )


def test_the_batch_of_another_source_or_account_is_not_found(cast: Cast) -> None:
    own_client, sibling = create_push_client(cast, name="Mine"), create_push_client(cast, name="Sibling")
    other_client = create_push_client(cast, cast.other_account)
    for push_client in (sibling, other_client):
        batch = batch_of(push_client.push(event()))
        assert (
            signed_in(cast.member).post(f"{own_client.page}batches/void/", {"batch": batch}).status_code
            == 404
        )
    assert not UsageBatch.objects.unscoped().filter(void_asked_at__isnull=False).exists()


def test_a_large_one_is_voided_by_a_worker_and_says_so_until_then(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voiding, "AT_ONCE", 0)
    push_client = create_push_client(cast)
    batch = batch_of(push_client.push(event(), event()))
    flush_usage(cast.account)
    client = signed_in(cast.member)

    answer = text_of(client.post(f"{push_client.page}batches/void/", {"batch": batch}, follow=True))

    assert "Voiding" in answer
    assert metered_events(cast.account, clock.today()) == 2
    assert stored_events(cast.account) == 2
    void_due()
    void_requested_batches(cast.account.pk)
    assert metered_events(cast.account, clock.today()) == 0
    assert stored_events(cast.account) == 0
    assert "Voiding" not in get_page(client, push_client.page)


def test_batches_sort_search_and_export(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.viewer)
    small, large = batch_of(push_client.push(event())), batch_of(push_client.push(event(), event()))

    by_events = client.get(f"{push_client.page}batches/?sort=-stored").content.decode()
    html = client.get(f"{push_client.page}batches/?q={small}").content.decode()
    lines = client.get(f"{push_client.page}batches/?format=csv").getvalue().decode().splitlines()

    assert by_events.index(large) < by_events.index(small)
    assert small in html
    assert large not in html
    assert len(lines) == 3
    assert lines[0].startswith("Received,State,Events,Rejected,Duplicates")


def test_the_page_asks_the_same_number_of_questions_whatever_came(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    push_client.push(event(), event(customer_id=""))
    counts = []
    for pushes in (0, 8):
        for _ in range(pushes):
            push_client.push(event(), event(customer_id=""))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(push_client.page)
        counts.append(len(queries))

    assert counts[0] == counts[1]
