"""Compiles an expression into one statement of Spark SQL over temporary views. Pure: it runs nothing.

All differences between the dialects are here, each with a test (`tests/finops/lake/engine/test_spark_sql.py`, `test_spark.py`). Ibis
compiles the same expression that DuckDB runs. Names become c0, c1, … because Spark by default treats names that
differ only in case, as tag keys may, as equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

from ibis.backends.sql.compilers.pyspark import PySparkCompiler
from sqlglot import exp

from finops.lake import schema as schemas
from finops.lake.engine import spark_conversion
from finops.lake.engine.compiler import ALL_LINES, Currency, Query, check_text
from finops.lake.schema import OWN_CURRENCY

DIALECT: Final = "spark"


class _Compiler(PySparkCompiler):  # type: ignore[misc]
    """Ibis's compiler for Spark SQL, with casts to the types that Ibis derives."""

    def visit_DateTruncate(self, op: Any, *, arg: Any, unit: Any) -> Any:
        """Cast back to a date: Spark truncates a date to a timestamp."""
        return self.cast(super().visit_DateTruncate(op, arg=arg, unit=unit), op.dtype)


_to_sqlglot: Final = _Compiler().to_sqlglot


def _list_position(items: exp.Expr, item: exp.Expr) -> exp.Expr:
    """Return null for a value that is not in the list; Spark returns 0."""
    place = exp.Anonymous(this="array_position", expressions=[items, item])
    return exp.Nullif(this=place, expression=exp.Literal.number(0))


def _list_extract(items: exp.Expr, place: exp.Expr) -> exp.Expr:
    """Index from 1, and return null past the end: Spark's `get` counts from 0."""
    before = exp.Sub(this=exp.Paren(this=place), expression=exp.Literal.number(1))
    return exp.Anonymous(this="get", expressions=[items, exp.cast(before, "INT", dialect=DIALECT)])


FUNCTIONS: Final[dict[str, Callable[..., exp.Expr]]] = {
    "list_position": _list_position,
    "list_extract": _list_extract,
}
"""Functions that expressions call by DuckDB's name, and their Spark equivalents."""


@dataclass(frozen=True)
class SparkStatement:
    """A statement over views, and the result's column names, in order."""

    sql: str
    columns: tuple[str, ...]


def statement(
    query: Query,
    start: date,
    end: date,
    *,
    files: str | None,
    waiting: str | None = None,
    present: frozenset[str] = frozenset(),
    currency: Currency | None = None,
    rates: str | None = None,
) -> SparkStatement:
    """The statement over the view `files`, whose columns are `present`, for these days (inclusive), and over the view
    `waiting`, which has only the needed columns and facts of these days. `currency` keeps the lines in one currency,
    or converts amounts by the view `rates`.

    Raises UserError for text that SQL cannot hold.
    """
    names = _Names()
    tables = [
        (
            names[ALL_LINES if query.limit else query.kind.value],
            _lines(query, files, waiting, present, start, end, currency, rates),
        )
    ]
    if query.limited_facts is not None:
        tables.append((names[query.kind.value], _tree(query.limited_facts)))
    tree = _tree(query.expression)
    shared = tree.args.pop("with_", None)
    tables += [(names[each.alias], each.this) for each in shared.expressions] if shared else []
    for part in [tree, *(table for _, table in tables)]:
        names.replace(part)
    head = ", ".join(f"`{name}` AS ({table.sql(DIALECT)})" for name, table in tables)
    text = f"WITH {head} {tree.sql(DIALECT)}"
    check_text(text)
    return SparkStatement(text, tuple(query.result.names))


class _Names(dict[str, str]):
    """A short name for each identifier, the same throughout a statement. Views and columns of files keep their names."""

    def __missing__(self, name: str) -> str:
        self[name] = f"c{len(self)}"
        return self[name]

    def replace(self, tree: exp.Expr) -> None:
        for identifier in tree.find_all(exp.Identifier):
            if not identifier.meta.get("is_stored"):
                identifier.set("this", self[identifier.name])
                identifier.set("quoted", True)


def _own_name(name: str) -> exp.Identifier:
    identifier = exp.to_identifier(name, quoted=True)
    identifier.meta["is_stored"] = True
    return identifier


