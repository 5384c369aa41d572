"""The lines of one made-up month of a bill, with what belongs together in a real one.

Proportions are those of the FOCUS 1.0 sample (tests/data/focus/focus-1.0-real: 1,000 lines drawn from a month of 5.5
million). A thousand lines drawn from here, beside it, as different values, and as how many values of equal size would meet
as often when two lines are drawn (in brackets):

    service 104 (4), sample 33 (3)     account 68 (10), sample 73 (9)         region 28 (6), sample 26 (4)
    SKU 490 (57), sample 267 (31)      sets of tags 300 (9), sample 355 (9)   resource 937 (2,900), sample 842 (3,600)
    resource and day 990 (50,000), sample 919 (71,000)
    SKU, region, account, tags and day together 954 (8,300), sample 871 (1,900)

So lines are alike less often than in the sample. As there: a SKU is of one service and region, a resource of one service,
region and account and has a few SKUs, tags come from the application that a resource is of, an application is in one
account and mostly one region, 29 % of the lines have no tags, and a resource has lines by the hour (95 % of the sample):
here 12 a day, on days of its own. Commitments (the sample has 4 lines) are of a service and account and cover an eighth of
the lines of the three largest services.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

import duckdb
import pyarrow as pa

LINES_A_DAY: Final = 12
"""Lines per resource and day."""

ACCOUNTS, REGIONS, SERVICES, APPS, TEAMS, RESOURCES, COMMITMENTS = 75, 28, 120, 1_500, 25, 40_000, 40
SKUS: Final = 48
"""SKUs of the largest service in one region; others have fewer, at least 5."""

TAGGED: Final = 0.71
FILLED_TAGS: Final = 12
"""Approximate number of tags per line, out of many tag keys."""

WORDS: Final = {
    "charge_category": ["Usage", "Purchase", "Tax", "Credit", "Adjustment"],
    "charge_frequency": ["Usage-Based", "Recurring", "One-Time"],
    "pricing_category": ["Standard", "Committed", "Dynamic"],
    "commitment_type": ["Reservation", "Savings Plan"],
    "commitment_category": ["Usage", "Spend"],
    "commitment_status": ["Used", "Unused"],
    "commitment_unit": ["Hours", "USD"],
    "currency": ["USD"],
    "source": ["1"],
}
"""Values that FOCUS defines; all other texts are numbered."""


def random(salt: str, of: str = "i") -> str:
    """Return a number from 0 to 1, determined by the salt and `of`, an SQL expression."""
    return f"((hash({of} + {crc32(salt.encode()) << 20}) >> 11) / 9007199254740992.0)"


def place(number: str, count: int, skew: float) -> str:
    """Return one of `count` values: the first are common and most are rare; a larger `skew` increases the difference
    (1: uniform)."""
    return f"CAST(floor(pow({number}, {skew}) * {count}) AS INTEGER)"


_APPS: Final = f"""
SELECT i AS app, {place(random("app account"), ACCOUNTS, 3)} AS account, {place(random("app home"), REGIONS, 4)} AS home,
    {place(random("app team"), TEAMS, 2)} AS team
FROM range({APPS}) AS apps(i)
"""
_RESOURCES: Final = f"""
SELECT i AS resource, app, account, team, {place(random("service"), SERVICES, 7)} AS service,
    if({random("away")} < 0.85, home, {place(random("region"), REGIONS, 3)}) AS region,
    {random("own sku")} AS own_sku, {random("tagged")} < {TAGGED} AS tagged
