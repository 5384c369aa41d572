"""Numbers and dates in a file's own format: the right one for the whole file, or a refusal with both readings."""

from __future__ import annotations

import contextlib
import gzip
import io
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.formats import FormatChoice
from finops.costs.focus.values import DateOrder, NumberFormat
from finops.costs.models import CostImport, CostSource
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import cost_by, import_bill, import_bill_as, total, write_bill
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv

NO_OTHERS = {"EffectiveCost": "1", "ListCost": "", "ContractedCost": ""}
POINT, COMMA = NumberFormat.POINT, NumberFormat.COMMA


def bill(*amounts: str, delimiter: str = ";") -> bytes:
    return as_csv(*({**NO_OTHERS, "BilledCost": amount} for amount in amounts), delimiter=delimiter)


def refusal(data: bytes, **chosen: Any) -> str:
    with pytest.raises(FocusFileError) as error:
        FocusRead(data, **chosen)
    return error.value.message


@pytest.mark.parametrize(
    ("amounts", "meant"),
    [
        (["0,123", "12,345"], ["0.123", "12.345"]),
        (["12,345", "0,123"], ["12.345", "0.123"]),
        (["1.234", "1.234,56"], ["1234", "1234.56"]),
        (["1.234", "12,5"], ["1234", "12.5"]),
        (["1.234", "1234,567"], ["1234", "1234.567"]),
        (["1.234", "1,2345"], ["1234", "1.2345"]),
        (["1.234", "1.234.567"], ["1234", "1234567"]),
        (["-1.234", "(1.234,50 €)", "€ 2,50", "1,5E-3"], ["-1234", "-1234.5", "2.5", "0.0015"]),
        (["1 234,567", "1'234,5", "1\N{NARROW NO-BREAK SPACE}234,5"], ["1234.567", "1234.5", "1234.5"]),
        (["12,345", "0.5"], ["12345", "0.5"]),
        (["1,234", "12.50"], ["1234", "12.5"]),
        (["1,234", "1,234,567"], ["1234", "1234567"]),
        (["1.234", "5.5"], ["1.234", "5.5"]),
        (["1 234", "5"], ["1234", "5"]),
    ],
)
def test_the_number_format_of_a_file_is_that_of_all_its_numbers(amounts: list[str], meant: list[str]) -> None:
    assert FocusRead(bill(*amounts)).column("billed_cost") == [Decimal(amount) for amount in meant]
    assert FocusRead(bill(*amounts, delimiter=",")).column("billed_cost") == [Decimal(each) for each in meant]


def test_quantities_decide_and_are_read_the_same_way() -> None:
    read = FocusRead(as_csv({**NO_OTHERS, "BilledCost": "12,345", "ConsumedQuantity": "0,5"}))
    assert (read.row["billed_cost"], read.row["consumed_quantity"]) == (Decimal("12.345"), Decimal("0.5"))
    report = read.report.files[0]
    assert report.number_format == "1.234,56"
    assert report.number_format_because == "focus.csv row 2, ConsumedQuantity: '0,5'".removeprefix(
        "focus.csv "
    )


def test_an_ambiguous_number_format_is_refused_with_both_readings_and_both_totals() -> None:
    message = refusal(bill("12,345", "1,000", "7"))
    assert (
        "focus.csv, row 2, BilledCost: '12,345' is 12345 with a decimal point and 12.345 with a decimal"
        in message
    )
    assert "BilledCost adds up to 13352 or 20.345 USD" in message
    assert "--decimal comma" in message
    assert FocusRead(bill("12,345", "1,000", "7"), numbers=COMMA).column("billed_cost")[0] == Decimal(
        "12.345"
    )
    assert FocusRead(bill("12,345", "1,000", "7"), numbers=POINT).column("billed_cost")[0] == Decimal(12345)


@pytest.mark.parametrize(
    ("amounts", "message"),
    [
        (
            ("0.5", "0,5"),
            "row 3, column BilledCost: '0,5' has a decimal comma, and the numbers of the file have a",
        ),
        (
            ("0,5", "0.5"),
            "'0.5' has a decimal point, and the numbers of the file have a decimal comma (row 2, B",
        ),
    ],
)
def test_a_file_of_both_formats_is_refused(amounts: tuple[str, ...], message: str) -> None:
    assert message in refusal(bill(*amounts))


def test_a_dot_before_three_digits_is_ambiguous_only_in_files_unlike_focus() -> None:
    assert "'1.234' is 1.234 with a decimal point and 1234 with a decimal comma" in refusal(
        bill("1.234", "5")
    )
    assert FocusRead(bill("1.234", "5", delimiter=",")).column("billed_cost") == [
        Decimal("1.234"),
        Decimal(5),
    ]


def test_a_number_that_does_not_fit_what_was_set_is_refused() -> None:
    assert (
        "'0.5' has a decimal point, and the numbers of the file have a decimal comma (set for this"
        in refusal(bill("0.5"), numbers=COMMA)
    )


