"""An operator retries a failed import and cancels a push of cost or a delivery: by services, with a confirmation,
in both logs."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts.models import AuditEntry, User
from accounts.scoping import account_scope
from finops.alerts.models import AlertDelivery
from finops.alerts.services.deliveries import cancel_delivery, send_delivery
from finops.connections.models import CostPush
from finops.connections.services import push_folders
from finops.connections.services.pushes import PushConflict, cancel_cost_push
from finops.costs.models import CostImport, CostSource
from finops.costs.services import create_cost_source, retry_import, run_import
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast, reauthenticated
from tests.factories.imports import import_bill, queue_import, total, write_bill
from tests.finops.connections.pushes.push_steps import CostPushClient, create_cost_client
from tests.isolation.rows import MAKERS

BILL = (
    "BillingPeriodStart,ChargePeriodStart,ProviderName,ServiceName,ChargeCategory,BillingCurrency,BilledCost,EffectiveCost\n"
    "2026-05-01T00:00:00Z,2026-05-03T00:00:00Z,AWS,S3,Usage,USD,1.50,1.25\n"
)


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


@pytest.fixture
def failed_import(cast: Cast, source: CostSource, settings: Any) -> CostImport:
    """An upload that took too long; the next may take its time."""
    job = queue_import(cast, source, BILL.encode())
    limit, settings.JOB_MAX_SECONDS = settings.JOB_MAX_SECONDS, 0
    run_import(job.pk)
    settings.JOB_MAX_SECONDS = limit
    job.refresh_from_db()
    assert job.status == "failed"
    return job


def retry_url(job: CostImport) -> str:
    return f"/admin/costs/costimport/{job.pk}/actions/retry/"


def test_a_failed_import_is_retried_with_the_same_files(
    cast: Cast, operator_client: Client, failed_import: CostImport
) -> None:
    assert (
        "Retry import"
        in operator_client.get(f"/admin/costs/costimport/{failed_import.pk}/change/").content.decode()
    )
    operator_client.post(retry_url(failed_import))
    new = CostImport.objects.unscoped().exclude(pk=failed_import.pk).get()
    path = Path(new.files[0]["path"])
    run_import(new.pk)

    new.refresh_from_db()
    assert (new.status, new.source_id, new.rows, path.exists()) == ("done", failed_import.source_id, 1, False)
    assert total(cast.account) == Decimal("1.5")
    queued = AuditEntry.objects.unscoped().filter(action="cost_import.queue").order_by("-pk")[0]
    assert (queued.account, queued.actor_label) == (cast.account, "Operator operator@example.com")
    assert LogEntry.objects.get().change_message == f"Retry import: Import {new.pk} is queued."
    assert operator_client.post(retry_url(failed_import)).status_code == 404


def test_a_delivery_that_cannot_be_retried_says_why(
    cast: Cast, source: CostSource, failed_import: CostImport, tmp_path: Path
) -> None:
    outcome = import_bill(cast, source, write_bill(tmp_path, BILL))

    with pytest.raises(UserError, match="has not failed"):
        retry_import(job=outcome, actor=cast.actor)
    with pytest.raises(UserError, match="A later import into this source is done"):
        retry_import(job=failed_import, actor=cast.actor)
    Path(failed_import.files[0]["path"]).unlink()
    with pytest.raises(UserError, match="no longer stored"):
        retry_import(job=failed_import, actor=cast.actor)
    CostImport.objects.unscoped().filter(pk=failed_import.pk).update(origin="sync")
    with pytest.raises(UserError, match="Only uploads can be retried"):
        retry_import(job=failed_import, actor=cast.actor)


@pytest.mark.parametrize("status", ["queued", "running", "waiting"])
def test_older_files_do_not_replace_those_of_an_import_under_way(
    cast: Cast, source: CostSource, failed_import: CostImport, status: str
) -> None:
    queue_import(cast, source, BILL.encode())
    CostImport.objects.unscoped().filter(source=source, pk__gt=failed_import.pk).update(status=status)

    with pytest.raises(UserError, match="A later import into this source is done or not finished"):
        retry_import(job=failed_import, actor=cast.actor)


def test_a_retry_counts_as_a_job_of_the_account(
    cast: Cast, source: CostSource, failed_import: CostImport, settings: Any
) -> None:
    settings.JOBS_PER_ACCOUNT = 1
    queue_import(
        cast, create_cost_source(account=cast.account, name="Other", actor=cast.actor), BILL.encode()
    )

    with pytest.raises(UserError, match="the maximum"):
        retry_import(job=failed_import, actor=cast.actor)
    failed_import.refresh_from_db()
    assert Path(failed_import.files[0]["path"]).exists()


@pytest.fixture
def cost_client(cast: Cast) -> CostPushClient:
    return create_cost_client(cast)


def test_an_open_push_is_canceled_and_its_parts_go(
    cast: Cast, operator_client: Client, cost_client: CostPushClient
) -> None:
    address = cost_client.open()
    cost_client.send("PUT", f"{address}/parts/1", BILL)
    push = CostPush.objects.unscoped().get()
    assert push_folders.folder_of(push.public_id).exists()

    url = f"/admin/connections/costpush/{push.pk}/actions/cancel/"
    assert "Its parts are deleted." in operator_client.get(url).content.decode()
    operator_client.post(url)

    push.refresh_from_db()
    assert push.status == "canceled"
    entry = AuditEntry.objects.unscoped().get(action="cost_push.cancel")
    assert (entry.account, entry.actor_label) == (cast.account, "Operator operator@example.com")
    assert cost_client.send("GET", address).json()["status"] == "canceled"
    assert operator_client.post(url).status_code == 404


def test_a_push_that_ended_cannot_be_canceled(cast: Cast, cost_client: CostPushClient) -> None:
    cost_client.open()
    push = CostPush.objects.unscoped().get()
    CostPush.objects.unscoped().update(status="expired", finished_at=push.created_at)

    with pytest.raises(PushConflict, match="expired and can no longer be canceled"):
        cancel_cost_push(push=push, actor=cast.actor)


def test_a_delivery_that_waits_is_canceled_and_not_tried_again(cast: Cast, operator_client: Client) -> None:
    pk = int(str(MAKERS["delivery_id"](cast.account)))
    deliveries = AlertDelivery.objects.unscoped()
    deliveries.update(status="waiting", next_attempt_at=clock.now(), delivered_at=None)
    url = f"/admin/alerts/alertdelivery/{pk}/actions/cancel/"

    assert "not retried" in operator_client.get(url).content.decode()
    operator_client.post(url)

    delivery = deliveries.get(pk=pk)
    assert (delivery.status, delivery.next_attempt_at) == ("failed", None)
    assert delivery.attempts[-1]["answer"] == "Canceled by Operator operator@example.com."
    assert not send_delivery(account=cast.account, delivery_id=pk)
    entry = AuditEntry.objects.unscoped().get(action="alert_delivery.cancel")
    assert (entry.account, entry.detail) == (cast.account, {"id": pk})
    assert operator_client.post(url).status_code == 404
    with account_scope(cast.account), pytest.raises(UserError, match="failed and cannot be canceled"):
        cancel_delivery(delivery=delivery, actor=cast.actor)
