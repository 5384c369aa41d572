"""Compiles an expression over facts into one SQL text over an account's files. Pure: it runs nothing.

Ibis builds and compiles; this module only puts the expression's single source, a common table expression over the
chosen files, in front of it. The compilers of Ibis and sqlglot turn values and names into text, never string
formatting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, Final

import ibis
import pyarrow as pa
from ibis.backends.sql.compilers.duckdb import DuckDBCompiler
from sqlglot import exp

from finops.lake import schema as schemas
from finops.lake.engine.conversion import (
    CONVERTED_COLUMNS,
    Currencies,
    DayRates,
    OneCurrency,
    conversion_steps,
)
from finops.lake.schema import OWN_CURRENCY, Kind
from finops.lib.cost_access import CostLimit
from finops.lib.errors import UserError

DIALECT: Final = "duckdb"
INBOX_TABLE: Final = "waiting"
"""The table of events that are not in a file yet."""
RATES_TABLE: Final = "day_rates"
"""The table of exchange rates (`conversion.RATES_SCHEMA`)."""
ALL_LINES: Final = "lines of the account"
"""The table of all lines, before the reader's limit. No column and no expression of a question uses this name."""
to_sqlglot: Final = DuckDBCompiler().to_sqlglot

Build = Callable[[Any], Any]
"""A function from the table of facts to the result table, both as Ibis expressions."""


@dataclass(frozen=True)
class File:
    """A file to read, and which of the needed columns it has."""

    path: str
    columns: frozenset[str]


@dataclass(frozen=True)
class Currency:
    """How a question treats currencies: convert by the rates, or keep only the lines in `currency`."""

    currency: str
    rates: DayRates | None = None

    @property
    def identity(self) -> str:
        return f"{self.currency} {self.rates.identity if self.rates else 'alone'}"


