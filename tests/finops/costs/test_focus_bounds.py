"""Small files that hold much: refused with a sentence before they are decoded, in memory that has an end."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.focus.parquetfile import ParquetFile
from finops.lib.errors import UserError
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv
from tests.finops.costs.hostile_files import ROWS, as_parquet, constant_column, read_in_child

BOUND = 800 * 2**20
LONG = "x" * 65_536


def tag_map(pairs: int, value: str) -> pa.Array:
    """A map of so many tags of one value in every row."""
    count = pairs * ROWS
    keys = pa.DictionaryArray.from_arrays(
        pa.array([place % pairs for place in range(count)], pa.int32()),
        pa.array([f"k{place}" for place in range(pairs)]),
    )
    offsets = pa.array(range(0, count + 1, pairs), pa.int32())
    return pa.MapArray.from_arrays(offsets, keys.cast(pa.string()), constant_column(value, count))


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            "ResourceId",
            "the values of column 'ResourceId' come to 4,096 MB. 65,536 rows may have 128 MB of one column",
        ),
        ("ProviderName", "column 'ProviderName' come to 4,096 MB"),
        ("BilledCost", "column 'BilledCost' come to 4,096 MB"),
        ("BillingPeriodStart", "column 'BillingPeriodStart' come to 4,096 MB"),
        ("x_Notes", "column 'x_Notes' come to 4,096 MB"),
        ("Tags", "column 'Tags' come to 4,096 MB. 65,536 rows may have 256 MB of one column"),
    ],
)
def test_a_value_of_64_kb_in_65536_rows_is_refused_before_it_is_decoded(column: str, problem: str) -> None:
    data = as_parquet({column: constant_column(LONG)})
    assert len(data) < 10_000
    cost = read_in_child(data)
    assert problem in cost.message
    assert "bill, row 1 and the 65,535 rows after it" in cost.message
    assert cost.peak < BOUND


def test_bytes_in_place_of_text_and_values_of_fixed_length_are_measured_too() -> None:
    binary = pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), ROWS), pa.array([LONG.encode()])
    )
    assert "'ResourceId' come to 4,096 MB" in read_in_child(as_parquet({"ResourceId": binary})).message
    fixed = pa.array([LONG.encode()], pa.binary(65_536))
    cost = read_in_child(as_parquet({"ResourceId": fixed}, 1))
    assert "the values of column 'ResourceId' have 65,536 bytes each; 1,024 can be read" in cost.message
    assert cost.peak < BOUND


def test_a_value_longer_than_its_column_may_have_is_refused_with_its_row() -> None:
    ids = pa.array(["a"] * 5 + ["x" * 65_537] + ["b"] * 4)
    message = read_in_child(as_parquet({"ResourceId": ids}, 10)).message
    assert (
        "bill, row 6, column ResourceId: the value has 65,537 bytes, and a value of this column has 65,536"
        in message
    )
    rows: list[dict[str, str]] = [{}, {"x_Notes": "é" * 33_000}]
    with pytest.raises(UserError, match="row 3, column x_Notes: the value has 66,000 bytes"):
        FocusRead(as_csv(*rows))
    tags = json.dumps({"a": "b" * 2**20})
    with pytest.raises(UserError, match=r"row 2, column Tags: the value has 1,048,\d+ bytes"):
        FocusRead(as_csv({"Tags": tags}))
    assert FocusRead(as_csv({"ResourceId": LONG, "Tags": json.dumps({"a": "b" * 2**19})})).count == 1


def test_tags_without_end_are_refused_with_their_row() -> None:
    many = json.dumps({f"k{place}": "v" for place in range(2_001)})
    with pytest.raises(
        UserError, match=r"row 3, column Tags: .* has 2,001 tags; the maximum per row is 2,000"
    ):
        FocusRead(as_csv({}, {"Tags": many}))
    assert FocusRead(as_csv({"Tags": "[" * 500_000})).finding("tags_unreadable").rows == 1


def test_keys_of_tags_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finops.costs.focus.tags.MAX_KEYS_SEEN", 100)
    rows = [{"Tags": json.dumps({f"k{place}": "v"})} for place in range(101)]
    with pytest.raises(UserError, match="column Tags has more than 100 different keys"):
        FocusRead(as_csv(*rows))
    assert FocusRead(as_csv(*rows[1:])).count == 100


def test_a_map_of_long_tags_is_refused_before_it_is_decoded() -> None:
    cost = read_in_child(as_parquet({"Tags": tag_map(4, "v" * 10_000)}))
    assert "column 'Tags' come to 2,501 MB" in cost.message
    assert cost.peak < BOUND


def test_more_columns_and_deeper_ones_than_a_bill_has_are_refused() -> None:
    wide = {f"x_{place}": pa.array(["a"]) for place in range(2_000)}
    assert (
        "columns (2,011 with what they consist of); at most 2,000"
        in read_in_child(as_parquet(wide, 1)).message
    )
    assert "has 2,011 columns; the maximum is 2,000" in read_in_child(as_csv(dict.fromkeys(wide, ""))).message
    type_ = pa.string()
    for _ in range(30):
        type_ = pa.struct([("a", type_)])
    deep = as_parquet({"x_Deep": pa.nulls(1, type_)}, 1)
    assert "is nested more than 24 levels deep" in read_in_child(deep).message


def test_more_rows_than_its_bytes_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same line again and again costs a file nothing: 4 KB can have two thousand million."""
    monkeypatch.setattr("finops.costs.focus.parquetfile.FREE_ROWS", 100_000)
    data = as_parquet({}, 200_000)
    with pytest.raises(
        UserError, match=rf"declares 200,000 rows in {len(data):,} bytes; at most {100_000 + len(data):,}"
    ):
        FocusRead(data)
    assert FocusRead(as_parquet({}, 100_000)).count == 100_000


