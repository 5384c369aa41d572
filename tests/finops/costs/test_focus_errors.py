"""A file that cannot be imported gets a message naming file, row, column, value and what to do."""

from __future__ import annotations

import gzip
import io
import zipfile
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.focus.errors import FocusFileError
from finops.lib.errors import UserError
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv, without_columns


def message(*files: bytes, **defaults: str) -> str:
    with pytest.raises(UserError) as error:
        FocusRead(*files, defaults=defaults)
    return error.value.message


def parquet(**columns: object) -> bytes:
    table = pa.table({name: columns.get(name, [value]) for name, value in {**ROW, **columns}.items()})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("focus.csv", as_csv({}))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "error_text"),
    [
        (b"", "focus.csv is empty. Upload a FOCUS file as CSV"),
        (b"\n\r\n  \n", "has only blank lines."),
        (archive(), "is a ZIP archive or an Excel workbook. Unpack it"),
        (b"<!DOCTYPE html>\n<html>", "is a web page or XML, perhaps an expired sign-in."),
        (b'{"rows": []}', "is not a FOCUS file: its 1 columns begin with 'rows'"),
        (b"[]", "has no rows. Export a period with cost."),
        (
            as_csv({}).decode().encode("utf-16-le"),
            ("is not text, or UTF-16 or UTF-32 without byte order mark. Save it again as 'CSV UTF-8'."),
        ),
        (
            as_csv({}).decode().encode("utf-32"),
            ("is not text, or UTF-16 or UTF-32 without byte order mark. Save it again as 'CSV UTF-8'."),
        ),
        ("<html>".encode("utf-16"), "is a web page or XML"),
        (b"BZh91AY", "is compressed with bzip2. Unpack it first"),
        (b"\x28\xb5\x2f\xfd\x00", "is compressed with zstd"),
        (b"%PDF-1.7", "is a PDF"),
        (gzip.compress(b"", mtime=0), "is a gzip file without content. Download it again."),
        (gzip.compress(b"PAR1" + bytes(100), mtime=0), "is Parquet inside gzip"),
        (gzip.compress(bytes(257) + b"ustar" + bytes(300), mtime=0), "is a tar archive"),
        (as_csv({}).split(b"\n")[0], "has a header but no rows. Export a period with cost."),
        (as_csv({}).split(b"\n")[0] + b"\n\n", ("has a header but no rows. Export a period with cost.")),
        (b"just text", "is not a FOCUS file: its 1 columns begin with 'just text'"),
        (b"PAR1" + bytes(50), "begins like Parquet but its footer cannot be read"),
        (parquet()[:-30], "begins like Parquet but its footer cannot be read"),
    ],
)
def test_a_file_other_than_focus_is_recognized_by_its_content(data: bytes, error_text: str) -> None:
    assert error_text in message(data)


@pytest.mark.parametrize(
    ("row", "error_text"),
    [
        ({"BilledCost": "two"}, "focus.csv, row 3, column BilledCost: 'two' is not a number"),
        (
            {"BilledCost": ""},
            (
                "focus.csv, row 3, column BilledCost: is empty, but required for cost lines (remove rows of totals)"
            ),
        ),
        ({"EffectiveCost": "NULL"}, "row 3, column EffectiveCost: is empty"),
        ({"ListCost": "0,5x"}, "row 3, column ListCost: '0,5x' is not a number"),
        ({"BilledCost": "1000000000000000"}, "row 3, column BilledCost: '1000000000000000' is too large"),
        ({"BilledCost": "1e400"}, "row 3, column BilledCost: '1e400' is too large"),
        ({"BillingCurrency": ""}, "row 3, column BillingCurrency: is empty"),
        (
            {"BillingCurrency": "US Dollar"},
            "row 3, column BillingCurrency: 'US Dollar' is not a three-letter",
        ),
        ({"BillingPeriodStart": ""}, "row 3, column BillingPeriodStart: is empty"),
        ({"BillingPeriodStart": "13/13/26"}, "'13/13/26' is not a date as month/day/year"),
        ({"ChargePeriodStart": "soon"}, "row 3, column ChargePeriodStart: 'soon' is not a date and time"),
        ({"ChargePeriodStart": "0001-01-01"}, "row 3, column ChargePeriodStart: '0001-01-01' is not between"),
        ({"ChargeCategory": ""}, "row 3, column ChargeCategory: is empty"),
        ({"BilledCost": "x" * 500}, "x…' is not a number"),
        ({"BilledCost": "\x1b[31m"}, r"'\x1b[31m' is not a number"),
    ],
)
def test_a_bad_value_is_named_with_its_row_and_column(row: dict[str, str], error_text: str) -> None:
    assert error_text in message(as_csv({}, row, {}))
    assert error_text.replace("row 3", "row 2") in message(gzip.compress(as_csv(row)))


def test_a_row_after_line_breaks_and_blank_lines_is_named_with_its_line() -> None:
    first, second = as_csv({"ChargeDescription": "two\nlines"}, {}).split(b"lines")
    data = first + b"lines" + second.replace(b"\n1.5,", b"\n\n\nbad,", 1)
    assert "focus.csv, row 3 (line 6), column BilledCost: 'bad'" in message(data)