@dataclass(frozen=True)
class Query:
    """A compiled expression with its needed columns and result types, independent of the files that it is run over."""

    kind: Kind
    needed: tuple[str, ...]
    result: pa.Schema
    body: str
    table_expressions: tuple[str, ...]
    """Table expressions that the expression uses more than once, as Ibis names and compiles them."""
    limit: str = ""
    """The table expression that selects the facts from ALL_LINES for a reader with limited cost access."""
    expression: Any = field(default=None, compare=False, repr=False)
    """The Ibis expression, for another engine's compiler."""
    limited_facts: Any = field(default=None, compare=False, repr=False)
    """The same limit as an Ibis expression."""

    @cached_property
    def identity(self) -> str:
        """Everything that distinguishes this query from others, except files and days."""
        parts = (
            self.kind.value,
            self.body,
            self.limit,
            *self.table_expressions,
            *self.needed,
            str(self.result),
        )
        return "\x00".join(parts)

    @cached_property
    def digest(self) -> str:
        """A hash of `identity`: 128 bits in hex."""
        return hashlib.sha256(self.identity.encode(errors="surrogatepass")).hexdigest()[:32]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The needed columns that are stored in files."""
        stored = ("currency" if name == OWN_CURRENCY else name for name in self.needed)
        return tuple(dict.fromkeys(stored))

    @cached_property
    def has_amounts(self) -> bool:
        """Whether the query reads an amount in the currency of its line."""
        return not CONVERTED_COLUMNS.isdisjoint(self.needed)

    def currency(self, currencies: Currencies | None, start: date, end: date) -> Currency | None:
        """The currency treatment inside the current scope; None outside a scope, and where no line to read has a
        rate."""
        if currencies is None or self.kind is not Kind.COST:
            return None
        if isinstance(currencies, OneCurrency):
            return Currency(currencies.currency)
        rates = currencies.rates(start, end) if self.has_amounts or "currency" in self.needed else None
        return Currency(currencies.currency, rates) if rates else None

    def sql(
        self,
        files: Sequence[File],
        start: date,
        end: date,
        *,
        waiting: bool = False,
        currency: Currency | None = None,
    ) -> str:
        """The statement over these files and these days (inclusive). Raises UserError for text that SQL cannot hold.

        With `waiting` it also reads INBOX_TABLE, which has the needed columns and facts of these days only; a
        `currency` with rates reads RATES_TABLE.
        """
        facts: exp.Query = select_facts(self, files, start, end, currency)
        if waiting:
            inbox_facts = exp.select(*[_column(name) for name in self.needed]).from_(_table(INBOX_TABLE))
            facts = exp.union(facts, inbox_facts, distinct=False) if files else inbox_facts
        lines = facts.sql(DIALECT)
        if files and currency is not None and currency.rates is not None:
            before, after = _conversion_around(self.needed, currency.currency)
            lines = f"{before}{lines}{after}"
        cte = f"{alias(ALL_LINES if self.limit else self.kind.value).sql(DIALECT)} AS ({lines})"
        tables = [cte, self.limit, *self.table_expressions] if self.limit else [cte, *self.table_expressions]
        text = f"WITH {', '.join(tables)} {self.body}"
        check_text(text)
        return text


def compile_query(
    kind: Kind, build: Build, keys: Collection[str] = (), limit: CostLimit | None = None
) -> Query:
    """Compile `build` over the table of facts of `kind` with the key columns `keys`. For cost, only lines within the
    reader's limit are read.

    A `build` that is hashable and equal by value (a frozen dataclass with `__call__`) is compiled once.
    """
    query = _compile(kind, build, tuple(keys))
    return query if limit is None or kind is not Kind.COST else _within(query, limit)


def _within(query: Query, limit: CostLimit) -> Query:
    """Apply the limit in the table that the question names, so no expression can see other lines. The limit's columns
    are needed too: a rollup without them is not read."""
    needed, text, facts = _limit_expression(limit, query.needed)
    return replace(query, needed=needed, limit=text, limited_facts=facts)


@lru_cache(maxsize=256)
def _limit_expression(limit: CostLimit, needed: tuple[str, ...]) -> tuple[tuple[str, ...], str, Any]:
    """The columns to read and the table expression that keeps the lines of ALL_LINES within the limit, with the
    needed columns: as text and as Ibis expression."""
    keys = dict.fromkeys([*(key_of(name) for name in needed if schemas.is_key_column(name)), *limit.tag_keys])
    facts = fact_table(Kind.COST, tuple(keys), ALL_LINES)
    limited = facts.filter(limit.condition(facts).fill_null(False)).select(*needed)
    tree = to_sqlglot(limited)
    # A star if all columns are needed.
    named = {column.name for column in tree.find_all(exp.Column)} | set(needed)
    expression = f"{alias(Kind.COST.value).sql(DIALECT)} AS ({tree.sql(DIALECT)})"
    return tuple(name for name in facts.columns if name in named), expression, limited


def key_of(column: str) -> str:
    if column.startswith(schemas.EXTENSION_PREFIX):
        return schemas.ExtensionKey(schemas.extension_name(column))
    return schemas.tag_key(column)


@lru_cache(maxsize=256)
def _compile(kind: Kind, build: Build, keys: tuple[str, ...]) -> Query:
    facts = fact_table(kind, keys)
    expression = build(facts)
    tree = to_sqlglot(expression)
    needed = _needed_columns(kind, tree, facts.columns, expression.columns)
    shared = tree.args.pop("with_", None)
    return Query(
        kind=kind,
        needed=needed,
        result=pa.schema([(name, _arrow_type(dtype)) for name, dtype in expression.schema().items()]),
        body=tree.sql(DIALECT),
        table_expressions=tuple(each.sql(DIALECT) for each in shared.expressions) if shared else (),
        expression=expression,
    )


def cost_table(tag_keys: Collection[str] = ()) -> Any:
    """The unbound Ibis table of cost lines, with one column for each of these tag keys."""
    return fact_table(Kind.COST, tuple(tag_keys))


@lru_cache(maxsize=256)
def fact_table(kind: Kind, keys: tuple[str, ...] = (), name: str = "") -> Any:
    """The unbound Ibis table of facts of `kind`. Keys that no file has are present and null."""
    columns = schemas.segment_schema(kind, list(dict.fromkeys(keys)))
    types = {field.name: _ibis_type(field.type) for field in columns}
    if kind is Kind.COST:
        types[OWN_CURRENCY] = "string"
    return ibis.table(types, name=name or kind.value)


def rows_by_file_sql(files: Sequence[File], column: str, value: str) -> str:
    """The statement that counts the rows with this text in a column, by `filename`; files without such a row are left
    out."""
    table = _read_parquet(files, union_by_name=False)
    table.this.append("expressions", exp.EQ(this=exp.column("filename"), expression=exp.true()))
    has = exp.EQ(this=_column(column), expression=exp.Literal.string(value))
    selection = exp.select(_column("filename"), exp.alias_(exp.Count(this=exp.Star()), "rows"))
    return selection.from_(table).where(has).group_by(_column("filename")).sql(DIALECT)


def rollup_sql(files: Sequence[File], columns: Sequence[str], amounts: Collection[str], *, order: str) -> str:
    """The statement that adds up rows that are equal in all columns except `amounts`, and in the signs of the
    amounts. Null and 0 stay apart, and sums are as exact as the amounts."""
    keys = [_column(name) for name in columns if name not in amounts]
    signs = [exp.func("sign", _column(name), dialect=DIALECT) for name in columns if name in amounts]
    outputs = [
        exp.alias_(exp.Sum(this=_column(name)), name, quoted=True) if name in amounts else _column(name)
        for name in columns
    ]
    rows = exp.select(*outputs).from_(_read_parquet(files, union_by_name=False))
    return rows.group_by(*keys, *signs).order_by(_column(order)).sql(DIALECT)


def group_counts_sql(files: Sequence[File], groupings: Sequence[Sequence[str]]) -> str:
    """The statement that estimates, within a few percent, how many groups each of these sets of columns has; one row."""
    counts = [
        exp.alias_(
            exp.ApproxDistinct(this=exp.Anonymous(this="hash", expressions=[*map(_column, names)])), f"n{at}"
        )
        for at, names in enumerate(groupings)
    ]
    return exp.select(*counts).from_(_read_parquet(files, union_by_name=False)).sql(DIALECT)


def sums_sql(files: Sequence[File], keys: Sequence[str], amounts: Sequence[str]) -> str:
    """The statement for the number of lines and the exact sums of `amounts` in each group of these columns."""
    names = [_column(name) for name in keys]
    sums = [exp.alias_(exp.Sum(this=_column(name)), name, quoted=True) for name in amounts]
    lines = exp.alias_(exp.Count(this=exp.Star()), "lines", quoted=True)
    rows = exp.select(*names, lines, *sums).from_(_read_parquet(files, union_by_name=False))
    return rows.group_by(*names).sql(DIALECT)


def _needed_columns(
    kind: Kind, tree: exp.Query, columns: Collection[str], result: Collection[str]
) -> tuple[str, ...]:
    """The fact columns that the tree names, or passes on by a star; at least one.

    Collected here because DuckDB's own pruning reads every column of a table expression that is used twice. A derived
    column with the name of a fact column adds one column too many, which is harmless.
    """
    named = {column.name for column in tree.find_all(exp.Column)}
    passed_on = set(result) if tree.find(exp.Star) else set()
    return tuple(name for name in columns if name in named | passed_on) or (schemas.day_column(kind),)


def select_facts(
    query: Query, files: Sequence[File], start: date, end: date, currency: Currency | None = None
) -> exp.Select:
    """The facts as stored in files; amounts to be converted come with the rate of their day."""
    types = {field.name: field.type for field in schemas.base_schema(query.kind)}
    counts = {name: sum(name in file.columns for file in files) for name in query.columns}
    is_converted = bool(files) and currency is not None and currency.rates is not None
    columns = [
        _fact(name)
        if counts["currency" if name == OWN_CURRENCY else name]
        else _null(name, types.get(name, pa.string()))
        for name in (query.columns if is_converted else query.needed)
    ]
    facts = exp.select(*columns)
    if not files:
        return facts.where(exp.false())
    # Without union_by_name DuckDB takes the columns of the first file, opens no other before it reads it, and
    # refuses a file that lacks one of them.
    differ = any(0 < count < len(files) for count in counts.values())
    days = exp.Between(this=_column(schemas.day_column(query.kind)), low=_day(start), high=_day(end))
    facts = facts.from_(_read_parquet(files, union_by_name=differ)).where(days)
    if currency is None:
        return facts
    if currency.rates is None:
        return facts.where(exp.EQ(this=_column("currency"), expression=exp.Literal.string(currency.currency)))
    facts = facts.select(*map(_column, _RATE_COLUMNS))
    return facts.join(_table(RATES_TABLE), on=_RATE_OF_LINE, join_type="left")


def _fact(name: str) -> exp.Expr:
    if name == OWN_CURRENCY:
        return exp.alias_(_column("currency"), name, quoted=True)
    return _column(name)


_RATE_OF_LINE: Final = '"rate_currency" = "currency" AND "rate_day" = "charge_date"'
_RATE_COLUMNS: Final = ("rate", "rate_coarse", "rate_fine")


@lru_cache(maxsize=256)
def _conversion_around(needed: tuple[str, ...], code: str) -> tuple[str, str]:
    """The text around lines with rates that converts them. Each step is a query around the previous one, because
    DuckDB computes a common subexpression once only across queries. Kept as text: building the tree takes 20 ms a
    question."""
    steps = [conversion_steps(name) for name in needed if name in CONVERTED_COLUMNS]
    amounts = {name: f"{text} AS {name}" for name, text in (each[-1] for each in steps)}
    columns = [
        _currency_code(code).sql(DIALECT)
        if name == "currency"
        else amounts.get(f'"{name}"') or _fact(name).sql(DIALECT)
        for name in needed
    ]
    layers = [
        ["*", *(f"{text} AS {name}" for name, text in step)]
        for step in zip(*(each[:-1] for each in steps), strict=True)
    ]
    before = [f"SELECT {', '.join(layer)} FROM (" for layer in (columns, *reversed(layers))]  # noqa: S608 - our own names
    return "".join(before), "".join(") AS lines" for _ in before)


def _currency_code(code: str) -> exp.Expr:
    """The currency of an amount; a line without a rate keeps its own."""
    has_rate = _column("rate").is_(exp.null()).not_()
    case = exp.Case().when(has_rate, exp.Literal.string(code)).else_(_column("currency"))
    return exp.alias_(case, "currency", quoted=True)


def _read_parquet(files: Sequence[File], *, union_by_name: bool) -> exp.Table:
    paths = exp.Array(expressions=[exp.Literal.string(file.path) for file in files])
    # A directory named service=x above the lake must not become a column.
    options = {"hive_partitioning": False, **({"union_by_name": True} if union_by_name else {})}
    arguments = [
        exp.EQ(this=exp.column(name), expression=exp.convert(value)) for name, value in options.items()
    ]
    return exp.Table(this=exp.ReadParquet(expressions=[paths, *arguments]))


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))


def _null(name: str, type_: pa.DataType) -> exp.Expr:
    return exp.alias_(exp.cast(exp.null(), _sql_type(type_), dialect=DIALECT), name, quoted=True)


def _day(day: date) -> exp.Cast:
    return exp.cast(exp.Literal.string(day.isoformat()), "DATE", dialect=DIALECT)


def check_text(sql: str) -> None:
    """Raises UserError for text that SQL cannot hold."""
    if "\x00" in sql:
        raise UserError("A filter value contains a NUL character. Remove it.")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise UserError("A filter value is not valid Unicode text (lone surrogate). Remove it.") from error


def _sql_type(type_: pa.DataType) -> str:
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return "TIMESTAMPTZ"
    return {pa.date32(): "DATE", pa.string(): "VARCHAR", pa.int32(): "INTEGER"}[type_]


def _ibis_type(type_: pa.DataType) -> str:
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision}, {type_.scale})"
    if pa.types.is_timestamp(type_):
        return f"timestamp('{type_.tz}', 6)"
    return {pa.date32(): "date", pa.string(): "string", pa.int32(): "int32"}[type_]


_ARROW_TYPES: Final = {
    "String": pa.string(),
    "Date": pa.date32(),
    "Boolean": pa.bool_(),
    "Int8": pa.int8(),
    "Int16": pa.int16(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "Float64": pa.float64(),
}


def _arrow_type(dtype: Any) -> pa.DataType:
    """The Arrow type of an Ibis type. (Ibis has this function too, in a package that it does not require.)"""
    if dtype.is_decimal():
        return pa.decimal128(dtype.precision or 38, dtype.scale or 0)
    if dtype.is_timestamp():
        return pa.timestamp("us", tz=dtype.timezone)
    return _ARROW_TYPES[type(dtype).__name__]
