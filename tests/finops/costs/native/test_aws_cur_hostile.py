"""Whatever a Cost and Usage Report holds, it is imported or refused with a message, in memory that has an end."""

from __future__ import annotations

import io
import json
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lib.errors import UserError
from tests.examples import examples
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.hostile_files import ROWS, constant_column, read_in_child
from tests.finops.costs.native.cur_files import (
    AMOUNTS,
    MAPS,
    PLAN,
    RESERVATION,
    Line,
    as_csv,
    as_legacy_csv,
    as_parquet,
    line,
    usage,
)

SOAK = 100 if os.environ.get("SOAK") else 1
BOUND = 900 * 2**20
LONG = "x" * 65_536

TYPES = (
    *("Usage", "DiscountedUsage", "SavingsPlanCoveredUsage", "SavingsPlanNegation", "RIFee", "Fee"),
    *("SavingsPlanRecurringFee", "SavingsPlanUpfrontFee", "Tax", "Credit", "Refund", "EdpDiscount", "", "x"),
)
WHOLE = [
    usage("1.5", resource_tags={"user_a": "b"}, cost_category={"c": "d"}),
    line("SavingsPlanNegation", "-2", savings_plan_savings_plan_a_r_n=PLAN),
    line(
        "RIFee",
        "3",
        reservation_unused_recurring_fee=Decimal(1),
        reservation_reservation_a_r_n=RESERVATION,
    ),
]
CELLS = st.one_of(
    st.text(max_size=20).map(lambda text: text.replace("\r", "")),
    st.sampled_from(
        ["", "NULL", "1,5", "1e-20", "NaN", "-0", "{", "{}", '{"a": 1}', '["a"]', "2026-05-01", "\n"]
    ),
    st.decimals(allow_nan=False, places=4, min_value=-(10**16), max_value=10**16).map(str),
)


def refusal(data: bytes) -> str:
    """What a file is refused with; empty when it was imported."""
    message = ""
    try:
        FocusRead(data)
    except UserError as error:
        message = error.message
    assert not message or message.isprintable()
    return message


@pytest.mark.soak
@settings(max_examples=examples(40) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(
    st.sampled_from(TYPES), st.dictionaries(st.sampled_from(sorted({*WHOLE[0], *AMOUNTS})), CELLS, max_size=4)
)
def test_odd_cells_are_imported_or_refused(line_type: str, cells: dict[str, str]) -> None:
    odd = {**usage("1"), **cells, "line_item_line_item_type": line_type}
    for lines in ([*WHOLE, odd], [odd]):
        refusal(as_csv(lines))
        plain = [{key: value for key, value in each.items() if key not in MAPS} for each in lines]
        refusal(as_legacy_csv(plain))


@pytest.mark.soak
@settings(max_examples=examples(40) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.sampled_from(["csv", "legacy", "parquet"]), st.data())
def test_damaged_reports_are_imported_or_refused(form: str, data: st.DataObject) -> None:
    whole = {"csv": as_csv, "legacy": as_legacy_csv, "parquet": as_parquet}[form](WHOLE)
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    refusal(bytes(damaged))


@pytest.mark.soak
@settings(max_examples=examples(40) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.sets(st.sampled_from(sorted({name for each in WHOLE for name in each})), max_size=6))
def test_reports_without_some_columns_are_imported_or_refused_by_name(missing: set[str]) -> None:
    lines = [{name: value for name, value in each.items() if name not in missing} for each in WHOLE]
    for data in (as_csv(lines), as_parquet(lines)):
        message = refusal(data)
        if not message and "line_item_line_item_type" not in missing:
            assert sum(FocusRead(data).column("billed_cost")) == Decimal("2.5")


def report_of(columns: dict[str, pa.Array], rows: int = ROWS) -> bytes:
    """A report of one ordinary line over and over, with these columns in the place of its own."""
    base: Line = {key: value for key, value in usage("1").items() if not isinstance(value, dict)}
    table = pq.read_table(io.BytesIO(as_parquet([base])))
    ordinary = {name: pa.repeat(table[name][0], rows) for name in table.column_names}
    sink = io.BytesIO()
    pq.write_table(pa.table({**ordinary, **columns}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    "column", ["line_item_usage_type", "line_item_unblended_cost", "line_item_resource_id", "resource_tags"]
)
def test_a_value_of_64_kb_in_65536_rows_is_refused_before_it_is_decoded(column: str) -> None:
    cost = read_in_child(report_of({column: constant_column(LONG)}))
    assert f"the values of column '{column}' come to 4,096 MB" in cost.message
    assert cost.peak < BOUND


def test_many_columns_of_tags_have_the_bounds_of_one_column_of_tags() -> None:
    tags = {f"resource_tags_user_k{place}": constant_column("x" * 1_024) for place in range(40)}
    cost = read_in_child(report_of(tags))
    assert "the values of column 'Tags' come to 2,560 MB. 65,536 rows may have 256 MB" in cost.message
    assert cost.peak < BOUND


def test_maps_of_products_tags_and_categories_stay_bounded() -> None:
    pairs = 60
    keys = pa.array([f"k{place}" for place in range(pairs)] * ROWS)
    offsets = pa.array(range(0, pairs * ROWS + 1, pairs), pa.int32())
    maps = pa.MapArray.from_arrays(offsets, keys, constant_column("x" * 1_000, pairs * ROWS))
    cost = read_in_child(report_of({"product": maps, "resource_tags": maps, "cost_category": maps}))
    assert "come to" in cost.message or "may hold" in cost.message
    assert cost.peak < BOUND


def test_json_that_is_deep_or_long_is_no_product_and_no_error() -> None:
    for text in ("[" * 5_000, '{"a":' * 2_000, json.dumps({"product_name": {"a": 1}}), "nonsense"):
        data = as_csv([usage("1")]).replace(
            b'"{""product_name"": ""Amazon Elastic Compute Cloud""}"',
            f'"{text.replace(chr(34), chr(34) * 2)}"'.encode(),
        )
        assert FocusRead(data).column("billed_cost") == [1]
