"""Files of every format that a generator made hostile: each is read or refused with a sentence, in bounded memory.

5 of a format in the suite, 200 in `make soak`. They are read in children, for a footer that lies may end the process.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.lib import child_process
from finops.lib.child_process import ChildOutcome
from tests.finops.costs import hostile_files
from tests.finops.costs.focus_reader import ROW, as_csv
from tests.finops.costs.hostile_files import as_parquet, constant_column

pytestmark = pytest.mark.soak
FILES: Final = 200 if os.environ.get("SOAK") else 5
AT_ONCE: Final = 5
BOUND: Final = 900 * 2**20
COLUMNS: Final = [*ROW, "Tags", "ResourceId", "x_Notes", "x_User", "SkuPriceDetails", "InvoiceId"]
LYING: Final = [
    b"\xff\xff\xff\xff\x0f",
    b"\xfe\xff\xff\xff\x07",
    b"\x00",
    b"\x80\x80\x80\x80\x08",
    b"\x9c" * 3,
]
"""Varints of thrift: counts and sizes of 4 billion, of 2, of nothing."""


def nested_type(random: Random, depth: int = 0) -> tuple[pa.DataType, Callable[[], Any]]:
    """A type and its values, up to eight levels deep."""
    kind = random.choice(["text", "list", "struct", "map", "number"]) if depth < 8 else "text"
    if kind == "list":
        inner, value = nested_type(random, depth + 1)
        return pa.list_(inner), lambda: [value() for _ in range(random.randint(0, 4))]
    if kind == "struct":
        parts = [nested_type(random, depth + 1) for _ in range(random.randint(1, 3))]
        type_ = pa.struct([(f"f{place}", part[0]) for place, part in enumerate(parts)])
        return type_, lambda: {f"f{place}": part[1]() for place, part in enumerate(parts)}
    if kind == "map":
        inner, value = nested_type(random, depth + 1)
        return pa.map_(pa.string(), inner), lambda: [
            (f"k{place}", value()) for place in range(random.randint(0, 4))
        ]
    if kind == "number":
        return pa.int64(), lambda: random.getrandbits(62)
    return pa.string(), lambda: random.choice([None, "", "v" * random.choice([1, 70_000])])


def parquet(random: Random) -> bytes:
    rows = random.choice([1, 7, 1_000, 65_536])
    columns: dict[str, pa.Array] = {}
    for column in random.sample(COLUMNS, random.randint(0, 3)):
        columns[column] = constant_column("x" * random.choice([0, 5, 3_000, 65_536, 2_000_000]), rows)
    if rows <= 1_000:
        type_, value = nested_type(random)
        columns[random.choice(COLUMNS)] = pa.array([value() for _ in range(rows)], type_)
    if random.random() < 0.2:
        columns |= {f"x_{place}": constant_column("a", rows) for place in range(random.choice([300, 2_500]))}
    data = as_parquet(columns, rows, store_schema=random.random() < 0.5)
    if random.random() < 0.1:
        data = parquet_with_column_twice(random.choice(COLUMNS))
    return with_altered_count(random, data) if random.random() < 0.7 else data


def parquet_with_column_twice(column: str) -> bytes:
    names = [*ROW, column]
    file = io.BytesIO()
    pq.write_table(pa.table([pa.array([ROW.get(name, "1")]) for name in names], names=names), file)
    return file.getvalue()


def with_altered_count(random: Random, data: bytes) -> bytes:
    """The file with other numbers in its footer, or anywhere."""
    altered = bytearray(data)
    footer = int.from_bytes(altered[-8:-4], "little")
    for _ in range(random.randint(1, 3)):
        first = len(altered) - 8 - footer if random.random() < 0.7 else 0
        place = random.randrange(max(first, 0), len(altered))
        lie = random.choice([*LYING, random.randbytes(1)])
        altered[place : place + len(lie)] = lie
    return bytes(altered)


def csv(random: Random) -> bytes:
    cells = [
        "",
        '"',
        "\n",
        "x" * 70_000,
        "9" * 5_000,
        "[" * 20_000,
        '{"a":' * 3_000,
        '{"k": "' + "v" * 2_000_000 + '"}',
        "\0",
    ]
    rows = [
        {column: random.choice(cells) for column in random.sample(COLUMNS, random.randint(0, 2))}
        for _ in range(random.choice([1, 5, 60]))
    ]
    data = as_csv(*rows)
    if random.random() < 0.3:
        data += b'"' + b"a,b\n" * random.choice([1, 3_000_000])
    if random.random() < 0.2:
        data = data.decode(errors="replace").encode("utf-16")
    return data


def gzip_of(random: Random) -> bytes:
    data = gzip.compress(csv(random) * random.choice([1, 1, 20]), 1)
    if random.random() < 0.3:
        data += gzip.compress(b"\n" * 30_000_000)
    if random.random() < 0.5:
        place = random.randrange(10, len(data))
        data = data[:place] + random.randbytes(2) + data[place + 2 :]
    return data


def tags(random: Random) -> bytes:
    def value(depth: int) -> Any:
        kind = random.choice(["text", "list", "object", "number"]) if depth < 5 else "text"
        if kind == "list":
            return [value(depth + 1) for _ in range(random.randint(0, 5))]
        if kind == "object":
            return (
                {f"k{random.randrange(10**6)}": value(depth + 1) for _ in range(random.choice([0, 3, 300]))}
                if (depth == 0)
                else {"k": value(depth + 1)}
            )
        return random.choice(["v", "v" * 100_000, 10**400, 1e308, None, True, "\x1e\x1f\u202e"])

    texts = [json.dumps(value(0)) for _ in range(20)] + [
        "[" * 10**5,
        '{"a":' * 10**5,
        '{"a":1,' * 10**5,
        '"' * 999_999,
    ]
    return as_csv(*({"Tags": random.choice(texts)} for _ in range(8)))


@pytest.mark.parametrize("make", [parquet, csv, gzip_of, tags])
def test_hostile_files_are_read_or_refused_in_bounded_memory(make: Callable[[Random], bytes]) -> None:
    refused = 0
    for first in range(0, FILES, AT_ONCE):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(first, first + AT_ONCE):
                Path(folder, f"{seed}.bill").write_bytes(make(Random(seed)))
            ending = child_process.run(f"{__name__}.read_all", folder, name="hostile", memory=BOUND)
            costs = {path.name: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}
        assert ending.end is ChildOutcome.DONE, (ending, sorted(costs))
        assert len(costs) == AT_ONCE
        unlike = {
            name: cost for name, cost in costs.items() if cost["error"] or not cost["message"].isprintable()
        }
        assert unlike == {}
        assert max(cost["peak"] for cost in costs.values()) < BOUND
        refused += sum(bool(cost["message"]) for cost in costs.values())
    # Of all, for five files of tags may well be read, as one in forty times was.
    assert refused > 0


def read_all(folder: str) -> None:
    """In the child."""
    for path in sorted(Path(folder).glob("*.bill")):
        with tempfile.TemporaryDirectory() as own:
            Path(own, "bill").write_bytes(path.read_bytes())
            error = ""
            try:
                hostile_files.read(str(Path(own, "bill")))
                cost = json.loads(Path(own, "cost").read_text())
            except Exception as found:  # noqa: BLE001 whatever it is, it is to be seen
                error, cost = f"{type(found).__name__}: {found}"[:300], {"message": "", "peak": 0}
        path.with_suffix(".json").write_text(json.dumps({**cost, "error": error}))
