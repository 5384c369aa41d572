"""The statement that finds which lines of each file are within a reader's limit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import ibis
import pyarrow as pa
from sqlglot import exp

from finops.lake.engine import compiler
from finops.lake.engine.compiler import ALL_LINES, DIALECT, File, Query, fact_table
from finops.lake.schema import Kind
from finops.lib.cost_access import CostLimit

FILE_NAME: Final = "filename"
"""The column in which DuckDB returns the file of a row."""


def limited_files_sql(
    files: Sequence[File], limit: CostLimit, columns: Sequence[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """The statement for the lines within a limit, by file: `filename`, their number, first and last day, and how many
    have each of these key columns (`n0`, `n1` …); files without such lines are left out. Also the columns that the
    statement reads. The caller must know which of these each of `files` has, so call it first without files."""
    keys = tuple(dict.fromkeys([*map(compiler.key_of, columns), *limit.tag_keys]))
    facts = ibis.table({**fact_table(Kind.COST, keys).schema(), FILE_NAME: "string"}, name=ALL_LINES)
    lines = facts.filter(limit.condition(facts).fill_null(False))
    tree = compiler.to_sqlglot(
        lines.group_by(FILE_NAME).aggregate(
            rows=lines.count(),
            first_day=lines.charge_date.min(),
            last_day=lines.charge_date.max(),
            **{f"n{at}": lines[name].count() for at, name in enumerate(columns)},
        )
    )
    named = {column.name for column in tree.find_all(exp.Column)} & set(facts.columns) - {FILE_NAME}
    query = Query(Kind.COST, tuple(sorted(named)), pa.schema([]), "", ())
    if not files:
        return "", query.columns
    selection = compiler.select_facts(query, files, date.min, date.max)
    source: Any = selection.find(exp.ReadParquet)
    source.append("expressions", exp.EQ(this=exp.column(FILE_NAME), expression=exp.true()))
    inside = selection.select(exp.column(FILE_NAME)).sql(DIALECT)
    return f"WITH {compiler.alias(ALL_LINES).sql(DIALECT)} AS ({inside}) {tree.sql(DIALECT)}", query.columns
