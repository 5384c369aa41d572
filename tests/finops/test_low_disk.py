"""A nearly full disk: large work waits with a message, pushes continue, and everything continues by itself
afterwards."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport
from finops.costs.tasks import run_due_imports
from finops.insights.data_health import data_health
from finops.lake.usage.compaction import CompactionResult, merge_usage
from finops.lib import disk
from finops.lib.errors import UserError
from ingestion import services as ingestion
from ingestion.models import UsageUpload
from tests.cast import Cast, signed_in
from tests.factories.imports import total, write_bill
from tests.finops.costs.test_imports import MAY
from tests.finops.lake.usage.test_compaction import flush, some_events
from tests.ingestion.push_client import create_push_client, inbox
from tests.ingestion.upload_client import csv, line, send
from tests.periodic_tasks import run_due

FULL = 2**62
"""More room than any disk has."""


def test_the_limit_is_of_the_fullest_disk_and_counts_what_is_coming(settings: Any) -> None:
    free = disk.free_bytes()
    settings.LOW_DISK_BYTES = free // 2
    assert disk.low_disk() == ""
    assert "and this needs" in disk.low_disk(free)
    settings.LOW_DISK_BYTES = FULL
    with pytest.raises(disk.LowDisk, match="Imports, uploads and merges are paused below"):
        disk.check_disk()


@pytest.mark.django_db
def test_an_import_is_refused_or_waits_and_continues_by_itself(cast: Cast, settings: Any) -> None:
    room = settings.LOW_DISK_BYTES
    person = signed_in(cast.member)
    with account_scope(cast.account):
        source = services.create_cost_source(account=cast.account, name="Bills", actor=cast.actor)
        job = services.queue_import(
            source=source, uploads=[SimpleUploadedFile("may.csv", MAY.encode())], actor=cast.actor
        )

        settings.LOW_DISK_BYTES = FULL
        run_due(run_due_imports)
        job.refresh_from_db()
        assert (job.status, job.attempts) == ("queued", 0)
        page = person.get(f"/a/{cast.account.slug}/connections/imports/{job.pk}/").content.decode()
        assert "They resume when the operator frees space." in page
        health = data_health(cast.account)
        assert "Imports and uploads wait for disk space." in health.summary
        assert "They resume when the operator frees space." in health.warnings[0]
        refusal = send_bill(person, cast, source.pk)
        assert refusal.status_code == 422
        assert "They resume when the operator frees space." in refusal.json()["errors"]["__all__"][0]
        assert CostImport.objects.count() == 1

        settings.LOW_DISK_BYTES = room
        run_due(run_due_imports)
        job.refresh_from_db()
        assert job.status == "done"
        assert total(cast.account) == Decimal("1.5")


@pytest.mark.django_db
def test_an_import_without_a_free_slot_returns_to_the_queue(
    cast: Cast, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = settings.LOW_DISK_BYTES
    with account_scope(cast.account):
        source = services.create_cost_source(account=cast.account, name="Bills", actor=cast.actor)
        job = services.queue_import(
            source=source, uploads=[SimpleUploadedFile("may.csv", MAY.encode())], actor=cast.actor
        )
        problems = iter([""])
        with monkeypatch.context() as patched:
            # Room when it begins, and none when it writes.
            patched.setattr(disk, "low_disk", lambda needed_bytes=0: next(problems, "full"))
            services.run_import(job.pk)
        job.refresh_from_db()
        assert (job.status, job.attempts, total(cast.account)) == ("queued", 0, None)
        assert services.run_import(job.pk)
        job.refresh_from_db()
        assert job.status == "done"

        settings.LOW_DISK_BYTES = FULL
        with pytest.raises(UserError, match="They resume when the operator frees space"):
            services.import_files(
                account=cast.account, source=source, paths=[write_bill(tmp_path, MAY)], actor=cast.actor
            )
        settings.LOW_DISK_BYTES = room


@pytest.mark.django_db
def test_a_usage_upload_waits_where_it_is(cast: Cast, settings: Any) -> None:
    room = settings.LOW_DISK_BYTES
    push_client = create_push_client(cast)
    job = send(push_client, csv(*[line(number) for number in range(3)]), cast)
    settings.LOW_DISK_BYTES = FULL
    assert ingestion.run_upload(job.pk) is False
    settings.LOW_DISK_BYTES = room
    assert ingestion.run_upload(job.pk)
    assert UsageUpload.objects.unscoped().get(pk=job.pk).status == "done"
    assert len(inbox()) == 3


@pytest.mark.django_db
def test_merges_wait_and_flushes_continue(cast: Cast, settings: Any) -> None:
    room = settings.LOW_DISK_BYTES
    settings.LOW_DISK_BYTES = FULL
    for number in range(8):
        flush(cast, *some_events(number))
    assert merge_usage(cast.account) == CompactionResult(0, 0)
    settings.LOW_DISK_BYTES = room
    assert merge_usage(cast.account).merges == 1


def send_bill(person: Client, cast: Cast, source_id: int) -> Any:
    return person.post(
        f"/a/{cast.account.slug}/connections/upload/",
        {"source": source_id, "uploads": SimpleUploadedFile("june.csv", MAY.encode())},
        headers={"Accept": "application/json"},
    )
