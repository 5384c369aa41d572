"""Importing files into the lake: through the services, the worker's task and the command."""

from __future__ import annotations

import gzip
import io
import os
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry
from finops.costs import services, tasks
from finops.costs.models import ContractCommitment, CostImport, CostSource
from finops.costs.services import claims
from finops.lake import queries
from finops.lake.schema import Kind
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import cost_by, import_bill, total, write_bill
from tests.finops.costs import reference_model
from tests.periodic_tasks import run_due

HEADER = "BillingPeriodStart,ChargePeriodStart,ProviderName,ServiceName,ChargeCategory,BillingCurrency,BilledCost,EffectiveCost"
MAY = f"{HEADER}\n2026-05-01T00:00:00Z,2026-05-03T00:00:00Z,AWS,S3,Usage,USD,1.50,1.25\n"
MAY_RESTATED = MAY.replace("1.50,1.25", "7,7")
MAY_AND_JUNE = f"{MAY}2026-06-01T00:00:00Z,2026-06-03T00:00:00Z,AWS,S3,Usage,USD,2,2\n"


def test_importing_a_month_again_replaces_it_and_leaves_the_others(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_bill(cast, source, write_bill(tmp_path, MAY_AND_JUNE))
    again = import_bill(cast, source, write_bill(tmp_path, MAY_RESTATED))
    assert (again.months, again.rows) == (["2026-05"], 1)
    assert cost_by(cast.account, "billing_period") == {
        "2026-05": (Decimal(7), Decimal(7)),
        "2026-06": (Decimal(2), Decimal(2)),
    }


def test_files_of_one_import_that_share_a_month_form_it_together(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    first, second = write_bill(tmp_path, MAY, "a.csv"), write_bill(tmp_path, MAY_RESTATED, "b.csv")
    assert import_bill(cast, source, first, second).rows == 2
    assert total(cast.account) == Decimal("8.5")


def test_a_month_of_one_source_does_not_replace_that_of_another(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    other = services.create_cost_source(account=cast.account, name="Other", actor=cast.actor)
    import_bill(cast, source, write_bill(tmp_path, MAY))
    import_bill(cast, other, write_bill(tmp_path, MAY))
    assert total(cast.account) == Decimal(3)


def test_a_bad_row_after_good_ones_leaves_everything_as_it_was(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    import_bill(cast, source, write_bill(tmp_path, MAY))
    bad = MAY_RESTATED + MAY_AND_JUNE.splitlines()[2].replace(",2,2", ",two,2") + "\n"
    with pytest.raises(UserError, match=r"focus\.csv, row 3, column BilledCost: 'two' is not a number"):
        import_bill(cast, source, write_bill(tmp_path, bad))
    assert total(cast.account) == Decimal("1.5")
    assert [job.status for job in CostImport.objects.all()] == ["failed", "done"]


def test_an_upload_is_queued_run_by_the_task_and_removed(
    cast: Cast, source: CostSource, django_capture_on_commit_callbacks: Any
) -> None:
    with TemporaryUploadedFile("focus.csv.gz", "text/csv", 0, None) as upload:
        upload.write(gzip.compress(MAY.encode()))
        upload.flush()
        with django_capture_on_commit_callbacks(execute=True):
            job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    path = Path(job.files[0]["path"])
    assert (job.status, job.percent, path.exists()) == ("queued", 0, True)
    tasks.run_cost_import(cast.account.pk, job.pk)
    job.refresh_from_db()
    assert (job.status, job.percent, job.rows, path.exists()) == ("done", 100, 1, False)
    assert total(cast.account) == Decimal("1.5")


def test_a_failed_upload_says_why_and_is_kept_for_a_day(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("bill.csv", b"Amount\n2\n")
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    services.run_import(job.pk)
    job.refresh_from_db()
    path = Path(job.files[0]["path"])
    os.utime(path, (0, 0))
    tasks.remove_forgotten_uploads()
    assert (job.status, path.exists()) == ("failed", True)
    with clock.frozen(clock.now() + timedelta(hours=25)):
        tasks.remove_forgotten_uploads()
    assert not path.exists()
    assert "bill.csv is not a FOCUS file: its 1 columns begin with 'Amount'" in job.error


def test_an_import_that_is_done_is_not_run_again(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    job = import_bill(cast, source, write_bill(tmp_path, MAY))
    assert services.run_import(job.pk) is False
    assert total(cast.account) == Decimal("1.5")


def test_an_import_whose_process_died_is_continued(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    CostImport.objects.filter(pk=job.pk).update(status="running", attempts=1)
    run_due(tasks.run_due_imports)
    job.refresh_from_db()
    assert (job.status, job.attempts) == ("done", 2)


def test_an_import_that_was_interrupted_three_times_is_given_up(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    CostImport.objects.filter(pk=job.pk).update(status="running", attempts=3)
    run_due(tasks.run_due_imports)
    job.refresh_from_db()
    assert (job.status, "interrupted three times" in job.error) == ("failed", True)


def test_an_attempt_that_lost_its_import_leaves_no_effect(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    with claims.claim_import(job.pk) as running:
        assert running is not None
        CostImport.objects.filter(pk=job.pk).update(attempts=2)
        with pytest.raises(claims.ClaimLost):
            claims.fence.update(running, rows=1)


def test_imports_into_a_source_run_in_the_order_they_were_asked(cast: Cast, source: CostSource) -> None:
    first, second = (
        services.queue_import(
            source=source, uploads=[SimpleUploadedFile("focus.csv", text.encode())], actor=cast.actor
        )
        for text in (MAY, MAY_RESTATED)
    )
    assert services.run_import(second.pk) is False
    run_due(tasks.run_due_imports)
    assert total(cast.account) == Decimal(7)
    assert first.pk < second.pk


def test_contract_commitments_replace_those_of_their_source(cast: Cast, source: CostSource) -> None:
    for _ in range(2):
        job = import_bill(cast, source, reference_model.DATA / reference_model.COMMITMENT_FILE)
    assert (job.rows, job.report["commitments"], ContractCommitment.objects.count()) == (0, 278, 278)
    rows = reference_model.read_rows(reference_model.COMMITMENT_FILE)
    amounts_by_id = {row.commitment_id: (row.cost, row.quantity) for row in ContractCommitment.objects.all()}
    assert amounts_by_id == {
        row["ContractCommitmentId"]: (
            Decimal(row["ContractCommitmentCost"]) if row["ContractCommitmentCost"] else None,
            Decimal(row["ContractCommitmentQuantity"]) if row["ContractCommitmentQuantity"] else None,
        )
        for row in rows
    }


def test_contract_commitments_come_with_the_costs_of_one_import(cast: Cast, source: CostSource) -> None:
    costs = reference_model.DATA / "synthetic/focus_1_3_cost_and_usage_aws.csv.gz"
    job = import_bill(cast, source, costs, reference_model.DATA / reference_model.COMMITMENT_FILE)
    assert (job.rows, job.report["commitments"]) == (4000, 278)


def test_a_parquet_upload_in_several_row_groups_is_imported(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    table = pa.csv.read_csv(io.BytesIO(MAY_AND_JUNE.encode()))
    pq.write_table(table, tmp_path / "focus.bin", row_group_size=1)
    assert import_bill(cast, source, tmp_path / "focus.bin").report["files"][0]["format"] == "Parquet"
    assert total(cast.account) == Decimal("3.5")


def test_a_taken_source_name_is_refused(cast: Cast, source: CostSource) -> None:
    with pytest.raises(ValidationError, match="A cost source with this name already exists"):
        services.create_cost_source(account=cast.account, name=" Bills ", actor=cast.actor)


def test_a_deleted_source_takes_its_costs_along(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    import_bill(cast, source, write_bill(tmp_path, MAY))
    services.delete_cost_source(source=source, actor=cast.actor)
    assert queries.data_range(cast.account, Kind.COST) is None


def test_every_write_is_in_the_audit_log(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    import_bill(cast, source, write_bill(tmp_path, MAY))
    services.change_cost_view(account=cast.account, actor=cast.actor, basis="amortized", charge_categories=())
    services.rename_cost_source(source=source, name="Invoices", actor=cast.actor)
    services.delete_cost_source(source=source, actor=cast.actor)
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions)[-6:] == [
        "cost_source.create",
        "cost_import.queue",
        "cost_import.finish",
        "cost_view.change",
        "cost_source.rename",
        "cost_source.delete",
    ]


def test_a_value_for_a_column_that_focus_does_not_know_is_refused(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    with pytest.raises(UserError, match=r"Column 'Currency' is not used by imports.*BillingCurrency"):
        services.queue_import(source=source, uploads=[upload], actor=cast.actor, defaults={"Currency": "USD"})


def test_uploads_that_nothing_names_go_after_a_day(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    stored_path = Path(job.files[0]["path"])
    orphan = stored_path.with_name("orphan")
    orphan.write_bytes(b"x")
    for path in (stored_path, orphan):
        os.utime(path, (0, 0))
    tasks.remove_forgotten_uploads()
    assert (stored_path.exists(), orphan.exists()) == (True, False)


def test_the_command_makes_the_source_and_prints_what_it_imported(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MAY.replace("BillingCurrency,", "").replace("USD,", "")
    path = str(write_bill(tmp_path, text))
    call_command("import_focus", path, "--account", "acme", "--source", "New", "--set", "BillingCurrency=EUR")
    out = capsys.readouterr().out
    assert "2026-05: 1 rows, EUR 1.500000000000000000 billed, 1.250000000000000000 effective" in out
    assert list(cost_by(cast.account, "currency")) == ["EUR"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--account", "acmee", "--source", "S"], "There is no account 'acmee'. Accounts: acme"),
        (["--account", "acme", "--source", "S", "--set", "USD"], "--set USD: write it as Column=value."),
        (["--account", "acme", "--source", "S", "--set", "Money=1"], "is not used by imports. Columns:"),
        (["--account", "acme", "--source", ""], "Enter a name."),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], message: str, cast: Cast, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("import_focus", str(write_bill(tmp_path, MAY)), *arguments)


def test_the_task_leaves_the_import_of_another_account_alone(cast: Cast, source: CostSource) -> None:
    upload = SimpleUploadedFile("focus.csv", MAY.encode())
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    tasks.run_cost_import(cast.other_account.pk, job.pk)
    job.refresh_from_db()
    assert job.status == "queued"
