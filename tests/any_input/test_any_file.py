"""Whatever a file of usage or cost holds, its upload ends: stored, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from hypothesis import HealthCheck, given, settings

from accounts.scoping import account_scope
from finops.costs import services as costs
from finops.costs.models import CostImport, CostSource
from finops.lib.errors import UserError
from ingestion import services as usage
from ingestion.models import UsageUpload
from tests.any_input import inputs
from tests.cast import Cast
from tests.examples import SOAK
from tests.ingestion.push_client import create_push_client

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

USAGE, FOCUS = inputs.SAMPLES[:2]
few = settings(
    max_examples=5_000 if SOAK else 30,
    deadline=None,
    database=None,
    derandomize=not SOAK,
    suppress_health_check=list(HealthCheck),
)


def upload_usage(cast: Cast, source: Any, file: SimpleUploadedFile) -> bool:
    job = usage.queue_upload(source=source, upload=file, actor=cast.actor)
    usage.run_upload(job.pk)
    row = UsageUpload.objects.unscoped().get(pk=job.pk)
    return not row.is_unfinished and (row.status == UsageUpload.Status.DONE or bool(row.error))


def import_cost(cast: Cast, source: Any, file: SimpleUploadedFile) -> bool:
    job = costs.queue_import(source=source, uploads=[file], actor=cast.actor)
    costs.run_import(job.pk)
    row = CostImport.objects.unscoped().get(pk=job.pk)
    return row.status in (CostImport.Status.DONE, CostImport.Status.WAITING) or bool(row.error)


@pytest.mark.parametrize(
    ("sample", "run"), [(USAGE, upload_usage), (FOCUS, import_cost)], ids=["usage", "cost"]
)
def test_any_file_is_stored_or_refused_with_a_reason(
    cast: Cast,
    faults: list[str],
    sample: bytes,
    run: Callable[[Cast, Any, SimpleUploadedFile], bool],
    record_property: Callable[[str, object], None],
) -> None:
    count = 0
    with account_scope(cast.account):
        sources: dict[Any, Any] = {
            upload_usage: create_push_client(cast).source,
            import_cost: CostSource.objects.create(account=cast.account, name="Bill"),
        }

    @few
    @given(inputs.files([sample]))
    def check(content: bytes) -> None:
        nonlocal count
        count += 1
        faults.clear()
        with transaction.atomic():
            try:
                ended = run(cast, sources[run], SimpleUploadedFile("file.csv", content))
            except UserError as refusal:
                ended = bool(refusal.message)
            transaction.set_rollback(True)
        assert ended, content
        assert not faults, f"{content!r}\n{faults[-1]}"

    check()
    record_property("inputs", count)
