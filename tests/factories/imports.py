"""Common steps of the tests of imports."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import Account
from finops.costs import services
from finops.costs.focus.formats import AUTOMATIC, FormatChoice
from finops.costs.models import CostImport, CostSource
from finops.lake.engine import engine
from finops.lake.schema import Kind
from tests.cast import Cast
from tests.finops.costs import reference_model

LONG_AGO, FAR_AHEAD = date(2000, 1, 1), date(2100, 1, 1)


def write_bill(folder: Path, text: str, name: str = "focus.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def queue_import(cast: Cast, source: CostSource, data: bytes) -> CostImport:
    """Queue an import for a worker."""
    upload = SimpleUploadedFile("focus.csv", data)
    return services.queue_import(source=source, uploads=[upload], actor=cast.actor)


def import_bill(cast: Cast, source: CostSource, *paths: Path, **defaults: str) -> CostImport:
    return import_bill_as(AUTOMATIC, cast, source, *paths, **defaults)


def import_bill_as(
    formats: FormatChoice, cast: Cast, source: CostSource, *paths: Path, **defaults: str
) -> CostImport:
    return services.import_files(
        account=cast.account,
        source=source,
        paths=paths,
        actor=cast.actor,
        defaults=defaults,
        formats=formats,
    )


def cost_by(account: Account, column: str | None, tag_keys: tuple[str, ...] = ()) -> reference_model.Sums:
    def build(cost: ibis.Table) -> ibis.Table:
        sums = {"billed": cost.billed_cost.sum(), "effective": cost.effective_cost.sum()}
        return cost.group_by(key=cost[column]).aggregate(**sums) if column else cost.aggregate(**sums)

    table = engine.run(account, Kind.COST, LONG_AGO, FAR_AHEAD, build, tag_keys=tag_keys)
    return {_key(row.get("key"), column): (row["billed"], row["effective"]) for row in table.to_pylist()}


def _key(value: Any, column: str | None) -> str | None:
    if column == "billing_period":
        return f"{value:%Y-%m}"
    return value if value is None else str(value)


def total(account: Account) -> Decimal | None:
    return cost_by(account, None)[None][0]
