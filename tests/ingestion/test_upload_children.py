"""Uploads in child processes: the failure of a file fails only its own upload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finops.lib import child_process, clock
from finops.lib.child_process import ChildOutcome, ChildResult
from ingestion.models import UsageUpload
from ingestion.services import uploads
from ingestion.tasks import run_upload
from tests.cast import Cast
from tests.ingestion.push_client import create_push_client, inbox
from tests.ingestion.upload_client import csv, line, send

pytestmark = pytest.mark.django_db(transaction=True)
Endings = Callable[..., list[str]]


@pytest.fixture
def endings(monkeypatch: pytest.MonkeyPatch) -> Endings:
    """How children end from now on, the last of them for ever: without any process. The names of those that were begun."""

    def run_child_as(*each: ChildResult | Callable[[], ChildResult]) -> list[str]:
        names: list[str] = []
        remaining = list(each)

        def run(*_: Any, name: str, **__: Any) -> ChildResult:
            names.append(name)
            ending = remaining.pop(0) if len(remaining) > 1 else remaining[0]
            return ending if isinstance(ending, ChildResult) else ending()

        monkeypatch.setattr(child_process, "run", run)
        return names

    return run_child_as


def run_and_reload(job: UsageUpload) -> UsageUpload:
    run_upload(job.account_id, job.pk)
    return UsageUpload.objects.unscoped().get(pk=job.pk)


DEATH = ChildResult(ChildOutcome.DIED, -11, 0)


def test_an_upload_is_stored_in_a_child(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "_store_or_fail", lambda _job: 1 / 0)  # which only this process sees
    job = run_and_reload(send(create_push_client(cast), csv(line(1), line(2)), cast))
    assert (job.status, job.error, job.stored_count, len(inbox())) == ("done", "", 2, 2)


def test_an_upload_whose_child_process_dies_is_retried_twice_and_then_fails_with_a_message(
    cast: Cast, endings: Endings
) -> None:
    names = endings(DEATH)
    job = run_and_reload(send(create_push_client(cast), csv(line(1)), cast))
    assert (job.status, names) == ("failed", [f"usage upload {job.pk}"] * 3)
    assert job.error == (
        "The process of the upload ended unexpectedly three times, the last time after event 0 "
        "of the file (signal 11)."
    )
    assert run_and_reload(job).status == "failed"
    assert len(names) == 3


def test_an_upload_whose_child_process_dies_between_chunks_continues(cast: Cast, endings: Endings) -> None:
    job = send(create_push_client(cast), csv(line(1)), cast)

    def store_and_die() -> ChildResult:
        row = UsageUpload.objects.unscoped().filter(pk=job.pk)
        row.update(rows=row.get().rows + 1)
        return DEATH

    names = endings(*[store_and_die] * 4, ChildResult(ChildOutcome.DONE, 0, 0))
    assert run_and_reload(job).status == "running"
    assert len(names) == 5


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        (
            ChildResult(ChildOutcome.MEMORY, -9, 0),
            "failed",
            "The upload was stopped after event 0 of the file: it used more than",
        ),
        (
            ChildResult(ChildOutcome.TIME, -9, 0),
            "failed",
            "The upload took longer than 6 hours and was stopped.",
        ),
        (ChildResult(ChildOutcome.CANCELED, -9, 0), "canceled", ""),
        (DEATH, "canceled", ""),
    ],
)
def test_an_upload_whose_child_takes_too_much_or_too_long_or_is_canceled_ends_at_once(
    cast: Cast, endings: Endings, ending: ChildResult, status: str, error: str
) -> None:
    job = send(create_push_client(cast), csv(line(1)), cast)

    def cancel_too() -> ChildResult:
        if status == "canceled":
            UsageUpload.objects.unscoped().update(cancel_requested_at=clock.now())
        return ending

    names = endings(cancel_too)
    job = run_and_reload(job)
    assert (job.status, job.error.startswith(error), len(names)) == (status, True, 1)


def test_an_upload_over_the_memory_limit_of_its_child_process_says_so(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_job: UsageUpload) -> None:
        raise MemoryError

    monkeypatch.setattr(uploads, "_store_file", refuse)
    job = send(create_push_client(cast), csv(line(1)), cast)
    uploads.run_upload(job.pk)
    job.refresh_from_db()
    assert job.error.startswith("The upload was stopped after event 0 of the file: it used more than")
