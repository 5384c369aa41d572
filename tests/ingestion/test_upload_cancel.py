"""An upload of usage that is canceled, takes too long, or is one too many of its account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.lib.errors import UserError
from ingestion import services
from ingestion.models import UsageUpload
from ingestion.services import chunks, uploads
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import create_push_client, event, inbox
from tests.ingestion.upload_client import csv, line, run_new_upload, send
from tests.pages import get_page, text_of

CONTENT = csv(*[line(number) for number in range(2_500)])


def reload(job: UsageUpload) -> UsageUpload:
    return UsageUpload.objects.unscoped().select_related("account", "source").get(pk=job.pk)


def cancel(job: UsageUpload, cast: Cast) -> None:
    with account_scope(cast.account):
        services.cancel_upload(job=job, actor=cast.actor)


def test_a_running_upload_stops_after_a_chunk_and_the_same_file_continues_there(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_client, store = create_push_client(cast), chunks.store_chunk
    job = send(push_client, CONTENT, cast)

    def then_cancel(**options: Any) -> None:
        store(**options)
        cancel(job, cast)

    with monkeypatch.context() as patched:
        patched.setattr(uploads, "store_chunk", then_cancel)
        services.run_upload(job.pk)

    stopped = reload(job)
    assert (stopped.status, stopped.rows, len(inbox())) == ("canceled", 1_000, 1_000)
    page = get_page(signed_in(cast.member), f"/a/{cast.account.slug}/connections/usage/uploads/{job.pk}/")
    assert "Canceled 1,000 events stored" in page
    assert "Stored events are counted. Upload the same file again to continue, or void them." in page
    outcome = run_new_upload(push_client, CONTENT, cast)
    assert (outcome.pk, outcome.status, outcome.accepted, len(inbox())) == (job.pk, "done", 2_500, 2_500)
    with account_scope(cast.account):
        assert AuditEntry.objects.filter(action="usage_upload.cancel").count() == 1


def test_a_waiting_upload_is_canceled_at_once(cast: Cast, django_capture_on_commit_callbacks: Any) -> None:
    job = send(create_push_client(cast), CONTENT, cast)
    page = f"/a/{cast.account.slug}/connections/usage/uploads/{job.pk}/"

    assert "Cancel upload" not in get_page(signed_in(cast.viewer), page)
    member = signed_in(cast.member)
    assert "Cancel upload" in get_page(member, page)
    with django_capture_on_commit_callbacks(execute=True):
        assert "Canceled 0 events stored" in text_of(member.post(f"{page}cancel/", follow=True))

    assert not Path(job.path).exists()
    assert services.run_upload(job.pk) is False
    assert "This upload is canceled and cannot be canceled." in text_of(
        member.post(f"{page}cancel/", follow=True)
    )


def test_an_upload_whose_worker_died_is_canceled_by_the_next(cast: Cast) -> None:
    job = send(create_push_client(cast), CONTENT, cast)
    UsageUpload.objects.unscoped().filter(pk=job.pk).update(status="running", attempts=1)
    cancel(job, cast)
    assert reload(job).status == "running"

    services.run_upload(job.pk)

    assert (reload(job).status, inbox()) == ("canceled", [])


def test_an_upload_over_its_time_limit_fails_with_instructions(cast: Cast, settings: Any) -> None:
    settings.JOB_MAX_SECONDS = 0

    job = run_new_upload(create_push_client(cast), CONTENT, cast)

    assert job.status == "failed"
    assert job.error.startswith("The upload took longer than 0 minutes and was stopped. Split the file")


def test_more_than_may_wait_are_refused_and_pushes_are_taken(cast: Cast, settings: Any) -> None:
    settings.JOBS_PER_ACCOUNT = 1
    push_client = create_push_client(cast)
    first = send(push_client, CONTENT, cast)

    with pytest.raises(UserError, match="This account has 1 upload waiting or running"):
        send(push_client, csv(line(7)), cast)

    assert push_client.push(event()).status_code == 200
    cancel(first, cast)
    assert send(push_client, csv(line(7)), cast).status == "queued"
