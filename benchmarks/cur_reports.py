"""CUR 2.0 of a month as Data Exports delivers it: one billing month, and lines that differ in id, resource and amounts."""

from __future__ import annotations

import array
import base64
import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.finops.costs.native import cur_files

SAMPLE_LINES = 40_000
MONTH = 5
RESOURCES = 50_000
ID_LENGTH = 52
DECIMALS = 10
"""Decimal places of amounts, as in most AWS reports."""


def write_reports(folder: Path, lines: int, files: int, different: int | None = None) -> Iterator[Path]:
    """Files of one month with so many lines together; of these `different` have amounts and resources of their own, all if
    None, and every line has an id of its own. Cost: 20 µs of CPU a different line."""
    sample = _sample()
    in_file = lines // files
    distinct_lines = _vary(sample, min(different or lines, lines))
    for number in range(files):
        start = number * in_file % distinct_lines.num_rows
        times = in_file // distinct_lines.num_rows + 2
        table = pa.concat_tables([distinct_lines] * times).slice(start, in_file)
        path = folder / f"cur2-{number:05d}.snappy.parquet"
        pq.write_table(_replace(table, "identity_line_item_id", _ids(in_file)), path, compression="snappy")
        yield path


def _sample() -> pa.Table:
    lines = [
        each
        for each in cur_files.month(SAMPLE_LINES)
        if each["bill_billing_period_start_date"].month == MONTH
    ]
    return pq.read_table(pa.BufferReader(cur_files.as_parquet(lines)))


def _vary(sample: pa.Table, lines: int) -> pa.Table:
    table = pa.concat_tables([sample] * (lines // sample.num_rows + 1)).slice(0, lines)
    chance = random.Random(1)
    for field in sample.schema:
        if pa.types.is_floating(field.type) and "rate" not in field.name:
            amounts = [
                value and round(value * chance.random(), DECIMALS) for value in table[field.name].to_pylist()
            ]
            table = _replace(table, field.name, pa.array(amounts, field.type))
    arn = "arn:aws:ec2:us-east-1:210000000001:instance/i-{:017x}"
    name = partial(chance.randrange, RESOURCES)
    resources = [value and arn.format(name()) for value in table["line_item_resource_id"].to_pylist()]
    return _replace(table, "line_item_resource_id", pa.array(resources, pa.string()))


def _replace(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _ids(count: int) -> pa.Array:
    letters = base64.b32encode(os.urandom((count * ID_LENGTH // 8 + 1) * 5)).lower()[: count * ID_LENGTH]
    ends = array.array("i", range(0, (count + 1) * ID_LENGTH, ID_LENGTH))
    return pa.Array.from_buffers(
        pa.string(), count, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(letters)]
    )