def test_excels_first_line_is_no_row() -> None:
    data = b"sep=;\n" + as_csv(
        {}, {"BilledCost": "bad", "ServiceName": "a,b,c,d,e,f,g,h,i,j,k,l,m"}, delimiter=";"
    )
    assert "focus.csv, row 3 (line 4), column BilledCost: 'bad'" in message(data)
    assert "row 3 (line 4): 12 fields where the header names 11" in message(data.replace(b"bad", b"b;d"))


def test_a_row_of_totals_is_refused() -> None:
    totals = dict.fromkeys(ROW, "") | {"ServiceName": "Total", "BilledCost": "3"}
    assert (
        "row 4, column BillingPeriodStart: is empty, but required for cost lines (remove rows of totals)"
    ) in message(as_csv({}, {}, totals))


def test_a_bad_value_far_into_a_file_is_found_at_its_row() -> None:
    header, row, _ = as_csv({}).split(b"\n")
    data = b"\n".join([header, *[row] * 200_000, row.replace(b"1.5,", b"bad,", 1), row, b""])
    assert "row 200002, column BilledCost: 'bad'" in message(data)


def test_all_missing_mandatory_columns_are_named_together_with_the_way_to_give_them() -> None:
    error_text = message(without_columns(as_csv({}), "EffectiveCost", "BillingCurrency", "ProviderName"))
    assert (
        "lacks 3 columns required for an import: EffectiveCost, BillingCurrency, ProviderName" in error_text
    )
    assert "--set Column=value" in error_text


@pytest.mark.parametrize(
    ("options", "error_text"),
    [
        (
            {"Currency": "USD"},
            "Column 'Currency' is not used by imports. Columns: BillingCurrency",
        ),
        ({"BillingCurrency": " "}, "The value given for BillingCurrency is empty"),
        ({"BillingCurrency": "Euros"}, "The value 'Euros' given for BillingCurrency is not a three-letter"),
        ({"EffectiveCost": "lots"}, "EffectiveCost cannot be 'lots' in every row"),
        ({"BilledCost": "1000"}, "BilledCost cannot be '1000' in every row. Use BilledCost=@Column"),
        ({"consumed quantity": "1"}, "ConsumedQuantity cannot be '1' in every row"),
        ({"EffectiveCost": "@BiledCost"}, "no such column. Nearest: 'BilledCost'"),
        (
            {"BillingPeriodStart": "May", "BillingCurrency": "USD"},
            "given for BillingPeriodStart is not a date",
        ),
    ],
)
def test_a_given_value_that_does_not_fit_is_refused(options: dict[str, str], error_text: str) -> None:
    assert error_text in message(
        without_columns(as_csv({}), *ROW.keys() & {*options, "BillingCurrency"}), **options
    )


def test_a_column_twice_is_refused_with_both_places() -> None:
    error_text = message(as_csv({"billed_cost": "1"}))
    assert (
        "has BilledCost more than once: 'BilledCost' (column 1) and 'billed_cost' (column 12)" in error_text
    )


def test_a_stray_column_twice_is_no_problem() -> None:
    assert len(FocusRead(as_csv({"Id": "1"}).replace(b"Id", b"Id,Id").replace(b",1\n", b",1,1\n")).rows) == 1


@pytest.mark.parametrize(("tail", "fields"), [(b",extra", 12), (b"", 10)])
def test_a_row_with_too_many_or_too_few_fields_is_named(tail: bytes, fields: int) -> None:
    header, row, _ = as_csv({}).split(b"\n")
    bad = row + tail if tail else row.rsplit(b",", 1)[0]
    error_text = message(b"\n".join([header, row, b"", bad, row, b""]))
    assert (
        f"focus.csv, row 3 (line 4): {fields} fields where the header names 11. The row begins '1.5,1.25"
        in error_text
    )


def test_text_that_is_not_utf_8_is_named_with_its_line() -> None:
    assert "focus.csv, line 3: not UTF-8" in message(as_csv({}, {"ServiceName": "x"}).replace(b"x", b"\xe9"))
    late = as_csv(*[{}] * 2000, {"ServiceName": "x"}).replace(b",x,", b",\xff,")
    assert "focus.csv, line 2002: not UTF-8" in message(late)


def test_text_in_utf_16_that_breaks_off_is_named_with_its_line() -> None:
    whole = as_csv(*[{"Tags": "{}"}] * 2_000).decode().encode("utf-16")
    assert "focus.csv is truncated or not UTF-16 after line 2001" in message(whole[:-3] + b"\xd8")
    assert "focus.csv, row 2001 (line 2001): 11 fields" in message(whole[:-20])
    late = as_csv(*[{}] * 2_000, {"BilledCost": "x"}).decode().encode("utf-16")
    assert "focus.csv, row 2002, column BilledCost: 'x' is not a number" in message(late)


WRAPPING = [
    str(2**128 + 1),
    "9" * 5_000,
    "9" * 39,
    "1e30",
    "-1E+37",
    "3402823669209384634633746074.31768211457",
]


