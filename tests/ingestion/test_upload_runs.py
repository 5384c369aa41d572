"""Runs of an upload: their task, their files, and what is there after one that failed or was killed."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.lib import clock
from ingestion import services
from ingestion.csvfile import chunks
from ingestion.models import UsageUpload
from ingestion.queries import metered_events
from ingestion.services import upload_files
from ingestion.services.chunks import store_chunk
from ingestion.services.uploads import MAX_ATTEMPTS
from ingestion.tasks import run_upload
from tests.cast import Cast
from tests.ingestion.killed_upload import STEPS
from tests.ingestion.push_client import MOMENT, create_push_client, inbox
from tests.ingestion.upload_client import HEADER, csv, line, rejected_lines_of, run_new_upload, send
from tests.killed_workers import killed_workers


def test_a_task_of_another_account_leaves_it_alone(cast: Cast) -> None:
    job = send(create_push_client(cast), csv(line(1)), cast)

    run_upload(cast.other_account.pk, job.pk)
    assert inbox() == []
    run_upload(cast.account.pk, job.pk)
    assert len(inbox()) == 1


def test_the_file_goes_when_it_is_done_and_forgotten_ones_after_a_day(
    cast: Cast, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        job = run_new_upload(create_push_client(cast), csv(line(1)), cast)
    assert not Path(job.path).exists()
    stray_file = upload_files.folder() / "left"
    stray_file.write_bytes(b"")
    assert upload_files.remove_orphans() == 0
    os.utime(stray_file, (0, 0))
    assert upload_files.remove_orphans() == 1


def test_a_file_is_read_by_chunks_and_from_any_line_on() -> None:
    content = csv(*[line(number) for number in range(2_345)])
    whole = [len(chunk.events) for chunk in chunks(io.BytesIO(content))]
    later_chunks = list(chunks(io.BytesIO(content), skip=1_999))

    assert whole == [1_000, 1_000, 345]
    assert (later_chunks[0].lines[0], sum(chunk.rows for chunk in later_chunks)) == (2_001, 346)
    assert later_chunks[-1].bytes_done == len(content)


def test_an_upload_that_failed_continues_where_it_stopped(cast: Cast) -> None:
    push_client, content = create_push_client(cast), csv(*[line(number) for number in range(2_500)])
    job = send(push_client, content, cast)
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(status="running")
    running = UsageUpload.objects.unscoped().select_related("account", "source").get(pk=job.pk)
    with Path(job.path).open("rb") as file:
        store_chunk(job=running, chunk=next(chunks(file)))
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(attempts=MAX_ATTEMPTS)
    services.run_upload(job.pk)
    failed = UsageUpload.objects.unscoped().get(pk=job.pk)
    assert failed.status == "failed"
    assert "1,000 events before that are counted" in failed.error

    again = run_new_upload(push_client, content, cast)

    assert again.pk == job.pk
    assert (again.status, again.accepted) == ("done", 2_500)
    assert sorted(row.position for row in inbox()) == list(range(2, 2_502))
    with account_scope(cast.account):
        assert [
            row.action for row in AuditEntry.objects.filter(action__startswith="usage_upload").order_by("pk")
        ] == [
            "usage_upload.queue",
            "usage_upload.fail",
            "usage_upload.resume",
            "usage_upload.finish",
        ]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_each_event_is_there_once(cast: Cast) -> None:
    lines = [
        f"cust-{n},requests,{'x' if n % 400 == 7 else n},{MOMENT},{f'e-{n}' if n % 2 else ''}"
        for n in range(3_500)
    ]
    job = send(create_push_client(cast), csv(*lines, header=f"{HEADER},event_id"), cast)
    steps: list[str] = []

    with killed_workers("tests.ingestion.killed_upload:run_upload") as workers:
        for step in range(7):
            steps.append(workers.killed_at(step, job.pk))
            now = UsageUpload.objects.unscoped().get(pk=job.pk)
            rows = inbox()
            assert len(rows) == len({row.position for row in rows}) == now.accepted
            assert metered_events(cast.account, clock.today()) == now.accepted
        while steps[-1]:
            steps.append(workers.killed_at(1_000, job.pk))

    done = UsageUpload.objects.unscoped().get(pk=job.pk)
    assert {f"after {name}" for name in STEPS} <= set(steps)
    assert (done.status, done.rows, done.rejected, done.accepted) == ("done", 3_500, 9, 3_491)
    assert sorted(row.position for row in inbox()) == [n + 2 for n in range(3_500) if n % 400 != 7]
    assert sorted(rejected_lines_of(done)) == [n + 2 for n in range(3_500) if n % 400 == 7]
