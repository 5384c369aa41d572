"""Providers' layouts of bills in a bucket: a folder a billing month, whole files with their manifest beside them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.parquet as pq

from finops.lib.periods import month_end


@dataclass(frozen=True)
class Layout:
    """The layout of one provider. `data` is the path of a month's file, `pattern` matches it for the connector `folder`, and
    `manifest` is the path of the file that lists the others."""

    pattern: str
    data: Callable[[date], str]
    manifest: Callable[[date], str] | None = None


def _azure_run(month: date) -> str:
    guid = uuid5(NAMESPACE_URL, f"lumenly/{month}")
    return f"focus-cost/{month:%Y%m%d}-{month_end(month):%Y%m%d}/{guid}"


LAYOUTS: Final = {
    "aws": Layout(
        "lumenly-focus/data/BILLING_PERIOD={year}-{month}/*.parquet",
        lambda month: f"lumenly-focus/data/BILLING_PERIOD={month:%Y-%m}/lumenly-focus-00001.snappy.parquet",
        lambda month: f"lumenly-focus/metadata/BILLING_PERIOD={month:%Y-%m}/lumenly-focus-Manifest.json",
    ),
    "azure": Layout(
        "focus-cost/{yyyymm}01-*/**/*.parquet",
        lambda month: f"{_azure_run(month)}/part_0_0001.snappy.parquet",
        lambda month: f"{_azure_run(month)}/manifest.json",
    ),
    "gcp": Layout(
        "focus/{year}/{month}/*.parquet",
        lambda month: f"focus/{month:%Y}/{month:%m}/focus-000000000000.parquet",
    ),
}
"""By vendor: a data export of AWS, a FOCUS export of Azure, an EXPORT DATA of Google's BigQuery."""


def write_month(folder: Path, vendor: str, month: date, table: pa.Table) -> None:
    """Write a month's file, then its manifest. A file with the same content is not rewritten, so that its fingerprint stays."""
    layout = LAYOUTS[vendor]
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="snappy")
    replace_file(folder / layout.data(month), sink.getvalue())
    if layout.manifest is not None:
        manifest = {"dataFiles": [layout.data(month)], "rows": table.num_rows}
        replace_file(folder / layout.manifest(month), json.dumps(manifest).encode())


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically: a sync may be reading."""
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
