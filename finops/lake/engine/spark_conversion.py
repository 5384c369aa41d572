"""Converted amounts in Spark SQL: `conversion.convert` for each line, exactly, with decimals of at most 38 digits.

An amount times a rate has 53 digits. So the amount is split into whole units, 9 decimals and the other 9, each
rounded to the nearest, so that the next part may be negative; the product of each part has a type with room for all
of its digits. Digits below the 18th decimal are summed separately and rounded once: the result equals DuckDB's to the
last digit. Each step casts explicitly, since engines differ in how they shorten the type of a product with more than
38 digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from sqlglot import exp, parse_one

from finops.lake.engine.conversion import CONVERTED_COLUMNS

RATE_COLUMNS: Final = ("rate_currency", "rate_day", "rate", "rate_coarse")
"""The columns of RATES_SCHEMA that this conversion needs."""

PRODUCT_DIGITS: Final = 15
"""Digits before the point of an amount, and of its product with a rate. The caller proves that there are no more."""

_ONE: Final = "CAST('1' AS DECIMAL(1,0))"


def conversion_steps(amount: str) -> list[dict[str, str]]:
    """Expressions by name that convert a column of lines with `rate` and `rate_coarse` (or null); each uses those
    before it. The last one is the converted amount."""
    names = ("size", "whole", "fraction", "coarse", "rest", "product", "units", "below")
    size, whole, fraction, coarse, remainder, product, units, below = (
        f"`{name} of {amount}`" for name in names
    )
    fine = "CAST(`rate` - `rate_coarse` AS DECIMAL(14,14))"
    under = (
        f"CAST({product} - {units} AS DECIMAL(24,23)) + CAST({remainder} * `rate_coarse` AS DECIMAL(28,27)) "
        f"+ CAST({remainder} * {fine} AS DECIMAL(33,32))"
    )
    total = (
        f"CAST(CAST({whole} * `rate` AS DECIMAL(33,18)) + {units} + CAST({below} - {_ONE} AS DECIMAL(19,18)) "
        "AS DECIMAL(38,18))"
    )
    return [
        {size: f"CASE WHEN `rate` IS NOT NULL THEN CAST(abs(`{amount}`) AS DECIMAL(34,18)) END"},
        {whole: f"CAST({size} AS DECIMAL(16,0))"},
        {fraction: f"CAST({size} - {whole} AS DECIMAL(18,18))"},
        {coarse: f"CAST({fraction} AS DECIMAL(10,9))"},
        {
            remainder: f"CAST({fraction} - {coarse} AS DECIMAL(18,18))",
            product: f"CAST({coarse} * `rate` AS DECIMAL(30,23))",
        },
        {units: f"CAST({product} AS DECIMAL(25,18))"},
        # Add and subtract one: a half is rounded up whatever the sign of the digits below.
        {below: f"CAST({under} + {_ONE} AS DECIMAL(20,18))"},
        {
            f"`{amount}`": (
                f"CASE WHEN `rate` IS NULL THEN `{amount}` WHEN `{amount}` < CAST('0' AS DECIMAL(1,0)) "
                f"THEN -{total} ELSE {total} END"
            )
        },
    ]


@lru_cache(maxsize=256)
def converted_lines(needed: Sequence[str], code: str) -> tuple[str, str]:
    """The text around lines with their `rate` that converts them: the needed columns, with amounts in this currency.
    A line without a rate keeps its amount and its currency."""
    steps = [conversion_steps(name) for name in needed if name in CONVERTED_COLUMNS]
    amounts = {name: text for each in steps for name, text in each[-1].items()}
    columns = []
    for name in needed:
        quoted = f"`{name.replace('`', '``')}`"
        if name == "currency":
            code_text = exp.Literal.string(code).sql("spark")
            text = f"CASE WHEN `rate` IS NOT NULL THEN {code_text} ELSE `currency` END"
        else:
            text = amounts.get(quoted, quoted)
        columns.append(f"{text} AS {quoted}")
    layers = [columns]
    for at in range(len(steps[0]) - 2 if steps else -1, -1, -1):
        layers.append(["*", *(f"{text} AS {name}" for each in steps for name, text in each[at].items())])
    before = "".join(f"SELECT {', '.join(layer)} FROM (" for layer in layers)  # noqa: S608 - our own names
    return before, ") AS lines" * len(layers)


def convert_lines(lines: exp.Select, needed: Sequence[str], code: str) -> exp.Query:
    """The query of `lines`, converted. Its columns have the names of facts, and inner queries keep theirs."""
    before, after = converted_lines(tuple(needed), code)
    tree: exp.Select = parse_one(f"{before}{lines.sql('spark')}{after}", dialect="spark", into=exp.Select)
    outputs = {id(column.args["alias"]) for column in tree.expressions}
    for identifier in tree.find_all(exp.Identifier):
        identifier.meta["is_stored"] = id(identifier) not in outputs
    return tree