@pytest.mark.parametrize(("stated", "count"), [(2, "more"), (4, "3")])
def test_more_or_fewer_rows_than_its_footer_states_are_refused(
    stated: int, count: str, tmp_path: Path
) -> None:
    path = tmp_path / "bill.parquet"
    path.write_bytes(as_parquet({}, 3))
    file = ParquetFile(path, "bill.parquet")
    file.rows = stated
    with pytest.raises(UserError, match=rf"declares {stated} rows but has {count}\."):
        list(file.batches([0], []))


def test_a_column_that_is_there_twice_is_refused() -> None:
    names = [*ROW, "x_a", "x_a"]
    table = pa.table([pa.array([ROW.get(name, "1")]) for name in names], names=names)
    file = io.BytesIO()
    pq.write_table(table, file)
    assert "has the column 'x_a' more than once" in read_in_child(file.getvalue()).message


def test_a_gzip_file_that_unpacks_to_a_thousand_times_its_size_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("finops.costs.focus.csvtext.FREE_TEXT", 2**20)
    line = as_csv({}).split(b"\n")[1] + b"\n"
    blown = gzip.compress(as_csv({}) + line * (4 * 2**20 // len(line)))
    with pytest.raises(UserError, match=r"\d+ times its size. A file may unpack to 200 times its size"):
        FocusRead(blown)


def test_rows_of_megabytes_are_taken_a_few_at_a_time() -> None:
    """Each within its limits, so they are imported; a batch of 32,768 of them would be 64 GB."""
    text = {f"x_{place}": "v" * 60_000 for place in range(30)}
    cost = read_in_child(as_csv(*[{**text, "x_0": f"{row}" + "v" * 60_000} for row in range(40)]))
    assert (cost.message, cost.rows) == ("", 40)
    assert cost.peak < BOUND


def test_delta_encoded_values_without_a_dictionary_are_read_a_few_at_a_time() -> None:
    """A value costs a few bytes when it begins as the one before it, so neither bytes nor dictionary tell its length."""
    ids = pa.array([LONG[:16_000]] * 10_000)
    delta = {"ResourceId": "DELTA_BYTE_ARRAY"}
    data = as_parquet({"ResourceId": ids}, 10_000, use_dictionary=False, column_encoding=delta)
    cost = read_in_child(data)
    assert (cost.message, cost.rows) == ("", 10_000)
    assert cost.peak < BOUND


def test_delta_encoded_texts_are_read() -> None:
    ids = pa.array([f"arn:{place}" for place in range(3_000)])
    encodings = {"ResourceId": "DELTA_BYTE_ARRAY", "ServiceName": "DELTA_LENGTH_BYTE_ARRAY"}
    data = as_parquet(
        {"ResourceId": ids, "ServiceName": ids}, 3_000, use_dictionary=False, column_encoding=encodings
    )
    assert FocusRead(data).column("service") == ids.to_pylist()
