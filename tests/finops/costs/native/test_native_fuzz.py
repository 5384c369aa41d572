"""Whatever a native file looks like, its sums are exact or it is refused in a sentence: nothing is lost in silence, nothing crashes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lib.errors import UserError
from tests.examples import examples
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.truth import aws, azure, google, opencost, oracle
from tests.finops.costs.native.truth.bills import DIMENSIONS, Bill, number
from tests.long import also_long

BILLS: Final[Mapping[str, Callable[[], Bill]]] = {
    "AWS legacy": aws.legacy_csv,
    "AWS 2.0": aws.cur_2_csv,
    "Azure pair": lambda: azure.pair("Enterprise"),
    "Azure pay-as-you-go": lambda: azure.alone("PayAsYouGo"),
    "Google": lambda: google.csv_bill(detailed=True),
    "Oracle": oracle.report,
    "OpenCost": opencost.csv_bill,
}
COSTS: Final = {
    "AWS legacy": "lineItem/UnblendedCost",
    "AWS 2.0": "line_item_unblended_cost",
    "Azure pay-as-you-go": "PreTaxCost",
    "Google": "cost",
    "Oracle": "cost/myCost",
    "OpenCost": "TotalCost",
}
SHORT: Final = ("AWS 2.0", "Azure pay-as-you-go")
"""Those with most columns."""
Table = list[list[str]]


@cache
def bill(name: str) -> Bill:
    return BILLS[name]()


@cache
def tables(name: str) -> Sequence[Table]:
    return [list(csv.reader(io.StringIO(file.decode("utf-8-sig")))) for file in bill(name).files]


def write(table: Table, *, quoting: int = csv.QUOTE_MINIMAL, end: str = "\n", delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator=end, delimiter=delimiter).writerows(table)  # type: ignore[arg-type]
    return text.getvalue()


def total(read: FocusRead, dimension: str) -> dict[object, tuple[Decimal, Decimal]]:
    sums: dict[object, tuple[Decimal, Decimal]] = {}
    names = ("billing_period" if dimension == "month" else dimension, "billed_cost", "effective_cost")
    for key, billed, effective in zip(*map(read.column, names), strict=True):
        key = f"{key:%Y-%m}" if dimension == "month" else key
        before = sums.get(key, (Decimal(0), Decimal(0)))
        sums[key] = before[0] + billed, before[1] + effective
    return {key: each for key, each in sums.items() if any(each)}


LAYOUTS: Final = st.fixed_dictionaries(
    {
        "encoding": st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        "end": st.sampled_from(["\n", "\r\n"]),
        "case": st.sampled_from([str, str.lower, str.upper]),
        "reverse": st.booleans(),
        "stray": st.booleans(),
        "blank": st.booleans(),
    }
)


@pytest.mark.soak
@pytest.mark.parametrize("name", BILLS)
@settings(max_examples=examples(60), deadline=None)
@given(LAYOUTS)
def test_a_file_that_is_laid_out_otherwise_has_the_same_sums(name: str, layout: Mapping[str, object]) -> None:
    files = []
    for table in tables(name):
        rows = [[*row, "x"] for row in table] if layout["stray"] else table
        rows = [row[::-1] for row in rows] if layout["reverse"] else rows
        header = [layout["case"](column) for column in rows[0]]  # type: ignore[operator]
        text = write([header, *rows[1:]], quoting=layout["quoting"], end=str(layout["end"]))  # type: ignore[arg-type]
        text = text.replace("\n", "\n\n", 1) if layout["blank"] else text
        files.append(text.encode(str(layout["encoding"])))
    read = FocusRead(*files, defaults=bill(name).defaults, names=bill(name).names)
    for dimension in DIMENSIONS:
        assert total(read, dimension) == bill(name).sums(dimension)


CELLS: Final = st.one_of(
    st.sampled_from(
        [
            "",
            "NULL",
            "-",
            "NaN",
            "inf",
            "1e400",
            "9" * 40,
            "1e15",
            "1,5",
            "1.234,5",
            "-0",
            "=1+1",
            "\ufeff1",
            "1 ",
            "$3",
        ]
    ),
    st.sampled_from(
        ["2026-13-45", "12/31/9999", "é" * 5, '"', "'", "{", "[]", "\t", "null", "None", "Usage", "Tax"]
    ),
    st.decimals(min_value=-(10**16), max_value=10**16, allow_nan=False).map(str),
    st.text(max_size=8).filter(lambda text: not {"\r", "\n", "\x00"} & set(text)),
)


def readable(text: str) -> Decimal | None:
    """A number as anybody reads it; None for another text."""
    try:
        value = Decimal(text.strip().replace("\ufeff", ""))
    except InvalidOperation:
        return None
    return value if value.is_finite() and abs(value) < 10**15 else None


def read_if_valid(data: Sequence[bytes], name: str) -> FocusRead | None:
    message = ""
    read = None
    try:
        read = FocusRead(*data, defaults=bill(name).defaults, names=bill(name).names)
        assert read.rows is not None
    except UserError as error:
        message = error.message
        read = None
    assert not message or message.isprintable()
    return read


@pytest.mark.soak
@pytest.mark.parametrize("name", COSTS)
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_an_odd_cost_is_read_as_it_is_written_or_refused(name: str, data: st.DataObject) -> None:
    header, *rows = (list(row) for row in tables(name)[0])
    place, cost = data.draw(st.integers(0, len(rows) - 1)), data.draw(CELLS)
    column = header.index(COSTS[name])
    before, rows[place][column] = rows[place][column], cost
    read = read_if_valid([write([header, *rows]).encode()], name)
    if read is None:
        return
    amount = readable(cost)
    assert amount is not None or cost.strip() in ("", "NULL", "-", "null", "None", "NaN", "1,5", "$3"), cost
    if cost in ("1,5", "$3"):
        return
    billed = sum(billed for billed, _ in bill(name).sums("month").values())
    assert sum(read.column("billed_cost")) == billed - number(before) + (amount or Decimal(0)).quantize(
        Decimal(1).scaleb(-18)
    )


@pytest.mark.soak
@pytest.mark.parametrize("name", BILLS)
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_garbled_headers_and_cells_are_read_or_refused(name: str, data: st.DataObject) -> None:
    files = []
    for table in tables(name):
        header, *rows = (list(row) for row in table[:40])
        for _ in range(data.draw(st.integers(0, 3))):
            header[data.draw(st.integers(0, len(header) - 1))] = data.draw(CELLS | st.sampled_from(header))
        for _ in range(data.draw(st.integers(0, 4))):
            row = data.draw(st.sampled_from(rows))
            row[data.draw(st.integers(0, len(row) - 1))] = data.draw(CELLS)
        text = write([header, *rows], delimiter=data.draw(st.sampled_from([",", ";", "\t"])))
        encoded = text.encode(
            data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace"
        )
        files.append(encoded[: data.draw(st.sampled_from([len(encoded), len(encoded) // 2]))])
    read_if_valid(files, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SHORT, *also_long(*(each for each in COSTS if each not in SHORT))])
def test_without_any_one_column_a_bill_has_its_total_or_is_refused_by_a_name(name: str) -> None:
    header, *rows = tables(name)[0]
    billed = sum(billed for billed, _ in bill(name).sums("month").values())
    for place, column in enumerate(header):
        if column in (COSTS[name], "credits"):
            continue
        remaining_rows = [row[:place] + row[place + 1 :] for row in (header, *rows)]
        read = read_if_valid([write(remaining_rows).encode()], name)
        is_type = column.casefold().replace("_", "").endswith("lineitemtype")
        assert read is None or is_type or sum(read.column("billed_cost")) == billed, column
