from __future__ import annotations

from datetime import date
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from finops.lake import schema
from finops.lake.engine import compiler
from finops.lake.engine.compiler import File
from finops.lake.schema import Kind
from tests.finops.lake.facts import FEBRUARY, JANUARY, billed_by

EVERYTHING = frozenset(schema.COST_SCHEMA.names)
WITH_ENV = EVERYTHING | {"tag:env"}


def sql(build: compiler.Build, *files: File, keys: tuple[str, ...] = ()) -> str:
    return compiler.compile_query(Kind.COST, build, keys).sql(files, JANUARY, FEBRUARY)


def test_the_statement_names_exactly_the_given_files() -> None:
    paths = ["/lake/1/cost/a.parquet", "/lake/1/cost/it's.parquet"]
    tree = sqlglot.parse_one(
        sql(billed_by("service"), *(File(path, EVERYTHING) for path in paths)), dialect="duckdb"
    )
    reads = list(tree.find_all(exp.ReadParquet))
    assert [literal.this for read in reads for literal in read.find_all(exp.Literal)] == paths
    assert {table.name for table in tree.find_all(exp.Table)} <= {"cost", ""}


def test_only_the_needed_columns_are_read() -> None:
    query = compiler.compile_query(Kind.COST, billed_by("service"))
    assert query.needed == ("service", "billed_cost")


@pytest.mark.parametrize(
    ("build", "needed"),
    [
        (lambda cost: cost.count(), ("charge_date",)),
        (lambda cost: cost.filter(cost.region == "x").count(), ("region",)),
        (lambda cost: cost.select("sku_id").distinct(), ("sku_id",)),
        (lambda cost: cost.order_by("region").limit(1).select("actor"), ("region", "actor")),
        (lambda cost: cost.filter(cost.region == "x"), (*schema.COST_SCHEMA.names, schema.OWN_CURRENCY)),
    ],
)
def test_whatever_the_expression_uses_is_needed(build: compiler.Build, needed: tuple[str, ...]) -> None:
    def as_table(cost: Any) -> Any:
        return build(cost).as_table()

    assert compiler.compile_query(Kind.COST, as_table).needed == needed


def test_files_with_the_same_columns_are_not_united_by_name() -> None:
    both = sql(billed_by("tag:env"), File("/a", WITH_ENV), File("/b", WITH_ENV), keys=("env",))
    assert "union_by_name" not in both


def test_files_that_differ_in_a_needed_column_are_united_by_name() -> None:
    text = sql(billed_by("tag:env"), File("/a", WITH_ENV), File("/b", EVERYTHING), keys=("env",))
    assert "union_by_name = TRUE" in text


def test_files_that_differ_in_another_column_are_not() -> None:
    assert "union_by_name" not in sql(billed_by("service"), File("/a", WITH_ENV), File("/b", EVERYTHING))


def test_a_column_that_no_file_has_is_a_typed_null() -> None:
    text = sql(billed_by("tag:env"), File("/a", EVERYTHING), keys=("env",))
    assert 'CAST(NULL AS TEXT) AS "tag:env"' in text


def test_the_days_are_filtered_where_the_files_are_read() -> None:
    facts = sqlglot.parse_one(sql(billed_by("service"), File("/a", EVERYTHING)), dialect="duckdb").find(
        exp.CTE
    )
    assert facts is not None
    assert "BETWEEN CAST('2026-01-01' AS DATE) AND CAST('2026-02-01' AS DATE)" in facts.sql("duckdb")


def test_a_table_expression_of_ibis_comes_after_the_facts() -> None:
    def self_join(cost: Any) -> Any:
        totals = cost.group_by("service").agg(t=cost.billed_cost.sum())
        return totals.join(totals.view(), "service")

    with duckdb.connect() as connection:
        assert connection.execute(sql(self_join)).fetchall() == []


@pytest.mark.parametrize("kind", list(Kind))
def test_without_files_every_column_still_has_its_type(kind: Kind) -> None:
    query = compiler.compile_query(kind, lambda facts: facts)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        empty = connection.execute(query.sql([], JANUARY, FEBRUARY)).to_arrow_table()
    expected = schema.base_schema(kind)
    if kind is Kind.COST:
        expected = expected.append(pa.field(schema.OWN_CURRENCY, pa.string()))
    assert empty.schema.equals(expected)
    assert query.result.equals(expected)


def test_a_date_and_a_number_are_literals_too() -> None:
    day = date(2026, 1, 15)
    text = sql(lambda cost: cost.filter(cost.charge_date > ibis.literal(day)))
    assert "2026, 1, 15" in text
