"""Large FOCUS files for the import benchmark: the rows of the FOCUS 1.3 sample, repeated with varied values."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

SAMPLE = Path(__file__).parents[1] / "tests/data/focus/synthetic/focus_1_3_cost_and_usage_aws.csv.gz"
VARIED_COSTS = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
SEED = 20_261_120
RESOURCES = 50_000
ROW_GROUP_BYTES = 128 << 20
AMOUNTS = ("Cost", "Quantity", "UnitPrice")


def write_csv(path: Path, rows: int, seed: int = SEED) -> None:
    """65 columns, about 1,350 bytes a row: hourly charges, 14 decimals, 50,000 resources, 27 tag sets."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        header, *sample = _sample()
        writer.writerow(header)
        writer.writerows(_vary_rows(header, sample, rows, seed))


def write_parquet(csv_path: Path, path: Path) -> None:
    """The same rows as providers write Parquet: decimals, timestamps with zone, tags as a map, snappy."""
    options = pacsv.ConvertOptions(
        column_types=_csv_types(csv_path), strings_can_be_null=True, quoted_strings_can_be_null=True
    )
    read = pacsv.ReadOptions(block_size=ROW_GROUP_BYTES)
    parse = pacsv.ParseOptions(newlines_in_values=True)
    writer: Any = None
    for batch in pacsv.open_csv(csv_path, read, parse, options):
        table = _with_map(pa.Table.from_batches([batch]))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def _sample() -> list[list[str]]:
    with gzip.open(SAMPLE, "rt", newline="") as file:
        return list(csv.reader(file))


def _vary_rows(header: list[str], sample: list[list[str]], rows: int, seed: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    costs = [header.index(name) for name in VARIED_COSTS]
    resource = header.index("ResourceId")
    for number in range(rows):
        row = list(sample[number % len(sample)])
        for place in costs:
            row[place] = f"{chance.random() * 10:.14f}"
        if row[resource]:
            row[resource] += f"-{chance.randrange(RESOURCES)}"
        yield row


def _csv_types(csv_path: Path) -> dict[str, pa.DataType]:
    with csv_path.open(newline="") as file:
        header = next(csv.reader(file))
    types: dict[str, pa.DataType] = dict.fromkeys(header, pa.string())
    types |= {name: pa.decimal128(38, 14) for name in header if name.endswith(AMOUNTS)}
    return types | {
        name: pa.timestamp("ms", tz="UTC") for name in header if name.endswith(("PeriodStart", "PeriodEnd"))
    }


def _with_map(table: pa.Table) -> pa.Table:
    column = table.column("Tags").combine_chunks().dictionary_encode()
    distinct = [list(json.loads(text).items()) for text in column.dictionary.to_pylist()]
    maps = pa.array(distinct, pa.map_(pa.string(), pa.string())).take(column.indices)
    place = table.schema.get_field_index("Tags")
    return table.set_column(place, "Tags", maps)