def _tree(expression: Any) -> exp.Query:
    # Ibis uses one node in several places.
    tree: exp.Query = _with_lists(_to_sqlglot(expression)).copy()
    # Leaves first, because functions are arguments of other functions.
    for node in reversed(list(tree.walk())):
        replacement = _spark_node(node)
        if replacement is not node:
            node.replace(replacement)
    return tree


def _with_lists(tree: exp.Query) -> exp.Query:
    """The tree with lists in place of Ibis's tuples, which sqlglot does not traverse."""
    nodes: list[exp.Expr] = [tree]
    while nodes:
        node = nodes.pop()
        for name, value in node.args.items():
            if isinstance(value, tuple):
                node.set(name, list(value))
        nodes.extend(node.iter_expressions())
    return tree


def _spark_node(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Anonymous) and (function := FUNCTIONS.get(node.name.lower())):
        return function(*node.expressions)
    if isinstance(node, exp.Greatest | exp.Least) and not node.expressions:
        # Apache Spark refuses one argument; Sail accepts it.
        only: exp.Expr = node.this
        return only
    if isinstance(node, exp.Cast) and node.is_type("decimal") and node.this.is_string:
        # Sail does not parse an exponent: 0E-18.
        node.this.set("this", f"{Decimal(node.this.name):f}")
    return node


def _lines(
    query: Query,
    files: str | None,
    waiting: str | None,
    present: frozenset[str],
    start: date,
    end: date,
    currency: Currency | None,
    rates: str | None,
) -> exp.Query:
    """The facts of files and inbox."""
    if files is None and waiting is None:
        return exp.select(*[_null(query, name) for name in query.needed]).where(exp.false())
    inbox_facts = (
        exp.select(*[_column(name) for name in query.needed]).from_(_view(waiting)) if waiting else None
    )
    if files is None:
        return inbox_facts or exp.select()
    if currency is not None and rates is not None:
        return _converted_lines(query, files, rates, present, start, end, currency)
    columns = [_column(name) if _in_file(name) in present else _null(query, name) for name in query.needed]
    day = exp.Column(this=_own_name(schemas.day_column(query.kind)))
    facts = (
        exp.select(*columns).from_(_view(files)).where(exp.Between(this=day, low=_day(start), high=_day(end)))
    )
    if currency is not None:
        own = exp.EQ(
            this=exp.Column(this=_own_name("currency")), expression=exp.Literal.string(currency.currency)
        )
        facts = facts.where(own)
    return exp.union(facts, inbox_facts, distinct=False) if inbox_facts is not None else facts


def _converted_lines(
    query: Query, files: str, rates: str, present: frozenset[str], start: date, end: date, currency: Currency
) -> exp.Query:
    needed = dict.fromkeys([*query.needed, "currency"])
    columns = [_column(name) if _in_file(name) in present else _null(query, name) for name in needed]
    lines = (
        exp.select(*columns, *(exp.Column(this=_own_name(name)) for name in ("rate", "rate_coarse")))
        .from_(_view(files))
        .where(exp.Between(this=exp.Column(this=_own_name("charge_date")), low=_day(start), high=_day(end)))
        .join(
            _view(rates),
            on="`rate_currency` = `currency` AND `rate_day` = `charge_date`",
            join_type="left",
            dialect=DIALECT,
        )
    )
    return spark_conversion.convert_lines(lines, query.needed, currency.currency)


def _in_file(name: str) -> str:
    return "currency" if name == OWN_CURRENCY else name


def _column(name: str) -> exp.Expr:
    return exp.alias_(exp.Column(this=_own_name(_in_file(name))), name, quoted=True)


def _null(query: Query, name: str) -> exp.Expr:
    types = {field.name: spark_type(field.type) for field in schemas.base_schema(query.kind)}
    return exp.alias_(exp.cast(exp.null(), types.get(name, "STRING"), dialect=DIALECT), name, quoted=True)


def _view(name: str | None) -> exp.Table:
    return exp.Table(this=_own_name(name or ""))


def _day(day: date) -> exp.Cast:
    return exp.cast(exp.Literal.string(day.isoformat()), "DATE", dialect=DIALECT)


def spark_type(type_: Any) -> str:
    """Return the Spark SQL name of an Arrow type used in files."""
    text = str(type_)
    if text.startswith("decimal"):
        return f"DECIMAL({type_.precision},{type_.scale})"
    if text.startswith("timestamp"):
        return "TIMESTAMP"
    return {"date32[day]": "DATE", "string": "STRING", "int32": "INT"}[text]