def test_rows_read_before_the_first_comma_are_read_again() -> None:
    many = ["1.234"] * 150_000
    read = FocusRead(bill(*many, "0,50"))
    assert sum(read.column("billed_cost")) == Decimal(1234) * 150_000 + Decimal("0.5")
    assert (read.report.rows, read.report.files[0].rows) == (150_001, 150_001)
    assert read.finding("thousands_separator").rows == 150_000


def test_each_file_of_an_import_has_its_own_format(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    (tmp_path / "point.csv").write_bytes(bill("1.234", "5", delimiter=","))
    (tmp_path / "comma.csv.gz").write_bytes(gzip.compress(bill("1.234", "0,5")))
    job = import_bill(cast, source, tmp_path / "point.csv", tmp_path / "comma.csv.gz")
    assert total(cast.account) == Decimal("1.234") + 5 + Decimal("1234.5")
    assert [file["number_format"] for file in job.report["files"]] == ["1,234.56", "1.234,56"]


@pytest.mark.parametrize("months", [["2026-05-01"], ["2026-05-01", "2026-06-01"]])
def test_text_numbers_in_parquet_have_a_format_too(tmp_path: Path, months: list[str]) -> None:
    rows = [{**ROW, **NO_OTHERS, "BilledCost": "1.234", "BillingPeriodStart": month} for month in months]
    table = pa.Table.from_pylist([*rows, {**rows[0], "BilledCost": "0,5"}])
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    read = FocusRead(buffer.getvalue())
    assert sum(read.column("billed_cost")) == Decimal(1234) * len(months) + Decimal("0.5")
    assert read.report.files[0].number_format == "1.234,56"


def test_numbers_stored_as_such_have_no_format() -> None:
    buffer = io.BytesIO()
    pq.write_table(
        pa.Table.from_pylist(
            [{**ROW, "BilledCost": 1.5, "EffectiveCost": 2, "ListCost": 0.25, "ContractedCost": 1}]
        ),
        buffer,
    )
    assert FocusRead(buffer.getvalue()).report.files[0].number_format == ""


def test_the_command_and_the_service_take_a_number_format(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    path = write_bill(tmp_path, bill("12,345").decode())
    with pytest.raises(UserError, match=r"12345 with a decimal point and 12\.345 with a decimal comma"):
        import_bill(cast, source, path)
    assert total(cast.account) is None
    call_command("import_focus", "--account", "acme", "--source", "Bills", "--decimal", "comma", str(path))
    assert total(cast.account) == Decimal("12.345")
    import_bill_as(FormatChoice(POINT), cast, source, path)
    assert total(cast.account) == Decimal(12345)
    assert list(CostImport.objects.values_list("number_format", flat=True)) == ["point", "comma", ""]


def dated_csv(*rows: tuple[str, str], **more: str) -> bytes:
    return as_csv(
        *({"BillingPeriodStart": period, "ChargePeriodStart": charge, **more} for period, charge in rows)
    )


@pytest.mark.parametrize(
    ("rows", "days"),
    [
        ([("2026-09-01", "05/09/2026")], [date(2026, 9, 5)]),
        ([("2026-09-01", "09/05/2026")], [date(2026, 9, 5)]),
        ([("01/09/2026", "05/09/2026")], [date(2026, 9, 5)]),
        ([("09/01/2026", "09/05/2026")], [date(2026, 9, 5)]),
        ([("2026-05-01", "05/09/2026"), ("2026-09-01", "13/09/2026")], [date(2026, 9, 5), date(2026, 9, 13)]),
        ([("2026-09-01", "05.09.2026")], [date(2026, 9, 5)]),
        ([("2026-09-01", "05-09-2026 13:00")], [date(2026, 9, 5)]),
        # A correction of an earlier month beside a line of this one.
        ([("2026-09-01", "05/08/2026"), ("2026-09-01", "06/09/2026")], [date(2026, 8, 5), date(2026, 9, 6)]),
    ],
)
def test_the_billing_period_decides_the_order_of_dates(rows: list[tuple[str, str]], days: list[date]) -> None:
    assert sorted(FocusRead(dated_csv(*rows)).column("charge_date")) == sorted(days)


def test_the_report_says_which_order_was_decided_and_why() -> None:
    read = FocusRead(dated_csv(("2026-09-01", "05/09/2026")))
    report = read.report.files[0]
    assert report.date_order == "day/month/year"
    assert (
        report.date_order_because == "row 2: BillingPeriodStart '2026-09-01', ChargePeriodStart '05/09/2026'"
    )
    assert read.finding("day_first_date").rows == 1


def test_dates_that_nothing_decides_are_refused_with_both_readings() -> None:
    data = dated_csv(("2026-01-01", "05/06/2026"))
    message = refusal(data)
    assert "row 2, column ChargePeriodStart: '05/06/2026' is 6 May 2026 or 5 June 2026" in message
    assert "--dates day-first" in message
    assert FocusRead(data, dates=DateOrder.DAY_FIRST).row["charge_date"] == date(2026, 6, 5)
    assert FocusRead(data, dates=DateOrder.MONTH_FIRST).row["charge_date"] == date(2026, 5, 6)


def test_dates_in_two_orders_are_refused() -> None:
    message = refusal(dated_csv(("2026-05-01", "05/13/2026"), ("2026-05-01", "13/05/2026")))
    assert (
        "row 3, column ChargePeriodStart: '13/05/2026' is not a date as month/day/year, the order of the file (row 2"
        in message
    )


def test_a_zone_shifted_period_belongs_to_the_month_that_the_line_names(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    starts = [
        "2026-08-31T22:00:00Z",
        "2026-09-01T00:00:00+02:00",
        "2026-08-31T19:00:00-05:00",
        "2026-09-01T04:00:00Z",
    ]
    charges = ["2026-08-31T22:00:00Z", "2026-09-01T00:00:00+02:00", "", "2026-09-30T23:00:00-05:00"]
    rows = [(start, charge) for start, charge in zip(starts, charges, strict=True)]
    path = write_bill(tmp_path, dated_csv(*rows, ("2026-08-15T10:00:00Z", "2026-08-31T23:00:00Z")).decode())
    assert import_bill(cast, source, path).months == ["2026-08", "2026-09"]
    assert cost_by(cast.account, "billing_period") == {
        "2026-08": (Decimal("1.5"), Decimal("1.25")),
        "2026-09": (Decimal(6), Decimal(5)),
    }
    assert {day: sums[0] for day, sums in cost_by(cast.account, "charge_date").items()} == {
        "2026-08-31": Decimal("4.5"),
        "2026-09-01": Decimal("1.5"),
        "2026-10-01": Decimal("1.5"),
    }


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_a_zone_shifted_period_in_parquet_is_the_same(zone: str | None) -> None:
    moments = [1788213600, 1788220800, 1786752000]  # 31 August 22:00, 1 September 00:00, 15 August 00:00 UTC
    columns: dict[str, Any] = {name: [value] * 3 for name, value in ROW.items()}
    columns["BillingPeriodStart"] = pa.array(moments, pa.timestamp("s", tz=zone))
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    assert sorted(FocusRead(buffer.getvalue()).column("billing_period")) == [
        date(2026, 8, 1),
        date(2026, 9, 1),
        date(2026, 9, 1),
    ]


AMOUNTS = st.decimals(min_value="-9999999", max_value="9999999", places=None, allow_nan=False).map(
    lambda amount: amount.quantize(Decimal("0.001"))
)


def render_number(amount: Decimal, decimal: str, thousands: str, places: int) -> str:
    text = f"{amount:,.{places}f}" if places else f"{amount:,.3f}".rstrip("0").rstrip(".")
    return text.translate({ord(","): thousands, ord("."): decimal})


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(AMOUNTS, min_size=1, max_size=6),
    st.sampled_from(
        [(".", ","), (",", "."), (".", ""), (",", ""), (".", "'"), (",", "\N{NO-BREAK SPACE}"), (",", " ")]
    ),
    st.sampled_from([0, 3]),
    st.sampled_from([",", ";"]),
)
def test_a_bill_in_any_number_format_has_its_exact_sum_or_is_refused(
    amounts: list[Decimal], marks: tuple[str, str], places: int, delimiter: str
) -> None:
    decimal, thousands = marks
    data = bill(
        *(render_number(amount, decimal, thousands, places) for amount in amounts), delimiter=delimiter
    )
    right = COMMA if decimal == "," else POINT
    assert sum(FocusRead(data, numbers=right).column("billed_cost")) == sum(amounts)
    written_ = [render_number(amount, *marks, places) for amount in amounts]
    if decimal == "," and delimiter == "," and not any("," in amount for amount in written_):
        return  # such as 1.234 alone in a file as FOCUS writes it
    with contextlib.suppress(FocusFileError):
        assert sum(FocusRead(data).column("billed_cost")) == sum(amounts)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.integers(1, 28), min_size=1, max_size=5),
    st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d"]),
    st.sampled_from(["same", "%Y-%m-%dT00:00:00Z"]),
)
def test_dates_of_a_month_in_any_order_are_its_days(
    month: int, days: list[int], form: str, period_form: str
) -> None:
    start = date(2026, month, 1)
    charges = [date(2026, month, day) for day in days]
    period = start.strftime(form if period_form == "same" else period_form)
    read = FocusRead(dated_csv(*((period, charge.strftime(form)) for charge in charges)))
    assert read.column("charge_date") == charges
    assert set(read.column("billing_period")) == {start}
