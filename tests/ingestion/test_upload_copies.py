"""A file uploaded again: which copies count, and which are refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.models import UsageBatch, UsageUpload
from ingestion.queries import metered_events
from ingestion.services.ledger import roll_up
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import MOMENT, create_push_client, event, inbox
from tests.ingestion.upload_client import HEADER, csv, line, rejected_lines_of, run_new_upload, send
from tests.pages import get_page


def test_the_same_file_is_refused_until_what_it_brought_is_voided(cast: Cast) -> None:
    first, second = create_push_client(cast, name="One"), create_push_client(cast, name="Two")
    content = csv(line(1), line(2))
    job = run_new_upload(first, content, cast)

    for push_client in (first, second):
        with pytest.raises(UserError, match="This file was already uploaded as “"):
            send(push_client, content, cast, "other-name.csv")
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=job.batch)
    services.void_usage_batch(batch=batch, actor=cast.actor)
    assert inbox() == []
    again = run_new_upload(second, content, cast)

    assert (again.status, again.accepted) == ("done", 2)
    assert len(inbox()) == 2
    assert metered_events(cast.account, clock.today()) == 2
    assert UsageUpload.objects.unscoped().get(pk=job.pk).status == "voided"


def test_a_file_of_which_nothing_was_stored_is_taken_again(cast: Cast) -> None:
    push_client = create_push_client(cast)
    pushed = push_client.push(event(event_id="a", quantity=5))
    content = csv(f"cust-1,requests,6,{MOMENT},a", header=f"{HEADER},event_id")
    refused_at_first = run_new_upload(push_client, content, cast)
    with account_scope(cast.account):
        batch = UsageBatch.objects.get(pk=pushed.headers["Usage-Batch-Id"])
    services.void_usage_batch(batch=batch, actor=cast.actor)

    again = run_new_upload(push_client, content, cast)

    assert (refused_at_first.status, refused_at_first.stored_count) == ("done", 0)
    assert (again.status, again.stored_count) == ("done", 1)
    assert [str(row.quantity.normalize()) for row in inbox()] == ["6"]
    assert "Resumed" in get_page(signed_in(cast.viewer), push_client.page)
    with pytest.raises(UserError, match="This file was already uploaded as “"):
        send(push_client, content, cast)


def test_a_file_that_failed_in_one_source_before_anything_was_stored_may_go_to_another(cast: Cast) -> None:
    first, second = create_push_client(cast, name="One"), create_push_client(cast, name="Two")
    failed = run_new_upload(first, csv(line(1), '"never closed'), cast)

    again = run_new_upload(second, csv(line(1), '"never closed'), cast)

    assert (failed.status, again.status, again.source_id) == ("failed", "failed", second.source.pk)
    assert "Line 3" in again.error


def test_batches_that_left_the_ledger_cannot_be_voided(cast: Cast) -> None:
    push_client, content = create_push_client(cast), csv(line(1))
    run_new_upload(push_client, content, cast)
    with clock.frozen(clock.now() + timedelta(days=36)):
        roll_up()

    with pytest.raises(
        UserError, match=r"It is too old to be voided\. Send corrections \(negative quantities\) instead"
    ):
        send(push_client, content, cast)


def test_a_file_of_a_source_that_is_deleted_may_come_again_with_its_event_ids(cast: Cast) -> None:
    ids = [f"{line(number)},id-{number}" for number in range(1_200)]
    content = csv(*ids, header=f"{HEADER},event_id")
    push_client = create_push_client(cast)
    run_new_upload(push_client, content, cast)

    services.delete_usage_source(source=push_client.source, actor=cast.actor)
    again = run_new_upload(create_push_client(cast), content, cast)

    assert (again.stored_count, again.duplicates) == (1_200, 0)
    assert len(inbox()) == 1_200


def test_another_account_may_upload_the_same_file(cast: Cast) -> None:
    content = csv(line(1))
    run_new_upload(create_push_client(cast), content, cast)

    job = run_new_upload(create_push_client(cast, cast.other_account), content, cast)

    assert (job.status, job.accepted) == ("done", 1)


def test_event_ids_of_a_file_are_those_of_a_push(cast: Cast) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(event_id="a", quantity=5))
    lines = [f"cust-1,requests,5,{MOMENT},a", f"cust-1,requests,6,{MOMENT},a"]
    lines += [f"cust-1,requests,{number},{MOMENT},n-{number % 1_200}" for number in range(1_300)]

    job = run_new_upload(push_client, csv(*lines, header=f"{HEADER},event_id"), cast)

    errors = {number: error for number, error in rejected_lines_of(job).items() if number < 10}
    assert errors == {3: "event_id must not be that of an event with other content"}
    assert job.duplicates == 1
    assert job.rejected == 1 + 100  # the second thousand has 100 ids of the first, with other content
    assert len(inbox()) == 1 + 1_200
    with account_scope(cast.account):
        services.void_usage_batch(batch=UsageBatch.objects.get(pk=job.batch), actor=cast.actor)
    assert (
        push_client.push(event(event_id="n-1"), event(event_id="a", quantity=5)).headers["Usage-Duplicates"]
        == "1"
    )
