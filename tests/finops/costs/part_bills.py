"""Bills of several files that are imported in parts, and what is live of them afterwards."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport, CostSource
from finops.costs.services import import_parts
from finops.lake.engine import engine
from finops.lake.engine.compiler import File
from finops.lake.models import LakeSegment
from finops.lake.storage.manifest import SegmentFile
from tests.cast import Cast
from tests.finops.costs.focus_reader import as_csv

MAY, JUNE = "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"
Bill = list[dict[str, str]]
BILLS: list[Bill] = [
    [
        {"BilledCost": "0.1", "Tags": '{"env": "prod", "owner": "ana"}', "ServiceName": "S3"},
        {"BilledCost": "1e-18", "EffectiveCost": "3", "Tags": '{"env": "dev"}'},
    ],
    [
        {"BilledCost": "0.2", "SkuMeter": "Hours", "x_Own": "1", "Tags": '{"team": "a"}'},
        {"BilledCost": "-7", "BillingCurrency": "EUR", "ChargeClass": "Correction"},
    ],
    [
        {"BilledCost": "999.000000000000000001", "BillingPeriodStart": JUNE, "ChargePeriodStart": JUNE},
        {"BilledCost": "(2.5)", "Tags": '{"env ": "prod"}'},
    ],
]


def write(folder: Path, bills: Sequence[Bill]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"part-{place}.csv" for place in range(len(bills))]
    for path, bill in zip(paths, bills, strict=True):
        path.write_bytes(as_csv(*bill))
    return paths


def queue_paths(cast: Cast, source: CostSource, paths: Sequence[Path]) -> CostImport:
    """An import of these files that waits for a worker."""
    uploads = [SimpleUploadedFile(path.name, path.read_bytes()) for path in paths]
    return services.queue_import(source=source, uploads=uploads, actor=cast.actor)


def live(account: Account) -> list[LakeSegment]:
    rows = LakeSegment.objects.unscoped().filter(account=account, retired_at=None)
    return list(rows.order_by("month", "path"))


def lines(account: Account) -> list[str]:
    """Every live line with the columns that are not empty, but for its source."""
    files = [SegmentFile(each.path, each.checksum, frozenset(each.columns)) for each in live(account)]

    def statement(local: Sequence[File]) -> str:
        names = ", ".join(f"'{file.path}'" for file in local)
        return f"SELECT * EXCLUDE (source) FROM read_parquet([{names}], union_by_name = true)"

    with engine.read_batches(files, statement, account=account) as reader:
        rows = reader.read_all().to_pylist()
    return sorted(repr(sorted((k, str(v)) for k, v in row.items() if v is not None)) for row in rows)


def independent_sum(paths: Sequence[Path]) -> Decimal:
    cells = [row["BilledCost"] for path in paths for row in csv.DictReader(io.StringIO(path.read_text()))]
    return sum((Decimal(cell.replace("(", "-").replace(")", "")) for cell in cells), Decimal(0))


def plan_of(job: CostImport) -> import_parts.PartPlan:
    plan = import_parts.stored_plan(job.pk)
    assert plan is not None
    return plan


def other_source(cast: Cast) -> CostSource:
    with account_scope(cast.other_account):
        return CostSource.objects.create(account=cast.other_account, name=f"In one piece {uuid.uuid4()}")


def import_in_one_piece(cast: Cast, paths: Sequence[Path], settings: Any) -> CostImport:
    source = other_source(cast)
    settings.IMPORT_PART_BYTES = 1 << 40
    with account_scope(cast.other_account):
        job = services.import_files(
            account=cast.other_account, source=source, paths=paths, actor=cast.other_actor
        )
    settings.IMPORT_PART_BYTES = 1
    return job


def report_of(job: CostImport) -> dict[str, Any]:
    job.refresh_from_db()
    assert job.parts is None
    return {**job.report, "hashes": job.content_hashes, "rows": job.rows, "months_of_job": job.months}