FROM (SELECT i, {place(random("app"), APPS, 5)} AS app FROM range({RESOURCES}) AS resources(i)) JOIN apps USING (app)
"""
_LINES: Final = f"""
SELECT i, {place(random("day", "run"), 28, 1)} AS day, resources.*,
    if({random("common sku")} < 0.75, {place(random("sku"), 4, 4)},
        CAST(floor(pow(own_sku, 3) * greatest(5, {SKUS} // (1 + service))) AS INTEGER)) AS meter,
    {random("kind")} AS kind,
    service < 3 AND {random("committed", "run")} < 0.125 AS committed,
    CAST(exp({random("cost")} * 14 - 8) AS DECIMAL(18, 10)) AS cost
FROM (
    SELECT i, run, {place(random("resource", "run"), RESOURCES, 2.5)} AS resource
    FROM (SELECT i, i % {{runs}} AS run FROM range({{lines}}) AS lines(i))
) JOIN resources USING (resource)
"""
_SKU: Final = f"(service * {REGIONS} + region) * {SKUS} + meter"
_KIND: Final = "CASE WHEN kind < 0.002 THEN 1 WHEN kind < 0.003 THEN 2 WHEN kind < 0.005 THEN 3 WHEN kind < 0.007 THEN 4 ELSE 0 END"
"""Purchases, taxes, credits and adjustments are few among the lines of a bill."""

_OURS: Final = "if(committed AND kind NOT BETWEEN 0.002 AND 0.007, {}, NULL)"
_COST: Final = "if(kind BETWEEN 0.003 AND 0.019, -cost, cost)"
"""Credits, adjustments and a hundredth of the usage (discounts) are negative, as in the sample."""

TEXTS: Final = {
    "source": "0",
    "provider": "CASE WHEN service < 60 THEN 0 WHEN service < 100 THEN 1 ELSE 2 END",
    "service": "service",
    "service_category": "service % 16",
    "region": "region",
    "account_id": "account",
    "account_name": "account",
    "usage_type": _SKU,
    "sku_id": _SKU,
    "resource_id": "resource",
    "resource_name": "resource",
    "resource_type": "service % 90",
    "actor": "app % 300",
    "charge_category": _KIND,
    "charge_frequency": f"CASE {_KIND} WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 0 END",
    "charge_description": f"service * {SKUS} + meter",
    "pricing_category": f"CASE WHEN committed THEN 1 WHEN {random('spot', 'resource')} < 0.05 THEN 2 ELSE 0 END",
    "commitment_id": _OURS.format(f"(service * 13 + account) % {COMMITMENTS}"),
    "commitment_name": _OURS.format(f"(service * 13 + account) % {COMMITMENTS}"),
    "commitment_type": _OURS.format("(service * 13 + account) % 2"),
    "commitment_category": _OURS.format("(service * 13 + account) % 2"),
    "commitment_status": _OURS.format(f"if(kind < 0.002, NULL, CAST({random('unused')} < 0.02 AS INTEGER))"),
    "commitment_unit": _OURS.format("(service * 13 + account) % 2"),
    "currency": "0",
    "consumed_unit": "meter % 12",
}
"""The number of the value of each text column; the others are null, as in most bills."""

AMOUNTS: Final = {
    "billed_cost": f"if(committed AND kind >= 0.002, 0, {_COST})",
    "effective_cost": f"if(committed, if(kind < 0.002, 0, {_COST} * 0.6), {_COST})",
    "list_cost": f"{_COST} * 1.1",
    "contracted_cost": _COST,
    "consumed_quantity": f"CAST(exp({random('quantity')} * 14 - 8) AS DECIMAL(18, 10))",
    "commitment_quantity": _OURS.format("cost * 0.5"),
}


def lines_of_a_month(lines: int) -> pa.Table:
    """`day` (0 to 27) and every filled column but tags. The same at every call; texts are dictionaries."""
    with _fill(lines) as bill:
        texts = ", ".join(f'CAST({number} AS INTEGER) AS "{name}"' for name, number in TEXTS.items())
        amounts = ", ".join(
            f'CAST(CAST({amount} AS DECIMAL(38, 10)) AS DECIMAL(38, 18)) AS "{name}"'
            for name, amount in AMOUNTS.items()
        )
        table = bill.execute(f"SELECT day, {texts}, {amounts} FROM bill ORDER BY i").to_arrow_table()
    return _with_texts(table, list(TEXTS))


def tags_of_a_month(lines: int, columns: dict[str, str]) -> pa.Table:
    """The tag columns of the same lines, by key. `env`, `team` and `app` are the application's; of other keys, one of
    two is the application's and one the resource's own."""
    with _fill(lines) as bill:
        tags = ", ".join(
            f'CAST({_tag(at, key, len(columns))} AS INTEGER) AS "{column}"'
            for at, (key, column) in enumerate(columns.items())
        )
        table = bill.execute(f"SELECT {tags} FROM bill ORDER BY i").to_arrow_table()
    return _with_texts(table, list(columns.values()))


def _fill(lines: int) -> duckdb.DuckDBPyConnection:
    bill = duckdb.connect()
    bill.execute(f"CREATE TABLE apps AS {_APPS}")
    bill.execute(f"CREATE TABLE resources AS {_RESOURCES}")
    runs = max(1, lines // LINES_A_DAY)
    bill.execute(f"CREATE TABLE bill AS {_LINES.format(lines=lines, runs=runs)}")
    return bill


def _tag(at: int, key: str, keys: int) -> str:
    expressions = {"env": "account % 5", "team": "team", "app": "app"}
    if key in expressions:
        return f"if(tagged, {expressions[key]}, NULL)"
    owner = "app" if at % 2 else "resource"
    filled = f"{random(key, owner)} < {FILLED_TAGS / keys}"
    return f"if(tagged AND {filled}, {place(random(f'value of {key}', owner), TEAMS, 2)}, NULL)"


def _with_texts(table: pa.Table, texts: list[str]) -> pa.Table:
    """With the numbers of these columns as the texts that they stand for."""
    for name in texts:
        numbers = table[name].combine_chunks().dictionary_encode()
        values = pa.array([_text(name, number) for number in numbers.dictionary.to_pylist()], pa.string())
        worded = pa.DictionaryArray.from_arrays(numbers.indices, values)
        table = table.set_column(table.column_names.index(name), name, worded)
    return table.combine_chunks()


def _text(name: str, number: int) -> str:
    return WORDS[name][number] if name in WORDS else f"{name}-{number:08x}"
