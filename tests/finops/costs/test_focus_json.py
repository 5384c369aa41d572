"""Files of JSON: an object on each line, or one array. Numbers keep every digit and no field is lost."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from finops.lib.errors import UserError
from tests.examples import examples
from tests.finops.costs.focus_reader import ROW, FocusRead


def row(**columns: Any) -> dict[str, Any]:
    return {**ROW, **columns}


def json_lines(*rows: dict[str, Any], end: str = "\n") -> bytes:
    return "".join(json.dumps(each) + end for each in rows).encode()


def test_focus_as_json_is_read_as_focus() -> None:
    tags = {"team": "core", "env": "prod"}
    data = json_lines(
        row(BilledCost=1.5, Tags=tags), row(BilledCost="2.25", Tags=json.dumps(tags)), row(BilledCost=3)
    )
    read = FocusRead(data)
    assert read.column("billed_cost") == [Decimal("1.5"), Decimal("2.25"), 3]
    assert read.column("tag:team") == ["core", "core", None]
    assert read.report.files[0].format == "JSON"


@pytest.mark.parametrize(
    "number", ["0.1000000000000000055", "123456789012.123456789012345678", "1e-18", "-2.5E3"]
)
def test_numbers_keep_every_digit(number: str) -> None:
    data = json_lines(row(BilledCost="X")).replace(b'"X"', number.encode())
    assert FocusRead(data).column("billed_cost") == [Decimal(number).quantize(Decimal(1).scaleb(-18))]


def test_an_array_and_gzip_are_read_the_same_way() -> None:
    rows = [row(BilledCost=1), row(BilledCost=2)]
    plain = json_lines(*rows)
    for data in (
        plain,
        json_lines(*rows, end="\r\n"),
        plain.replace(b"\n", b"\n\n"),
        plain.rstrip(),
        b"\xef\xbb\xbf" + plain,
        plain.decode().encode("utf-16"),
        json.dumps(rows, indent=2).encode(),
        gzip.compress(plain, mtime=0),
        gzip.compress(json.dumps(rows).encode(), mtime=0),
    ):
        assert FocusRead(data).column("billed_cost") == [1, 2]


def test_a_field_that_only_a_late_row_has_is_a_column() -> None:
    rows = [row() for _ in range(20_000)]
    read = FocusRead(json_lines(*rows, row(ResourceId="vm-1", Tags={"team": "core"})))
    assert read.count == 20_001
    assert read.column("resource_id")[-2:] == [None, "vm-1"]
    assert read.column("tag:team")[-1] == "core"


@pytest.mark.parametrize(
    ("data", "expected_message"),
    [
        (
            json_lines(row())[:-20],
            r"row 1 is not a JSON object: .*Write each row as a JSON object on a line of its own",
        ),
        (json_lines(row(), row())[:-20], r"row 2 is not a JSON object"),
        (json_lines(row()) + b"[1, 2]\n", r"row 2 is not a JSON object: '\[1, 2\]'"),
        (b"[{}, 1]", "is not a JSON array of objects."),
        (b'[{"a": 1}', "is not a JSON array of objects."),
        (json.dumps(row(), indent=1).encode(), r"row 1 is not a JSON object: '\{'"),
        (
            gzip.compress(json_lines(*[row()] * 9_000), mtime=0)[:-100],
            "focus.csv is truncated or damaged",
        ),
        (
            json_lines(row(ResourceId="X")).replace(b'"X"', b'"\xff"'),
            r"row 1, column 'ResourceId': the text is not UTF-8",
        ),
        (json_lines(row(BilledCost="five")), r"row 1, column BilledCost: 'five'"),
        (b'{"a": "' + b"x" * (9 << 20), r"row longer than 8 MB"),
        (b"{" + b",".join(b'"c%d": 1' % place for place in range(2_001)) + b"}", r"more than 2,000 columns"),
        (b'{"a":' * 5_000, r"row 1 is not a JSON object"),
    ],
)
def test_an_error_is_named_by_row(data: bytes, expected_message: str) -> None:
    with pytest.raises(FocusFileError, match=expected_message):
        assert FocusRead(data).rows


def test_an_array_of_more_than_64_mb_is_refused_with_instructions() -> None:
    data = b"[" + b",".join([json.dumps({"a": "x" * 1_000_000}).encode()] * 70) + b"]"
    with pytest.raises(FocusFileError, match=r"one JSON array of more than 64 MB. Write each row"):
        FocusRead(data)


def test_gzip_that_unpacks_to_1000_times_its_size_is_refused() -> None:
    line = json_lines(row())
    with pytest.raises(FocusFileError, match=r"times its size"):
        FocusRead(gzip.compress(line * (300_000_000 // len(line)), 9, mtime=0))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from([*ROW, "Tags", "x_A", "stray"]), VALUES, max_size=4), max_size=3
    ),
    st.binary(max_size=4),
    st.integers(0, 400),
)
def test_odd_rows_are_imported_or_refused(odd: list[dict[str, Any]], damage: bytes, place: int) -> None:
    data = json_lines(row(), *({**row(), **each} for each in odd))
    for text in (data, data[:place] + damage + data[place + len(damage) :], gzip.compress(data, mtime=0)):
        message = ""
        try:
            FocusRead(text)
        except UserError as error:
            message = error.message
        assert not message or message.isprintable()


def test_a_truncated_upload_of_json_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FocusFileError, match=r"focus\.csv is truncated or damaged"):
        assert FocusRead(gzip.compress(json_lines(row()), mtime=0)[:-12]).rows
