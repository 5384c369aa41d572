"""Valid column mappings, dates read with them, and that any document and any file result in an error message or in
rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.columns import ENUMERATIONS
from finops.costs.focus.errors import FocusFileError, UnknownFormat
from finops.costs.mapping.date_format import DATE_FORMATS, date_format_problem
from finops.costs.mapping.document import (
    AMOUNT_COLUMNS,
    DATE_COLUMNS,
    TEXT_COLUMNS,
    MappingDocument,
    as_json,
    document_of,
    problems,
)
from finops.costs.mapping.preview import Preview
from finops.lib.errors import UserError
from tests.examples import examples
from tests.finops.costs.mapping.mapped_files import BILL, PLAIN, MappedRead, document, preview_text

ATTOS = Decimal(1).scaleb(-18)


def problem_of(**changes: Any) -> tuple[str, str]:
    """The one problem of PLAIN with these changes."""
    merged = {name: {**PLAIN[name], **changes.get(name, {})} for name in PLAIN}
    other_changes = {name: value for name, value in changes.items() if name not in PLAIN}
    (problem,) = problems(document_of({**merged, **other_changes}))
    return problem.field, problem.text


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"amounts": {"BilledCost": {"column": "A", "factor": "0"}}}, "BilledCost", "Enter a factor above 0"),
        ({"amounts": {"BilledCost": {"column": "A", "factor": "-1"}}}, "BilledCost", "For negative costs, set “Costs are”."),
        ({"amounts": {"BilledCost": {"column": "A", "factor": "NaN"}}}, "BilledCost", "Enter a factor"),
        ({"amounts": {"BilledCost": {"column": "A", "factor": "1e-19"}}}, "BilledCost", "at most 18 decimals"),
        ({"amounts": {"Cost": {"column": "A"}}}, "amounts", "'Cost' is not a FOCUS column of amounts. Nearest: ListCost"),
        ({"amounts": {"ListCost": {"column": ""}}}, "ListCost", "Choose the amount column."),
        ({"texts": {"BillingCurrency": {"value": "Euro"}}}, "BillingCurrency", "three-letter code such as EUR"),
        ({"texts": {"ChargeCategory": {"value": "Rent"}}}, "ChargeCategory", "FOCUS has Usage, Purchase, Tax"),
        ({"texts": {"RegionId": {"value": "\u200b"}}}, "RegionId", "Enter printable text."),
        ({"texts": {"RegionId": {}}}, "RegionId", "Choose a column"),
        ({"dates": {"ChargePeriodStart": {"column": "A", "format": "%Q"}}}, "ChargePeriodStart", "%Q is not a part of a date"),
        ({"dates": {"ChargePeriodStart": {"column": "A", "format": "%d"}}}, "ChargePeriodStart", "year and month"),
        ({"time_zone": "Europe/Berlim"}, "time_zone", "Nearest: Europe/Berlin"),
        ({"tags": [{"column": "A", "key": " "}]}, "tags", "Enter a tag key for column 'A'."),
        ({"tags": [{"column": "A", "key": "t"}, {"column": "B", "key": "t"}]}, "tags", "Two columns have the tag key"),
        ({"amounts": {"BilledCost": {"column": "A", "addends": [{"column": "A"}]}}}, "BilledCost", "each column once"),
        ({"amounts": {"BilledCost": {"column": "A", "addends": [{"column": ""}]}}}, "BilledCost", "Choose the column to add"),
        ({"amounts": {"BilledCost": {"column": "A", "addends": [{"column": f"c{n}"} for n in range(11)]}}}, "BilledCost", "at most 10"),
        ({"texts": {"ChargeCategory": {"column": "Art", "values": {"x": "Fee"}}}}, "ChargeCategory", "'Fee' is not a value of ChargeCategory"),
        ({"texts": {"ServiceName": {"column": "Item", "values": {"x": "Usage"}}}}, "ServiceName", "fixed list of values"),
        ({"decimal_mark": None}, "decimal_mark", "Choose the number format"),
    ],
)  # fmt: skip
def test_an_error_is_reported_of_the_column_with_instructions(
    changes: dict[str, Any], field: str, message: str
) -> None:
    problem = problem_of(**changes)
    assert problem[0] == field
    assert message in problem[1]


@pytest.mark.parametrize("stored", [{"amounts": []}, {"else": 1}, {"granularity": "week"}, {"tags": [{}]}])
def test_an_invalid_document_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="Invalid column mapping"):
        document_of(stored)


@pytest.mark.parametrize("format_", DATE_FORMATS)
def test_every_format_that_is_offered_reads_its_own_example(format_: str) -> None:
    assert date_format_problem(format_) == ""
    example = DATE_FORMATS[format_].partition(" (")[0]
    mapping = document(dates={"ChargePeriodStart": {"column": "Day", "format": format_}}, granularity="month")
    text = io.StringIO()
    csv.writer(text).writerows([["Day", "Item", "Amount"], [example, "Server", "1"]])
    assert MappedRead(text.getvalue(), mapping).column("charge_date") == [date(2026, 5, 1)]


@pytest.mark.parametrize(
    ("granularity", "zone", "written", "start", "end"),
    [
        ("day", "Europe/Berlin", "2026-05-01", "2026-05-01T00", "2026-05-02T00"),
        ("day", "Europe/Berlin", "2026-04-30T22:30:00Z", "2026-05-01T00", "2026-05-02T00"),
        ("day", "UTC", "2026-05-01T00:30:00+02:00", "2026-04-30T00", "2026-05-01T00"),
        ("hour", "Europe/Berlin", "2026-05-01T00:00", "2026-04-30T22", "2026-04-30T23"),
        ("hour", "America/New_York", "2026-05-01T12:00", "2026-05-01T16", "2026-05-01T17"),
        ("month", "Asia/Tokyo", "2026-12-31", "2026-12-01T00", "2027-01-01T00"),
    ],
)
def test_a_charge_begins_and_ends_where_its_granularity_and_zone_say(
    granularity: str, zone: str, written: str, start: str, end: str
) -> None:
    mapping = document(granularity=granularity, time_zone=zone)
    (row,) = MappedRead(f"Day,Item,Amount\n{written},Server,1\n", mapping).rows
    assert row["charge_period_start"] == datetime.fromisoformat(f"{start}:00").replace(tzinfo=UTC)
    assert row["charge_period_end"] == datetime.fromisoformat(f"{end}:00").replace(tzinfo=UTC)


def test_an_hour_of_local_time_is_of_the_billing_month_that_its_clock_shows() -> None:
    mapping = document(granularity="hour", time_zone="Europe/Berlin")
    (row,) = MappedRead("Day,Item,Amount\n2026-05-01T00:00,Server,1\n", mapping).rows
    assert (row["charge_date"], row["billing_period"]) == (date(2026, 4, 30), date(2026, 5, 1))


def test_columns_are_found_by_their_names_without_spaces_capitals_and_signs() -> None:
    read = MappedRead(
        BILL.replace("Amount", " amount (€)").replace("Day", "DAY"),
        document(amounts={"BilledCost": {"column": "Amount (€)"}}),
    )
    assert read.column("billed_cost") == [Decimal("1.50"), Decimal("0.25")]


def test_a_column_that_is_there_twice_is_refused() -> None:
    with pytest.raises(UnknownFormat, match="has the column 'Amount' more than once"):
        MappedRead("Day,Item,Amount,Amount\n2026-05-01,Server,1,2\n")


def test_a_number_of_the_other_format_is_refused_with_its_row() -> None:
    with pytest.raises(UnknownFormat, match=r"row 2, column Amount: '1\.50' has a decimal point") as error:
        MappedRead(BILL, document(decimal_mark="comma"))
    assert "a decimal comma (set in the column mapping)" in str(error.value)


def test_amounts_beyond_the_limit_after_their_factor_are_refused() -> None:
    mapping = document(amounts={"BilledCost": {"column": "Amount", "factor": "1000"}})
    with pytest.raises(UnknownFormat, match="times 1000 is too large"):
        MappedRead("Day,Item,Amount\n2026-05-01,Server,1000000000000\n", mapping)


def test_the_report_says_what_the_mapping_did() -> None:
    mapping = document(
        amounts={"BilledCost": {"column": "Amount", "factor": "0.01"}},
        costs_are_negative=True,
        skip_without_date=True,
    )
    read = MappedRead(BILL + ",Total,1\n", mapping)
    assert read.report.files[0].notes == [
        "BilledCost is Amount times 0.01.",
        "Costs have the opposite sign in the file.",
        "EffectiveCost is BilledCost.",
        "Lines without a date, left out: 1.",
    ]
    assert read.column("billed_cost") == [Decimal("-0.015"), Decimal("-0.0025")]


def test_the_sign_is_of_costs_alone() -> None:
    mapping = document(
        amounts={"BilledCost": {"column": "Amount"}, "ConsumedQuantity": {"column": "Amount"}},
        costs_are_negative=True,
    )
    (first, _) = MappedRead(BILL, mapping).rows
    assert (first["billed_cost"], first["effective_cost"]) == (Decimal("-1.5"), Decimal("-1.5"))
    assert first["consumed_quantity"] == Decimal("1.5")


def test_the_preview_counts_each_line_that_cannot_be_read_once() -> None:
    text = BILL + "never,Server,much\n2026-05-05,Server,\n2026-13-01,Disk,1\n2026-05-06,Disk,2\n"
    preview = preview_text(text)
    assert (preview.rows, preview.unreadable) == (6, 3)
    assert (
        preview.problem == "row 4, column Day: 'never' is not a date and time such as 2026-05-01T00:00:00Z."
    )
    assert preview.months == {(date(2026, 5, 1), "EUR"): Decimal("3.75")}
    assert [bool(line.problem) for line in preview.lines] == [False, False, True, True, True, False]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=8)
names = st.sampled_from(["Day", "Item", "Amount", "", "other"]) | texts


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """PLAIN with any rules besides, most of them wrong in some way."""
    factor = st.sampled_from(["1", "0.01", "-1", "1e30", "sNaN", "0.000000001", "12345678901.5"])
    date_format = st.sampled_from([*DATE_FORMATS, "%Y", "%", "%%", "x"]) | texts
    value = st.sampled_from(["", "EUR", "Usage", *ENUMERATIONS["ChargeCategory"]]) | texts
    rule = {"column": names, "value": value, "values": st.dictionaries(texts, value, max_size=2)}
    addends = st.lists(st.fixed_dictionaries({"column": names, "is_subtracted": st.booleans()}), max_size=2)
    return {
        "amounts": PLAIN["amounts"]
        | draw(
            st.dictionaries(
                st.sampled_from(AMOUNT_COLUMNS),
                st.fixed_dictionaries({"column": names, "factor": factor, "addends": addends}),
                max_size=3,
            )
        ),
        "texts": PLAIN["texts"]
        | draw(st.dictionaries(st.sampled_from(TEXT_COLUMNS), st.fixed_dictionaries(rule), max_size=3)),
        "dates": PLAIN["dates"]
        | draw(
            st.dictionaries(
                st.sampled_from(DATE_COLUMNS),
                st.fixed_dictionaries({"column": names, "format": date_format}),
                max_size=2,
            )
        ),
        "tags": draw(st.lists(st.fixed_dictionaries({"column": names, "key": texts}), max_size=2)),
        "decimal_mark": draw(st.sampled_from(["point", "comma", None])),
        "granularity": draw(st.sampled_from(["hour", "day", "month"])),
        "time_zone": draw(st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "Nowhere", ""])),
        "costs_are_negative": draw(st.booleans()),
        "skip_without_date": draw(st.booleans()),
    }


days = st.sampled_from(["2026-05-01", "01.05.2026", "", "0001-01-01", "9999-12-31", "1780185600"]) | texts
amounts = st.sampled_from(["1", "1.5", "1,5", "-3e-5", "", "1e400", "NaN", "(2)", "999999999999999"]) | texts


@settings(max_examples=examples(150), deadline=None)
@given(stored=documents(), rows=st.lists(st.tuples(days, texts, amounts), min_size=1, max_size=5))
def test_any_document_and_any_file_end_in_a_sentence_or_in_rows(
    stored: dict[str, Any], rows: list[tuple[str, str, str]]
) -> None:
    document = document_of(stored)
    if problems(document):
        return
    assert document_of(as_json(document)) == document
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([("Day", "Item", "Amount"), *rows])
    data = text.getvalue()
    preview, read = _attempt(preview_text, data, document), _attempt(MappedRead, data, document)
    if isinstance(read, MappedRead):
        assert isinstance(preview, Preview)
        assert (preview.unreadable, preview.rows) == (0, len(rows))
        assert len(read.rows) == preview.rows - preview.skipped
        assert sum(preview.totals.values()) == sum(read.column("billed_cost"))
    else:
        assert isinstance(preview, FocusFileError) or preview.unreadable or "row" in read.message


def _attempt(action: Callable[[str, MappingDocument], Any], data: str, mapping: MappingDocument) -> Any:
    """What it gives, or the sentence in which it ends."""
    try:
        return action(data, mapping)
    except FocusFileError as error:
        return error


@settings(max_examples=examples(100), deadline=None)
@given(
    values=st.lists(st.decimals(-(10**9), 10**9, places=6), min_size=1, max_size=20),
    factor=st.decimals("0.000001", "1000", places=6),
)
def test_amounts_times_their_factor_are_exact(values: list[Decimal], factor: Decimal) -> None:
    mapping = document(amounts={"BilledCost": {"column": "Amount", "factor": str(factor)}})
    data = "Day,Item,Amount\n" + "".join(f"2026-05-01,Server,{value}\n" for value in values)
    expected = [(value * factor).quantize(ATTOS) for value in values]
    assert MappedRead(data, mapping).column("billed_cost") == expected
