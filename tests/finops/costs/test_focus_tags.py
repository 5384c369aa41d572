"""Tag keys become columns, as people see them."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.focus.tags import pairs, read_tags
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv


def tags(raw: str) -> dict[str, str]:
    return dict(pairs(read_tags(raw).flat))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a": "b"}', {"a": "b"}),
        (
            '{"n": 1, "f": 1.50, "t": true, "no": null, "l": ["x"]}',
            {"n": "1", "f": "1.50", "t": "true", "l": '["x"]'},
        ),
        ('{"empty": "", "null": "NULL", "x": " y "}', {"x": " y "}),
        ('{"": "b", "  ": "c"}', {}),
        ('{"a\\u0000\\u001fb": "c\\u001e\\u0000d"}', {"ab": "cd"}),
        ('{"big": 123456789012345678901234567890}', {"big": "123456789012345678901234567890"}),
        ("{}", {}),
        ("[]", {}),
        ("null", {}),
    ],
)
def test_values_of_every_json_type_become_text(raw: str, expected: dict[str, str]) -> None:
    assert tags(raw) == expected


@pytest.mark.parametrize(
    "raw", ["owner=bob", '{"a": ', "[1, 2]", '"just text"', "12", '{"a": "\\ud800"}', "[" * 9999]
)
def test_invalid_tags_leave_the_row_without_tags_and_are_counted(raw: str) -> None:
    read = FocusRead(as_csv({"Tags": raw}, {"Tags": '{"a": "b"}'}))
    assert read.column("tag:a") == [None, "b"]
    assert read.finding("tags_unreadable").rows == 1


def test_keys_that_differ_only_in_case_stay_separate() -> None:
    row = FocusRead(as_csv({"Tags": '{"env": "a", "Env": "b", "ENV": "c"}'})).row
    assert (row["tag:env"], row["tag:^env"], row["tag:^e^n^v"]) == ("a", "b", "c")


def test_keys_that_become_the_same_keep_the_first_with_a_value() -> None:
    read = FocusRead(as_csv({"Tags": '{"org ": null, " org": "x", "org": "y"}'}))
    assert read.row["tag:org"] == "x"
    assert read.finding("tag_key_collision").rows == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"env": "a", "env": "b", "x": "y"}', {"env": "a", "x": "y"}),
        ('{"env": null, "env" : "b", "env": "c"}', {"env": "b"}),
        ('"env": "a", "env": "b"', {"env": "a"}),
        ('[{"key": "env", "value": "a"}, {"key": "env", "value": "b"}]', {"env": "a"}),
        ('{"n": {"a": [{"b": 1.50}]}, "env": "a", "env": "a"}', {"n": '{"a":[{"b":"1.50"}]}', "env": "a"}),
    ],
)
def test_a_key_twice_in_a_line_keeps_the_first_value_and_is_counted(
    raw: str, expected: dict[str, str]
) -> None:
    read = FocusRead(as_csv({"Tags": raw}, {"Tags": '{"env": "z"}'}))
    assert tags(raw) == expected
    assert read.kinds == {"tag_key_repeated"}
    assert read.finding("tag_key_repeated").rows == 1
    assert read.finding("tag_key_repeated").first.startswith("focus.csv row 2, Tags: ")


def test_a_key_twice_in_a_parquet_map_is_counted() -> None:
    columns = {name: [value] for name, value in ROW.items()}
    tags_ = pa.array([[("env", "a"), ("env", "b")]], pa.map_(pa.string(), pa.string()))
    buffer = io.BytesIO()
    pq.write_table(pa.table({**columns, "Tags": tags_}), buffer)
    read = FocusRead(buffer.getvalue())
    assert (read.row["tag:env"], read.finding("tag_key_repeated").rows) == ("a", 1)


@pytest.mark.parametrize("raw", ['{"a": "x\\": y", "b": "c"}', '{"n": {"a": 1, "b": 2}}'])
def test_colons_and_objects_in_values_are_no_key_twice(raw: str) -> None:
    assert FocusRead(as_csv({"Tags": raw})).kinds == set()


def test_the_least_used_of_more_than_a_thousand_keys_are_left_out() -> None:
    many = json.dumps({f"k{place:04d}": "x" for place in range(1_005)})
    few = json.dumps({f"k{place:04d}": "x" for place in range(5, 1_005)})
    read = FocusRead(as_csv({"Tags": many}, {"Tags": few}), actor_tag_keys=("k0000",))
    assert len([name for name in read.rows[0] if name.startswith("tag:")]) == 1_000
    assert read.report.tag_keys_dropped == ["k0000", "k0001", "k0002", "k0003", "k0004"]
    assert (read.finding("tags_over_limit").rows, read.column("actor")) == (5, ["x", None])


def test_the_report_lists_keys_by_the_rows_that_have_them() -> None:
    read = FocusRead(as_csv({"Tags": '{"a": "1"}'}, {"Tags": '{"a": "1", "b": "2"}'}, {"Tags": '{"a": "1"}'}))
    assert read.report.tag_keys == {"a": 3, "b": 1}