@pytest.mark.parametrize("value", [*WRAPPING, str(2**128 * 10**9 + 10**9)])
def test_an_amount_beyond_the_type_is_an_error_and_no_other_amount(value: str) -> None:
    for delimiter in (",", ";"):
        error_text = message(as_csv({}, {"BilledCost": value}, delimiter=delimiter))
        assert "row 3, column BilledCost:" in error_text
        assert "is too large: amounts must be below 10^15" in error_text
    stored = message(parquet(BilledCost=[value]))
    assert "row 1, column BilledCost:" in stored
    assert "is too large" in stored


@pytest.mark.parametrize("value", WRAPPING)
def test_a_quantity_beyond_the_type_is_null_and_counted(value: str) -> None:
    read = FocusRead(as_csv({"ConsumedQuantity": value}, {"ConsumedQuantity": "1.5e3"}))
    assert read.column("consumed_quantity") == [None, Decimal(1500)]
    assert read.finding("quantity_too_large").rows == 1


def test_gzip_that_breaks_off_is_named_with_the_last_whole_row() -> None:
    packed = gzip.compress(as_csv(*[{"ResourceId": str(place * 7919)} for place in range(50_000)]))
    assert "focus.csv is truncated after row" in message(packed[: len(packed) // 2])
    assert "focus.csv is truncated after row 50001: the gzip data is incomplete" in message(packed[:-6])


@pytest.mark.parametrize("tags", ['{"a": "b"}', '{"a": "b"'])
def test_a_file_that_breaks_off_inside_quotes_is_refused(tags: str) -> None:
    whole = as_csv({}, {"Tags": tags})
    torn = whole[: whole.rindex(b'"')]
    assert "focus.csv has an unclosed quote in row 3" in message(torn)


def test_parquet_that_is_damaged_inside_is_refused() -> None:
    whole = bytearray(parquet())
    whole[60:400] = bytes(340)
    assert "begins like Parquet but its data cannot be read after row 0" in message(bytes(whole))


@pytest.mark.parametrize(
    ("columns", "error_text"),
    [
        ({"BilledCost": [b"\x01"]}, "column BilledCost does not hold numbers: binary"),
        ({"BilledCost": [True]}, "column BilledCost does not hold numbers: bool"),
        ({"BilledCost": [float("nan")]}, "row 1, column BilledCost: 'nan' is not a number"),
        ({"ServiceName": [["x"]]}, "column ServiceName does not hold text: list"),
        ({"ServiceName": [b"\xff"]}, "column ServiceName holds text that is not UTF-8"),
        ({"Tags": [1.5]}, None),
        ({"Tags": [[1]]}, "column Tags does not hold tags: list"),
        ({"BilledCost": [None]}, "row 1, column BilledCost: is empty"),
    ],
)
def test_parquet_columns_of_types_that_make_no_sense_are_refused(
    columns: dict[str, object], error_text: str | None
) -> None:
    if error_text is None:
        assert FocusRead(parquet(**columns)).kinds == {"tags_unreadable"}
    else:
        assert error_text in message(parquet(**columns))


@pytest.mark.parametrize(
    ("text", "error_text"),
    [
        (
            b"BillingPeriodStatus,BillingPeriodStart\nOpen,2026-05-01\n",
            "is a Billing Period file but lacks Inv",
        ),
        (b"InvoiceId,InvoiceIssueDate,BillingCurrency\n1,,USD\n", "is an Invoice Detail file but lacks Inv"),
        (
            b"BillingPeriodStatus,BillingPeriodStart,InvoiceIssuerName\n,2026-05-01,AWS\n",
            "row 2, column BillingPeriodStatus: is empty, but required for each billing period",
        ),
    ],
)
def test_other_datasets_without_what_every_row_has_are_refused(text: bytes, error_text: str) -> None:
    assert error_text in message(text)


def test_a_contract_commitment_without_period_or_id_is_refused() -> None:
    header = b"ContractCommitmentId,ContractCommitmentPeriodStart,ContractCommitmentPeriodEnd\n"
    error_text = message(header + b"c1,2026-01-01T00:00:00Z,\n")
    assert (
        "row 2, column ContractCommitmentPeriodEnd: is empty, but required for each commitment" in error_text
    )
    assert "lacks ContractCommitmentPeriodEnd" in message(
        b"ContractCommitmentId,ContractCommitmentPeriodStart\n1,2\n"
    )


def test_more_than_ten_years_of_months_is_taken_for_a_wrong_column() -> None:
    rows = [
        {"BillingPeriodStart": f"{1990 + place // 12}-{place % 12 + 1:02d}-01T00:00:00Z"}
        for place in range(121)
    ]
    assert "has more than 120 billing months. Is BillingPeriodStart the right column?" in message(
        as_csv(*rows)
    )


def test_the_second_file_of_an_import_is_named_when_it_is_the_bad_one() -> None:
    with pytest.raises(FocusFileError, match="row 2, column BilledCost: 'bad'"):
        FocusRead(as_csv({}), as_csv({"BilledCost": "bad"}))
