"""Ends during pushes: of a source, of an account, and of a key repeatedly."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection, transaction

from accounts.models import AuditEntry
from finops.lake.models import LakeSegment
from finops.lake.storage import locks
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.csvfile import Chunk, chunks
from ingestion.models import UsageBatch, UsageSource, UsageUpload
from ingestion.queries.billing import metered_events
from ingestion.services import RevokedKeyError, accept_events
from ingestion.services.chunks import SupersededAttemptError, store_chunk
from ingestion.services.keys import end_pushes, lock_active_key
from ingestion.services.uploads import _attempt
from tests.cast import Cast
from tests.ingestion.push_client import (
    MOMENT,
    PushClient,
    batch_of,
    create_push_client,
    credential_of,
    event,
    inbox,
)
from tests.waiting import is_blocking_others, threads, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_source_that_is_deleted_waits_for_the_push_that_is_storing_and_takes_it_along(cast: Cast) -> None:
    push_client, other = create_push_client(cast), create_push_client(cast, name="Other")
    other.push(event(), event())
    push_client.push(event())
    flush_usage(cast.account)

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential_of(push_client), batch=batch_of(event()))
            ending = submit(services.delete_usage_source, source=push_client.source, actor=cast.actor)
            wait_until(is_blocking_others)
        ending.result(timeout=30)

    live = LakeSegment.objects.unscoped().filter(retired_at=None)
    assert inbox() == []
    assert [segment.rows for segment in live] == [2]
    assert push_client.push(event()).status_code == 401
    assert metered_events(cast.account, clock.today()) == 4, "what was brought stays on the meter"
    assert AuditEntry.objects.unscoped().filter(action="usage_source.delete").count() == 1


def test_a_push_that_comes_while_its_source_is_being_deleted_waits_and_is_refused(cast: Cast) -> None:
    push_client = create_push_client(cast)
    credential = credential_of(push_client)

    with threads(1) as submit:
        with transaction.atomic():
            services.delete_usage_source(source=push_client.source, actor=cast.actor)
            coming = submit(accept_events, credential=credential, batch=batch_of(event()))
            wait_until(is_blocking_others)
        with pytest.raises(RevokedKeyError):
            coming.result(timeout=30)

    assert inbox() == []
    assert metered_events(cast.account, clock.today()) == 0


def test_a_source_that_is_deleted_takes_the_upload_that_runs_and_its_file_along(cast: Cast) -> None:
    push_client = create_push_client(cast)
    lines = "".join(f"c-{number},requests,1,{MOMENT}\n" for number in range(3_000))
    file = SimpleUploadedFile("past.csv", f"customer_id,metric,quantity,timestamp\n{lines}".encode())
    queued = services.queue_upload(source=push_client.source, upload=file, actor=cast.actor)
    UsageUpload.objects.unscoped().update(status="running")
    job = UsageUpload.objects.unscoped().select_related("account", "source").get()

    with threads(1) as submit:
        with transaction.atomic(), Path(queued.path).open("rb") as content:
            file_chunks = chunks(content)
            store_chunk(job=job, chunk=next(file_chunks))
            ending = submit(services.delete_usage_source, source=push_client.source, actor=cast.actor)
            wait_until(is_blocking_others)
        ending.result(timeout=30)

    with pytest.raises(SupersededAttemptError):
        store_chunk(job=job, chunk=Chunk(rows=1))

    assert inbox() == []
    assert not Path(queued.path).exists()
    assert metered_events(cast.account, clock.today()) == 1_000, "what was brought stays on the meter"
    assert not services.run_upload(queued.pk)


def test_a_worker_whose_upload_is_deleted_before_it_opens_the_file_stops_quietly(cast: Cast) -> None:
    push_client = create_push_client(cast)
    file = SimpleUploadedFile("past.csv", f"customer_id,metric,quantity,timestamp\nc,m,1,{MOMENT}\n".encode())
    job = services.queue_upload(source=push_client.source, upload=file, actor=cast.actor)
    job.status, job.attempts = "running", 1
    job.save()

    services.delete_usage_source(source=push_client.source, actor=cast.actor)
    _attempt(job, in_child=False)

    assert inbox() == []


def test_an_account_that_is_deleted_waits_for_the_push_that_is_storing_and_leaves_nothing(cast: Cast) -> None:
    """The push has its key and wants a customer: had the deletion that customer already, both would wait."""
    push_client = create_push_client(cast)
    push_client.push(event(customer_name="A"))
    credential = credential_of(push_client)

    with threads(1) as submit:
        with transaction.atomic():
            accept_events(credential=credential, batch=batch_of(event(metric="new")))
            ending = submit(cast.account.delete)
            wait_until(is_blocking_others)
            accept_events(credential=credential, batch=batch_of(event(customer_name="B")))
        ending.result(timeout=30)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM lake_usageinbox WHERE account_id = %s", [credential.account.pk])
        assert cursor.fetchone() == (0,)


def end_key(what: str, push_client: PushClient, cast: Cast) -> None:
    if what == "account":
        cast.account.delete()
    else:
        services.delete_usage_source(source=push_client.source, actor=cast.actor)


@pytest.mark.parametrize("what", ["account", "source"])
def test_a_deletion_waits_for_the_void_of_its_batch(cast: Cast, what: str) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(), event())
    batch = UsageBatch.objects.unscoped().get()

    with threads(1) as submit:
        with transaction.atomic():
            locks.lock_usage(cast.account)  # a void that is about to take its batch's row
            ending = submit(end_key, what, push_client, cast)
            wait_until(is_blocking_others)
            services.void_usage_batch(batch=batch, actor=cast.actor)
        ending.result(timeout=30)

    assert inbox() == []
    assert AuditEntry.objects.unscoped().filter(action="usage_batch.void").count() == (what == "source")


@pytest.mark.parametrize("what", ["account", "source"])
def test_a_void_waits_for_the_end_of_what_its_batch_is_of(cast: Cast, what: str) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(), event())
    batch = UsageBatch.objects.unscoped().select_related("account").get()

    with threads(1) as submit:
        with transaction.atomic():
            end_pushes(account=cast.account)  # a deletion that is about to take the batches' rows
            voiding = submit(services.void_usage_batch, batch=batch, actor=cast.actor)
            wait_until(is_blocking_others)
            end_key(what, push_client, cast)
        if what == "source":
            assert voiding.result(timeout=30).voided_at
        else:
            with pytest.raises(UserError, match="This batch was deleted with its account"):
                voiding.result(timeout=30)

    assert inbox() == []


def test_a_regeneration_and_the_deletion_of_its_source_take_turns(cast: Cast) -> None:
    push_client = create_push_client(cast)

    with threads(1) as submit:
        with transaction.atomic():
            UsageSource.objects.unscoped().select_for_update(no_key=True).get()  # as a regeneration begins
            ending = submit(end_key, "source", push_client, cast)
            wait_until(is_blocking_others)
            services.regenerate_usage_key(source=push_client.source, actor=cast.actor)
        ending.result(timeout=30)

    assert not UsageSource.objects.unscoped().exists()


def test_a_regeneration_that_waits_for_a_push_does_not_keep_the_push_from_its_source(cast: Cast) -> None:
    """A regeneration holds the source and wants the key; the push has the key, and its batch refers to the source."""
    push_client = create_push_client(cast)
    credential = credential_of(push_client)

    with threads(1) as submit:
        with transaction.atomic():
            assert lock_active_key(credential.key_id)
            regenerating = submit(services.regenerate_usage_key, source=push_client.source, actor=cast.actor)
            wait_until(is_blocking_others)
            accept_events(credential=credential, batch=batch_of(event(), event(metric="", customer_id="b")))
        _key, plaintext = regenerating.result(timeout=30)

    assert push_client.push(event()).status_code == 401
    assert PushClient(push_client.source, plaintext).push(event()).status_code == 200
    assert len(inbox()) == 2
