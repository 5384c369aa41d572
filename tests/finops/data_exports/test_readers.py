"""The statements in docs/data-exports.md, run unchanged on an export: sums equal the tools'."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession
from pytest_django import Settings

from accounts.models import Account
from finops.data_exports.services import exports, runs
from tests.cast import Cast
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.data_exports.bills import Bucket, allocate, round_amounts, spend

DOCS = Path("docs/data-exports.md")
BUCKET = "s3://acme-finops/finops"


@pytest.fixture
def export(acme: Account, cast: Cast, tmp_path: Path, settings: Settings) -> Path:
    """An export in a folder, which engines read without a network."""
    allocate(Bucket(acme, cast, S3TestBucket("", None, "")))
    folder = tmp_path / "bucket"
    folder.mkdir()
    settings.DATA_EXPORT_FOLDERS = [str(folder)]
    row = exports.create_data_export(
        account=acme, actor=cast.actor, name="focus", destination="folder", values={"folder": str(folder)}
    )
    assert runs.run_export(row.runs.get().pk)
    assert row.runs.get().status == "done"
    return folder


def block(after: str, language: str) -> str:
    """The first block of code in this language after a text of the page."""
    _, _, section = DOCS.read_text().partition(after)
    match = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert match
    return match[1]


def statements(text: str, folder: Path) -> list[str]:
    """Without those that sign in to a bucket, and of this folder."""
    parts = text.replace(BUCKET, str(folder)).split(";\n")
    return [part for part in parts if part.strip() and "CREATE SECRET" not in part]


def test_duckdb_reads_what_the_manifests_name(acme: Account, export: Path) -> None:
    (export / "focus/data/BILLING_PERIOD=2026-01/left-over.snappy.parquet").write_bytes(b"half a file")
    database = duckdb.connect()
    for statement in statements(block("DuckDB, with the files", "sql"), export):
        result = database.sql(statement)
    rows = result.fetchall()

    assert {tuple(row[:-1]): row[-1] for row in rows} == spend(acme, "service")


def test_lines_and_split_rows_are_added_as_the_page_says(acme: Account, export: Path) -> None:
    database = duckdb.connect()
    for name, ending in (("cost", "Manifest"), ("splits", "Splits")):
        files = f"SELECT unnest(dataFiles) FROM read_json('{export}/focus/metadata/*/*-{ending}.json')"
        paths = [path for (path,) in database.sql(files).fetchall()]
        database.sql(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({paths}, union_by_name = true)")
    rows = database.sql(block("## Shared-cost splits", "sql")).fetchall()

    sums = {tuple(row[:-1]): row[-1] for row in rows}
    assert round_amounts(sums) == round_amounts(spend(acme, "team", splits="after"))


@pytest.mark.spark
def test_spark_reads_what_the_manifests_name(acme: Account, export: Path) -> None:
    """On Apache Spark: Sail ignores `multiLine` and finds no file by a pattern for a partition's folder."""
    (export / "focus/data/BILLING_PERIOD=2026-01/left-over.snappy.parquet").write_bytes(b"half a file")
    text = block("\nSpark:", "python").replace("s3a://acme-finops/finops", str(export))
    session = SparkSession.builder.remote(os.environ["SPARK_TEST_REMOTE"]).create()
    names: dict[str, Any] = {"spark": session}
    exec(text, names)  # noqa: S102 our own page
    rows = names["by_service"].collect()
    session.stop()

    assert {tuple(row[:-1]): row[-1] for row in rows} == spend(acme, "service")


def test_iceberg_reads_the_exported_files_without_copying(
    acme: Account, export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "iceberg").mkdir()
    text = block("Iceberg, with pyiceberg", "python").replace("/srv/iceberg", f"{tmp_path}/iceberg")
    monkeypatch.chdir(export / "focus")
    names: dict[str, object] = {}
    exec(text, names)  # noqa: S102 our own page

    table = SqlCatalog("cost", uri=f"sqlite:///{tmp_path}/iceberg/catalog.db").load_table("finops.cost")
    rows = table.scan(selected_fields=("ServiceName", "BillingCurrency", "BilledCost")).to_arrow()
    groups = rows.group_by(["ServiceName", "BillingCurrency"]).aggregate([("BilledCost", "sum")]).to_pylist()
    assert {(row["ServiceName"], row["BillingCurrency"]): row["BilledCost_sum"] for row in groups} == spend(
        acme, "service"
    )
