"""Statements of Spark SQL: what Apache Spark refuses and Sail accepts, so that no test on Sail would notice."""

from __future__ import annotations

from typing import Any

import ibis
import pytest
import sqlglot
from sqlglot import exp

from finops.lake import schema
from finops.lake.engine import compiler, spark_sql
from finops.lake.schema import Kind
from tests.finops.lake.facts import FEBRUARY, JANUARY


def statement(build: compiler.Build) -> exp.Expr:
    query = compiler.compile_query(Kind.COST, build)
    present = frozenset(schema.COST_SCHEMA.names)
    sql = spark_sql.statement(query, JANUARY, FEBRUARY, files="files", present=present).sql
    return sqlglot.parse_one(sql, dialect="spark")


@pytest.mark.parametrize("function", [ibis.greatest, ibis.least])
def test_the_largest_of_one_value_is_that_value(function: Any) -> None:
    single = statement(lambda cost: cost.aggregate(most=function(cost.billed_cost.sum())))
    pair = statement(
        lambda cost: cost.aggregate(most=function(cost.billed_cost.sum(), cost.effective_cost.sum()))
    )

    assert list(single.find_all(exp.Greatest, exp.Least)) == []
    assert len(list(single.find_all(exp.Sum))) == 1
    [call] = pair.find_all(exp.Greatest, exp.Least)
    assert len(call.expressions) == 1
