"""Uploads of any columns wait, with their files, until a person has mapped them; then they are imported."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEntry
from finops.costs import services
from finops.costs.mapping.document import MappingDocument
from finops.costs.models import ColumnMapping, CostImport, CostSource
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import cost_by, import_bill, total, write_bill
from tests.finops.costs.mapping.mapped_files import BILL, document


def upload(cast: Cast, source: CostSource, text: str = BILL, name: str = "bill.csv") -> CostImport:
    uploads = [SimpleUploadedFile(name, text.encode())]
    job = services.queue_import(source=source, uploads=uploads, actor=cast.actor)
    services.run_import(job.pk)
    job.refresh_from_db()
    return job


def run(job: CostImport) -> CostImport:
    services.run_import(job.pk)
    job.refresh_from_db()
    return job


def test_an_upload_of_unknown_columns_waits_with_its_file_until_they_are_mapped(
    cast: Cast, source: CostSource
) -> None:
    job = upload(cast, source)
    (review,) = job.report["reviews"]
    assert (job.status, review["kind"], Path(job.files[0]["path"]).exists()) == ("waiting", "columns", True)
    assert (
        "bill.csv is not a FOCUS file: its 3 columns begin with 'Day', 'Item', 'Amount'" in review["reason"]
    )
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    job.refresh_from_db()
    assert job.status == "queued"
    run(job)
    assert (job.status, job.rows, Path(job.files[0]["path"]).exists()) == ("done", 2, False)
    assert total(cast.account) == Decimal("1.75")
    assert job.report["files"][0]["native_format"] == "Column mapping"


def test_the_next_files_of_the_source_are_read_by_its_mapping(cast: Cast, source: CostSource) -> None:
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    assert upload(cast, source).status == "done"
    assert upload(cast, source, BILL.replace("2026-05", "2026-06")).status == "done"
    assert cost_by(cast.account, "billing_period") == {
        "2026-05": (Decimal("1.75"), Decimal("1.75")),
        "2026-06": (Decimal("1.75"), Decimal("1.75")),
    }


def test_a_file_without_a_column_of_the_mapping_names_it(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    incomplete_bill = BILL.replace("Amount", "Betrag")
    with pytest.raises(
        UserError, match=r"focus\.csv has no column 'Amount', required by the source's column mapping"
    ):
        import_bill(cast, source, write_bill(tmp_path, incomplete_bill))
    job = upload(cast, source, incomplete_bill)
    assert (job.status, job.report["reviews"][0]["kind"]) == ("waiting", "columns")


def test_a_value_that_the_mapping_cannot_read_names_its_row_and_the_file_is_kept(
    cast: Cast, source: CostSource
) -> None:
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    job = upload(cast, source, BILL + "31.05.2026,Server,1\n")
    (review,) = job.report["reviews"]
    assert job.status == "waiting"
    assert review["reason"].startswith("bill.csv, row 4, column Day: '31.05.2026' is not a date")
    assert total(cast.account) is None


def test_a_mapping_may_be_mended_any_number_of_times(cast: Cast, source: CostSource) -> None:
    job = upload(cast, source)
    wrong = document(dates={"ChargePeriodStart": {"column": "Day", "format": "%d.%m.%Y"}})
    for _ in range(4):
        services.save_column_mapping(source=source, document=wrong, actor=cast.actor)
        assert run(job).status == "waiting"
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    assert run(job).status == "done"


def test_an_import_that_waits_for_a_mapping_cannot_be_confirmed_and_can_be_discarded(
    cast: Cast, source: CostSource
) -> None:
    job = upload(cast, source)
    with pytest.raises(UserError, match="Map the columns of the files first"):
        services.confirm_import(job=job, actor=cast.actor)
    services.discard_import(job=job, actor=cast.actor)
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    job.refresh_from_db()
    assert job.status == "discarded"


def test_a_mapped_import_that_shrinks_a_month_needs_review(cast: Cast, source: CostSource) -> None:
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    upload(cast, source, BILL.replace("1.50", "1000"))
    job = upload(cast, source, BILL.replace("1.50", "10"))
    assert (job.status, job.report["reviews"][0]["kind"]) == ("waiting", "change")


def test_focus_files_are_read_as_focus_beside_a_mapping(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    from tests.finops.costs.focus_reader import as_csv

    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    path = tmp_path / "focus.csv"
    path.write_bytes(as_csv({}))
    import_bill(cast, source, path)
    assert total(cast.account) == Decimal("1.5")


def test_a_mapping_is_one_a_source_replaced_whole_and_audited(cast: Cast, source: CostSource) -> None:
    services.save_column_mapping(source=source, document=document(), actor=cast.actor)
    services.save_column_mapping(
        source=source, document=document(time_zone="Europe/Berlin"), actor=cast.actor
    )
    services.remove_column_mapping(source=source, actor=cast.actor)
    services.remove_column_mapping(source=source, actor=cast.actor)
    entries = list(AuditEntry.objects.filter(action__startswith="column_mapping.").order_by("pk"))
    assert [entry.action for entry in entries] == [
        "column_mapping.save",
        "column_mapping.save",
        "column_mapping.remove",
    ]
    assert entries[0].detail["from"] is None
    assert entries[1].detail["from"] == entries[0].detail["to"]
    assert entries[1].detail["to"]["time_zone"] == "Europe/Berlin"
    assert not ColumnMapping.objects.filter(source=source).exists()


def test_a_mapping_without_the_cost_is_refused_with_instructions(cast: Cast, source: CostSource) -> None:
    with pytest.raises(ValidationError) as error:
        services.save_column_mapping(source=source, document=MappingDocument(), actor=cast.actor)
    assert error.value.message_dict == {
        "BilledCost": ["Choose the cost column."],
        "ChargePeriodStart": ["Choose the date column."],
        "BillingCurrency": ["Choose a column, or enter a value for all lines."],
        "ServiceName": ["Choose a column, or enter a value for all lines."],
        "ProviderName": ["Choose a column, or enter a value for all lines."],
        "ChargeCategory": ["Choose a column, or enter a value for all lines."],
    }
    assert not ColumnMapping.objects.exists()
