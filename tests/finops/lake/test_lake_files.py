"""The files that `manage.py lake_files` lists, read with other engines: their sums are those of the tools."""

from __future__ import annotations

import json
import os
import re
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from accounts.models import Account
from finops.costs import services
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.lake.queries import data_range
from finops.lake.schema import Kind
from finops.lake.storage.segments import sha256
from tests.cast import Cast
from tests.factories.usage import event, push_events
from tests.finops.costs import reference_model

PAGE = Path("docs/reading-the-lake.md")
SAMPLE = "focus-1.0-real/focus_sample.csv"
OTHER = "synthetic/focus_1_2_cost_and_usage_aws.csv.gz"
"""Of other columns."""


@pytest.fixture
def bills(acme: Account, cast: Cast) -> Account:
    """Two sources of other columns, the first one imported twice: what it stored at first counts no more."""
    for file in (SAMPLE, SAMPLE, OTHER):
        source = CostSource.objects.filter(name=file).first() or services.create_cost_source(
            account=acme, name=file, actor=cast.actor
        )
        services.import_files(
            account=acme, source=source, paths=[reference_model.DATA / file], actor=cast.actor, defaults={}
        )
    return acme


def listing(account: Account, *arguments: str) -> str:
    output = StringIO()
    call_command("lake_files", account.slug, *arguments, stdout=output)
    return output.getvalue()


def totals(account: Account) -> dict[str, object]:
    days = data_range(account, Kind.COST)
    assert days is not None
    question = SpendQuery(start_date=days.first_day, end_date=days.last_day, basis="billed")
    return {total.currency: total.amount for total in query_spend(account, question).totals}


def test_duckdb_adds_up_to_what_the_tools_answer(bills: Account) -> None:
    statement = listing(bills, "--format=duckdb").strip()

    sums = duckdb.sql(f"SELECT currency, sum(billed_cost) FROM ({statement}) GROUP BY currency").fetchall()

    files = [reference_model.sums(file, "all")[None][0] for file in (SAMPLE, OTHER)]
    assert dict(sums) == totals(bills) == {"USD": sum(files)}


def test_iceberg_reads_the_files_as_they_are(bills: Account, tmp_path: Path) -> None:
    urls = listing(bills).split()
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("finops")
    table = catalog.create_table(
        "finops.cost", schema=pa.unify_schemas([pq.read_schema(url) for url in urls])
    )
    table.add_files(urls)

    rows = table.scan(selected_fields=("currency", "billed_cost")).to_arrow()

    sums = rows.group_by("currency").aggregate([("billed_cost", "sum")]).to_pylist()
    assert {row["currency"]: row["billed_cost_sum"] for row in sums} == totals(bills)


@pytest.mark.spark
def test_spark_adds_up_to_what_the_tools_answer(bills: Account) -> None:
    """The statements of the page, unchanged, on Apache Spark (`make test-spark`)."""
    code = re.search(r"\*\*Spark\*\*.*?```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code
    session = SparkSession.builder.remote(os.environ["SPARK_TEST_REMOTE"]).create()
    names: dict[str, Any] = {"spark": session, "urls": listing(bills).split()}
    exec(code[1], names)  # noqa: S102 our own page
    rows = names["by_currency"].collect()
    session.stop()

    assert dict(rows) == totals(bills)


def test_each_file_is_listed_with_what_proves_it_whole(bills: Account) -> None:
    files = [json.loads(line) for line in listing(bills, "--format=json").splitlines()]

    assert sum(file["rows"] for file in files) == sum(
        len(reference_model.read_rows(file)) for file in (SAMPLE, OTHER)
    )
    for file in files:
        assert Path(file["url"]).stat().st_size == file["bytes"]
        assert sha256(Path(file["url"])) == file["sha256"]


def test_an_account_sees_its_own_files_alone(bills: Account, cast: Cast) -> None:
    with pytest.raises(CommandError, match="has no cost in the lake"):
        listing(cast.other_account)
    with pytest.raises(CommandError, match="does not exist"):
        call_command("lake_files", "nobody")


def test_events_that_are_in_no_file_yet_are_said(acme: Account, cast: Cast) -> None:
    push_events(acme, [event(date(2026, 3, 19), "cust-1", quantity) for quantity in (1, 2, 3)])
    problems = StringIO()

    call_command("lake_files", acme.slug, "--kind=usage", stdout=StringIO(), stderr=problems)

    assert problems.getvalue().strip() == "In no file yet: 3 usage events. Try again in a minute."
