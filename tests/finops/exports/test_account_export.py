"""An operator exports an account: a worker writes cost as FOCUS, usage and configuration, and what is read back is equal."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client

from accounts.models import AuditEntry, User
from accounts.scoping import account_scope
from accounts.services.deletion import delete_account
from finops.configuration.services import export_configuration
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source, import_files
from finops.exports import focus_file, services, tasks
from finops.exports.models import AccountExport
from finops.lake.schema import ExtensionKey
from finops.lake.usage.flush import flush_usage
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast, reauthenticated, signed_in
from tests.factories.budgets import create_budget
from tests.factories.imports import cost_by, import_bill, write_bill
from tests.ingestion.push_client import create_push_client, event

HEADER = (
    "BillingPeriodStart,ChargePeriodStart,ChargePeriodEnd,ProviderName,ServiceName,SkuId,SkuMeter,ChargeCategory,"
    "BillingCurrency,BilledCost,EffectiveCost,Tags,x_Cluster,x_User"
)
BILL = f"""{HEADER}
2026-05-01T00:00:00Z,2026-05-03T00:00:00Z,2026-05-04T00:00:00Z,AWS,S3,sku-1,Storage,Usage,USD,1.50,1.25,"{{""env"":""prod""}}",blue,ana
2026-05-01T00:00:00Z,2026-05-04T07:00:00Z,2026-05-04T08:00:00Z,AWS,EC2,sku-2,,Usage,USD,0.000000000000000001,2,{{}},,
2026-06-01T00:00:00Z,2026-06-03T00:00:00Z,2026-06-04T00:00:00Z,AWS,EC2,,,Tax,EUR,-3.5,-3.5,"{{""Env"":""test""}}",green,
"""

KEYS = ("env", "Env", ExtensionKey("Cluster"))


@pytest.fixture(autouse=True)
def folders(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    (tmp_path / "lake").mkdir()
    settings.LAKE_URL = str(tmp_path / "lake")


@pytest.fixture
def operator_client(operator: Client) -> Client:
    return reauthenticated(operator, User.objects.get(email="operator@example.com"))


def request(cast: Cast, operator_client: Client) -> tuple[AccountExport, str]:
    """The export, and its page."""
    answer = operator_client.post(f"/admin/accounts/account/{cast.account.pk}/actions/export/")
    return AccountExport.objects.unscoped().latest("pk"), answer.headers["Location"]


def download(operator_client: Client, export: AccountExport) -> Any:
    return operator_client.post(f"/admin/exports/{export.pk}/")


def archive_of(answer: Any) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))


def import_elsewhere(cast: Cast, archive: zipfile.ZipFile, folder: Path) -> None:
    paths = [archive.extract(name, folder) for name in archive.namelist() if name.startswith("cost/")]
    with account_scope(cast.other_account):
        source = create_cost_source(account=cast.other_account, name="Bills", actor=cast.other_actor)
        import_files(
            account=cast.other_account,
            source=source,
            paths=[Path(path) for path in paths],
            actor=cast.other_actor,
        )


def test_an_imported_export_has_the_same_cost(
    cast: Cast, source: CostSource, operator_client: Client, tmp_path: Path
) -> None:
    import_bill(cast, source, write_bill(tmp_path, BILL))
    export, page = request(cast, operator_client)
    waiting = operator_client.get(page).content.decode()
    tasks.run_export(cast.account.pk, export.pk)
    archive = archive_of(download(operator_client, export))
    import_elsewhere(cast, archive, tmp_path / "out")

    assert "Waiting for a worker" in waiting
    assert "Download ZIP" in operator_client.get(page).content.decode()
    for column in ("billing_period", "charge_date", "service", "usage_type", "currency", "provider", "actor"):
        with account_scope(cast.other_account):
            elsewhere = cost_by(cast.other_account, column)
        assert elsewhere == cost_by(cast.account, column), column
    for tag in ("tag:env", "tag:^env", "x:^cluster"):
        with account_scope(cast.other_account):
            elsewhere = cost_by(cast.other_account, tag, KEYS)
        assert elsewhere == cost_by(cast.account, tag, KEYS), tag
    manifest = json.loads(archive.read("manifest.json"))
    assert sum(file["rows"] for file in manifest["files"]) == 3
    assert manifest["cost_sources"] == {str(source.pk): "Bills"}


def test_events_that_wait_and_configuration_are_in_it(cast: Cast, operator_client: Client) -> None:
    push_client = create_push_client(cast)
    push_client.push(event(quantity=2.5))
    flush_usage(cast.account)
    push_client.push(event(quantity=4))
    create_budget(cast.account, "All of it")
    export, _page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, export.pk)
    archive = archive_of(download(operator_client, export))

    files = [name for name in archive.namelist() if name.startswith("usage/")]
    quantities = [
        value.as_py()
        for name in files
        for value in pq.read_table(io.BytesIO(archive.read(name))).column("quantity")
    ]
    assert sum(quantities, Decimal()) == Decimal("6.5")
    with account_scope(cast.account):
        assert archive.read("configuration.yaml").decode() == export_configuration(cast.account)
    assert "All of it" in archive.read("configuration.yaml").decode()


def test_the_account_sees_the_export_and_each_download(cast: Cast, operator_client: Client) -> None:
    export, _page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, export.pk)
    answer = download(operator_client, export)
    archive_of(answer)

    assert 'filename="acme-' in answer.headers["Content-Disposition"]
    entries = AuditEntry.objects.unscoped().filter(action__startswith="account.export").order_by("pk")
    assert [(entry.action, entry.account, entry.actor_label) for entry in entries] == [
        ("account.export", cast.account, "Operator operator@example.com"),
        ("account.export_download", cast.account, "Operator operator@example.com"),
    ]
    assert (
        "account.export_download" in signed_in(cast.owner).get("/a/acme/settings/audit-log/").content.decode()
    )


def test_an_operator_with_view_access_downloads_nothing(cast: Cast, operator_client: Client) -> None:
    export, _page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, export.pk)
    person = User.objects.create_user("looks@example.com", "a long enough secret", is_staff=True)
    staff_client = reauthenticated(signed_in(person), person)

    assert download(staff_client, export).status_code == 403
    assert staff_client.get(f"/admin/accounts/account/{cast.account.pk}/actions/export/").status_code == 403
    assert download(signed_in(cast.owner), export).status_code == 404


def test_one_export_of_an_account_at_a_time(cast: Cast, operator_client: Client) -> None:
    request(cast, operator_client)

    with pytest.raises(UserError, match="queued or running already"):
        services.request_export(account=cast.account, actor=cast.actor)


def test_an_export_that_fails_says_so_and_leaves_no_file(
    cast: Cast, source: CostSource, operator_client: Client, tmp_path: Path
) -> None:
    import_bill(cast, source, write_bill(tmp_path, BILL))
    for path in (tmp_path / "lake").rglob("*.parquet"):
        path.unlink()
    export, page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, export.pk)

    assert "Data changed while it was exported." in operator_client.get(page).content.decode()
    assert list((tmp_path / "var" / "exports").iterdir()) == []
    assert download(operator_client, export).status_code == 302


def test_an_export_goes_after_a_week_and_with_its_account(cast: Cast, operator_client: Client) -> None:
    first, _page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, first.pk)
    path = services.path_of(first)
    assert path.exists()
    with clock.frozen(clock.now() + timedelta(days=8)):
        tasks.run_due_exports()
    assert not path.exists()
    assert not AccountExport.objects.unscoped().exists()

    second, _page = request(cast, operator_client)
    tasks.run_export(cast.account.pk, second.pk)
    path = services.path_of(second)
    type(cast.account).objects.filter(pk=cast.account.pk).update(delete_after=clock.now())
    assert path.exists()
    assert delete_account(account_id=cast.account.pk)
    assert not path.exists()


def test_an_interrupted_export_is_retried_three_times(
    cast: Cast, operator_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    export, _page = request(cast, operator_client)

    def interrupt(_export: AccountExport) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(services, "_write", interrupt)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                tasks.run_export(cast.account.pk, export.pk)
    assert services.unfinished_exports() == [(cast.account.pk, export.pk)]
    tasks.run_export(cast.account.pk, export.pk)

    export.refresh_from_db()
    assert (export.status, export.error) == ("failed", "The export was interrupted three times.")


def cancel_url(export: AccountExport) -> str:
    return f"/admin/exports/accountexport/{export.pk}/actions/cancel/"


def test_a_waiting_export_is_canceled_and_another_may_be_requested(
    cast: Cast, operator_client: Client
) -> None:
    export, page = request(cast, operator_client)
    operator_client.post(cancel_url(export))
    tasks.run_export(cast.account.pk, export.pk)

    assert "Canceled" in operator_client.get(page).content.decode()
    assert not services.path_of(export).exists()
    assert AuditEntry.objects.unscoped().filter(action="account.export_cancel", account=cast.account).exists()
    assert operator_client.post(cancel_url(export)).status_code == 404
    with pytest.raises(UserError, match="canceled and cannot be canceled"):
        services.cancel_export(export=export, actor=cast.actor)
    assert request(cast, operator_client)[0].pk != export.pk


@pytest.mark.parametrize("moment", ["between two files", "after the last one"])
def test_a_running_export_is_canceled_and_leaves_no_file(
    cast: Cast,
    source: CostSource,
    operator_client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    import_bill(cast, source, write_bill(tmp_path, BILL))
    export, _page = request(cast, operator_client)
    step = "write_focus_file" if moment == "between two files" else "_manifest"
    module: Any = focus_file if moment == "between two files" else services
    original = getattr(module, step)

    def cancel_first(*arguments: Any) -> Any:
        services.cancel_export(export=AccountExport.objects.unscoped().get(pk=export.pk), actor=cast.actor)
        monkeypatch.setattr(module, step, original)
        return original(*arguments)

    monkeypatch.setattr(module, step, cancel_first)
    tasks.run_export(cast.account.pk, export.pk)

    export.refresh_from_db()
    assert export.status == "canceled"
    assert list((tmp_path / "var" / "exports").iterdir()) == []
