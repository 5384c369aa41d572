"""Parquet comes in whatever types its writer chose; the rows are the same."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from tests.finops.costs import reference_model
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv

MOMENT = datetime(2026, 5, 3, 23, 30, tzinfo=UTC)
PAIR = pa.struct([("key", pa.string()), ("value", pa.string())])


def parquet(rows: int = 1, row_group_size: int | None = None, **columns: pa.Array) -> bytes:
    table = pa.table({**{name: [value] * rows for name, value in ROW.items()}, **columns})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=row_group_size)
    return buffer.getvalue()


def test_a_csv_file_and_the_same_as_parquet_give_the_same_rows() -> None:
    data = reference_model.DATA / "focus-1.0-real/focus_sample.csv"
    names = data.read_text().split("\n", 1)[0].replace('"', "").split(",")
    options = pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    buffer = io.BytesIO()
    pq.write_table(pacsv.read_csv(data, convert_options=options), buffer, row_group_size=100)
    by_csv, by_parquet = FocusRead(data.read_bytes()), FocusRead(buffer.getvalue())
    assert by_parquet.rows == by_csv.rows
    assert by_parquet.report.months == by_csv.report.months


@pytest.mark.parametrize(
    "amounts",
    [
        pa.array(["0.1"]),
        pa.array(["0.1"], pa.large_string()),
        pa.array(["0.1"]).dictionary_encode(),
        pa.array([Decimal("0.1")], pa.decimal128(5, 2)),
        pa.array([Decimal("0.1")], pa.decimal128(38, 20)),
        pa.array([Decimal("0.1")], pa.decimal256(50, 20)),
        pa.array([0.1]),
    ],
)
def test_amounts_of_every_type_are_exact(amounts: pa.Array) -> None:
    assert FocusRead(parquet(BilledCost=amounts)).row["billed_cost"] == Decimal("0.1")


def test_amounts_in_floating_point_are_counted_and_whole_numbers_are_not() -> None:
    read = FocusRead(parquet(BilledCost=pa.array([1e-7]), ListCost=pa.array([3])))
    assert (read.row["billed_cost"], read.row["list_cost"]) == (Decimal("1e-7"), Decimal(3))
    assert read.finding("floating_point").columns == {"BilledCost": 1}


def test_amounts_of_more_places_than_18_are_rounded_half_even_and_counted() -> None:
    long = pa.array([Decimal("1.00000000000000000050")], pa.decimal128(38, 20))
    read = FocusRead(parquet(BilledCost=long))
    assert (read.row["billed_cost"], read.finding("rounded").rows) == (Decimal(1), 1)


@pytest.mark.parametrize(
    ("times", "day", "kinds"),
    [
        (pa.array([MOMENT], pa.timestamp("ms", "UTC")), date(2026, 5, 3), set()),
        (pa.array([MOMENT], pa.timestamp("us", "Europe/Madrid")), date(2026, 5, 3), set()),
        (pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("ns")), date(2026, 5, 3), {"no_zone"}),
        (pa.array([MOMENT.date()], pa.date32()), date(2026, 5, 3), set()),
        (pa.array([MOMENT.date()], pa.date64()), date(2026, 5, 3), set()),
        (pa.array(["2026-05-03T23:30:00-01:00"]), date(2026, 5, 4), set()),
        (
            pa.array([None], pa.timestamp("ms", "UTC")),
            date(2026, 5, 1),
            {"charge_period_from_billing_period"},
        ),
    ],
)
def test_times_of_every_type_are_utc_days(times: pa.Array, day: date, kinds: set[str]) -> None:
    read = FocusRead(parquet(ChargePeriodStart=times))
    assert (read.row["charge_date"], read.kinds - {"empty_expected"}) == (day, kinds)


@pytest.mark.parametrize(
    "tags",
    [
        pa.array(['{"env": "prod", "Team": null, " a ": "1"}']),
        pa.array([[("env", "prod"), ("Team", None), (" a ", "1")]], pa.map_(pa.string(), pa.string())),
        pa.array([{"env": "prod", "Team": None, " a ": "1"}]),
        pa.array([[{"key": "env", "value": "prod"}, {"key": " a ", "value": "1"}]], pa.list_(PAIR)),
        pa.array(['[{"key": "env", "value": "prod"}, {"Key": " a ", "Value": "1"}]']),
        pa.array(['"env": "prod","Team": null, " a ": "1"']),
    ],
)
def test_tags_in_every_form_are_the_same(tags: pa.Array) -> None:
    read = FocusRead(parquet(Tags=tags))
    assert {name: value for name, value in read.row.items() if name.startswith("tag:")} == {
        "tag:env": "prod",
        "tag:a": "1",
    }
    assert read.kinds == {"tag_key_trimmed"}


def test_rows_without_tags_among_rows_with_maps_have_none() -> None:
    maps: Any = [[("env", "a")], None, [], [("env", "b"), ("x", "1")]]
    read = FocusRead(parquet(4, 2, Tags=pa.array(maps, pa.map_(pa.string(), pa.string()))))
    assert (read.column("tag:env"), read.column("tag:x")) == (["a", None, None, "b"], [None, None, None, "1"])


def test_many_small_row_groups_give_the_same_rows() -> None:
    costs = [Decimal(place) for place in range(5_000)]
    names = pa.array([f"service {place % 7}" for place in range(5_000)])
    amounts = pa.array(costs, pa.decimal128(20, 4))
    read = FocusRead(parquet(5_000, 50, BilledCost=amounts, ServiceName=names))
    assert (read.column("billed_cost"), read.column("service")) == (costs, names.to_pylist())


def test_files_of_several_months_or_of_both_formats_come_out_together() -> None:
    months = pa.array(["2026-05-01", "2026-06-01", "2026-05-01"])
    both = FocusRead(parquet(3, BillingPeriodStart=months), as_csv({}, {"BillingPeriodStart": "2026-07-01"}))
    assert {month.month: month.rows for month in both.report.months} == {
        "2026-05": 3,
        "2026-06": 1,
        "2026-07": 1,
    }
    assert len(both.rows) == both.report.rows == 5


def test_several_parquet_files_of_one_month_come_out_together() -> None:
    tags = [pa.array(['{"a": "1"}']), pa.array(['{"b": "2"}'])]
    read = FocusRead(*(parquet(Tags=each) for each in tags))
    assert [(row["tag:a"], row["tag:b"]) for row in read.rows] == [("1", None), (None, "2")]


def test_a_parquet_file_without_rows_is_refused() -> None:
    with pytest.raises(Exception, match=r"has a header but no rows\. Export a period with cost"):
        FocusRead(parquet(0))
