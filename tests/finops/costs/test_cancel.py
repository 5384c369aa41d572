"""An import that is canceled, takes too long, or is one too many of its account."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.costs.services import import_reading
from finops.lake.models import LakeSegment
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.factories.imports import import_bill, queue_import, total, write_bill
from tests.finops.costs.test_imports import MAY, MAY_AND_JUNE, MAY_RESTATED


@pytest.fixture(autouse=True)
def at_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of two lines looks as often as one of two million."""
    monkeypatch.setattr(import_reading, "UPDATE_SECONDS", 0)


def queue_bill(cast: Cast, source: CostSource, text: str = MAY_AND_JUNE) -> CostImport:
    return queue_import(cast, source, text.encode())


def test_a_running_import_stops_between_two_batches_and_what_was_there_counts(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_bill(cast, source, write_bill(tmp_path, MAY))
    job = queue_bill(cast, source, MAY_RESTATED + MAY_AND_JUNE.splitlines()[-1])
    stages = []

    def cancel(running: CostImport) -> None:
        stages.append(running.stage)
        if running.stage.startswith("writing"):
            services.cancel_import(job=running, actor=cast.actor)

    services.run_import(job.pk, on_progress=cancel)

    job.refresh_from_db()
    assert (job.status, job.error, job.finished_at is not None) == ("canceled", "", True)
    assert stages[-1] == "writing 2026-05"
    assert total(cast.account) == Decimal("1.5")
    assert not Path(job.files[0]["path"]).exists()
    assert LakeSegment.objects.count() == 1
    assert services.run_import(job.pk) is False
    entry = AuditEntry.objects.get(action="cost_import.cancel")
    assert (entry.target, entry.actor_label) == (f"{source.name}: focus.csv", cast.actor.label)


def test_a_waiting_import_is_canceled_at_once_and_the_next_one_starts(
    cast: Cast, source: CostSource, django_capture_on_commit_callbacks: Any
) -> None:
    first, second = queue_bill(cast, source), queue_bill(cast, source, MAY)
    assert services.run_import(second.pk) is False

    with django_capture_on_commit_callbacks(execute=True):
        services.cancel_import(job=first, actor=cast.actor)

    first.refresh_from_db()
    assert (first.status, Path(first.files[0]["path"]).exists()) == ("canceled", False)
    assert services.run_import(second.pk) is True
    assert total(cast.account) == Decimal("1.5")


def test_an_import_whose_worker_died_is_canceled_by_the_next(cast: Cast, source: CostSource) -> None:
    job = queue_bill(cast, source)
    CostImport.objects.filter(pk=job.pk).update(status="running", attempts=1)
    for _ in range(2):
        assert services.cancel_import(job=job, actor=cast.actor).status == "running"

    services.run_import(job.pk)

    job.refresh_from_db()
    assert (job.status, total(cast.account)) == ("canceled", None)
    with pytest.raises(UserError, match="This import is canceled and can no longer be canceled"):
        services.cancel_import(job=job, actor=cast.actor)


def test_an_import_over_its_time_limit_fails_with_instructions(
    cast: Cast, source: CostSource, settings: Any
) -> None:
    settings.JOB_MAX_SECONDS = 0
    job = queue_bill(cast, source)

    services.run_import(job.pk)

    job.refresh_from_db()
    assert (job.status, total(cast.account)) == ("failed", None)
    assert job.error.startswith("The import took longer than 0 minutes and was stopped. Split the file")


def test_more_than_may_wait_are_refused_to_that_account_alone(
    cast: Cast, source: CostSource, settings: Any
) -> None:
    settings.JOBS_PER_ACCOUNT = 2
    job, _second = queue_bill(cast, source), queue_bill(cast, source, MAY)
    client = signed_in(cast.member)
    form = {"source": source.pk, "uploads": SimpleUploadedFile("focus.csv", MAY.encode())}

    assert (
        "This account has 2 imports waiting"
        in client.get(f"/a/{cast.account.slug}/connections/upload/").content.decode()
    )
    refusal = client.post(f"/a/{cast.account.slug}/connections/upload/", form)

    assert refusal.status_code == 422
    assert "This account has 2 imports waiting or running" in refusal.content.decode()
    assert "cancel one on its page" in refusal.content.decode()
    assert CostImport.objects.count() == 2
    queue_bill(cast, _source_of(cast.other_account, cast))
    client.post(f"/a/{cast.account.slug}/connections/imports/{job.pk}/cancel/")
    assert queue_bill(cast, source, MAY_RESTATED).status == "queued"


def _source_of(account: Account, cast: Cast) -> CostSource:
    with account_scope(account):
        return services.create_cost_source(account=account, name="Theirs", actor=cast.actor)


def test_the_page_of_an_import_has_a_cancel_button_for_members(cast: Cast, source: CostSource) -> None:
    job = queue_bill(cast, source)
    CostImport.objects.filter(pk=job.pk).update(status="running", attempts=1)
    page = f"/a/{cast.account.slug}/connections/imports/{job.pk}/"

    assert "Cancel import" not in signed_in(cast.viewer).get(page).content.decode()
    member = signed_in(cast.member)
    assert "Cancel import" in member.get(page).content.decode()
    after = member.post(f"{page}cancel/", follow=True).content.decode()
    assert "Canceling" in after
    assert "Cancel import" not in after
    services.run_import(job.pk)
    assert "Nothing was imported" in member.get(page).content.decode()
