"""Files in the wild are untidy: each liberty is read as meant, and the report counts it."""

from __future__ import annotations

import gzip
from datetime import date
from decimal import Decimal

import pytest

from finops.costs.focus.values import parse_amount, parse_day
from finops.lake.schema import COST_SCHEMA, OPTIONAL
from tests.finops.costs import reference_model
from tests.finops.costs.focus_reader import FocusRead, as_csv, without_columns


def test_a_tidy_file_has_no_findings() -> None:
    read = FocusRead(as_csv({}))
    assert read.kinds == set()
    assert (read.row["billed_cost"], read.row["charge_date"]) == (Decimal("1.5"), date(2026, 5, 3))
    assert (read.row["billing_period"], read.row["source"]) == (date(2026, 5, 1), "7")


def test_the_real_sample_reports_every_liberty_with_its_rows() -> None:
    read = FocusRead((reference_model.DATA / "focus-1.0-real/focus_sample.csv").read_bytes())
    counted = {each.kind: each.rows for each in read.report.findings}
    assert counted == {
        "null_text": 1000,
        "empty_expected": 7,
        "no_zone": 1000,
        "odd_case": 7,
        "tag_key_trimmed": 23,
        "tag_key_collision": 21,
    }
    assert (read.report.files[0].focus_version, read.report.files[0].stray) == ("1.0", ["Id"])
    assert not {"NULL", "", " org"} & {value for row in read.rows for value in [*row, *row.values()]}


@pytest.mark.parametrize("word", ["NULL", "null", "", "  "])
def test_missing_values_in_any_spelling_are_null(word: str) -> None:
    read = FocusRead(
        as_csv({"RegionId": word, "ConsumedQuantity": word, "Tags": word}, {"RegionId": "eu-west-1"})
    )
    assert read.column("region") == [None, "eu-west-1"]
    assert read.column("consumed_quantity") == [None, None]


def test_null_text_is_counted_by_rows_and_by_cells() -> None:
    read = FocusRead(as_csv({"RegionId": "NULL", "SkuId": "null"}, {"RegionId": "NULL"}, {"RegionId": "x"}))
    finding = read.finding("null_text")
    assert (finding.rows, finding.columns) == (2, {"RegionId": 2, "SkuId": 1})
    assert finding.first == "focus.csv row 2, RegionId: 'NULL'"


@pytest.mark.parametrize(
    ("written", "meant", "kinds"),
    [
        ("$10,000.00 ", "10000", {"currency_sign", "thousands_separator", "spaces_around_amount"}),
        ("(5.00)", "-5", {"negative_in_parentheses"}),
        ("($1,234.5)", "-1234.5", {"negative_in_parentheses", "currency_sign", "thousands_separator"}),
        ("-$3", "-3", {"currency_sign"}),
        ("1.5E-7", "0.00000015", set()),
        ("-2e3", "-2000", set()),
        ("\N{MINUS SIGN}4", "-4", set()),
        (".5", "0.5", set()),
        ("1'234.50", "1234.5", {"thousands_separator"}),
        ("1\N{NARROW NO-BREAK SPACE}234\N{NO-BREAK SPACE}567.5", "1234567.5", {"thousands_separator"}),
        ("12,34,567.5", "1234567.5", {"thousands_separator"}),
        ("0.0000000000000000005", "0", {"rounded"}),
        ("0.0000000000000000015", "0.000000000000000002", {"rounded"}),
        ("0.0000000000000000025", "0.000000000000000002", {"rounded"}),
        ("1.00000000000000000000000", "1", set()),
        ("999999999999999.999999999999999999", "999999999999999.999999999999999999", set()),
    ],
)
def test_amounts_as_people_write_them(written: str, meant: str, kinds: set[str]) -> None:
    read = FocusRead(as_csv({"BilledCost": written}))
    assert (read.row["billed_cost"], read.kinds) == (Decimal(meant), kinds)


@pytest.mark.parametrize(
    "written",
    ["0,5", "1.234,50", "1,23", "--1", "1 2", "five", "NaN", "inf", "0x10", "1e99999", "12%", "0,123.4"],
)
def test_an_invalid_amount_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"is not a number|too large"):
        parse_amount(written)


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-05-03T00:00:00Z", date(2026, 5, 3)),
        ("2026-05-03T23:30:00-02:00", date(2026, 5, 4)),
        ("2026-05-03 00:00:00.000 UTC", date(2026, 5, 3)),
        ("2026-05-03 07:00:00", date(2026, 5, 3)),
        ("2026-05-03", date(2026, 5, 3)),
        ("5/3/26", date(2026, 5, 3)),
        ("05/03/2026 0:00", date(2026, 5, 3)),
        ("5/3/2026 12:00:00 AM", date(2026, 5, 3)),
        ("2026/5/3", date(2026, 5, 3)),
    ],
)
def test_days_as_files_write_them(written: str, day: date) -> None:
    assert parse_day(written).value == day


@pytest.mark.parametrize(
    "written",
    [
        "13/1/26",
        "2/30/26",
        "2026/13/01",
        "1/2/3/26",
        "5-3-26",
        "2026-02-30",
        "yesterday",
        "0001-01-01",
        "9999-01-01",
    ],
)
def test_an_invalid_day_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"is not"):
        parse_day(written)


def test_times_without_zone_and_us_dates_are_counted() -> None:
    read = FocusRead(
        as_csv({"ChargePeriodStart": "5/3/26"}, {"ChargePeriodStart": "2026-05-04 00:00:00"}, {})
    )
    assert (read.finding("us_date").rows, read.finding("no_zone").rows) == (1, 2)


def test_column_names_in_another_case_or_with_spaces_are_recognised() -> None:
    data = as_csv({}).replace(b"BilledCost", b" billed_cost ").replace(b"EffectiveCost", b"Effective Cost")
    assert FocusRead(data).row["billed_cost"] == Decimal("1.5")


def test_values_of_fixed_lists_get_their_spelling() -> None:
    read = FocusRead(
        as_csv({"ChargeFrequency": "usage-based", "ChargeCategory": "USAGE", "BillingCurrency": "usd"})
    )
    assert (read.row["charge_frequency"], read.row["charge_category"], read.row["currency"]) == (
        "Usage-Based",
        "Usage",
        "USD",
    )
    assert read.finding("odd_case").rows == 1


def test_a_value_that_focus_does_not_list_is_kept_and_counted() -> None:
    read = FocusRead(as_csv({"ChargeCategory": "Refund"}, {}))
    assert read.column("charge_category") == ["Refund", "Usage"]
    assert read.finding("unknown_value").columns == {"ChargeCategory": 1}


def test_stray_and_extension_columns_are_listed_apart() -> None:
    report = FocusRead(as_csv({"Id": "1", "x_CostCenter": "2", "X_Other": "3"})).report.files[0]
    assert (report.stray, report.extensions) == (["Id"], ["x_CostCenter", "X_Other"])


def test_a_charge_without_its_period_gets_the_billing_periods_first_day() -> None:
    read = FocusRead(as_csv({"ChargePeriodStart": ""}, {}))
    assert read.column("charge_date") == [date(2026, 5, 1), date(2026, 5, 3)]
    assert read.finding("charge_period_from_billing_period").rows == 1
    read = FocusRead(without_columns(as_csv({}), "ChargePeriodStart"))
    assert (read.row["charge_date"], read.report.files[0].missing[-3:]) == (
        date(2026, 5, 1),
        ["ChargePeriodStart", "ChargePeriodEnd", "Tags"],
    )


def test_missing_focus_values_of_rows_are_counted() -> None:
    read = FocusRead(as_csv({"ServiceName": "", "ListCost": ""}, {}))
    assert read.finding("empty_expected").columns == {"ServiceName": 1, "ListCost": 1}


def test_a_quantity_too_large_to_add_up_is_left_out_and_its_cost_stays() -> None:
    read = FocusRead(
        as_csv({"ConsumedQuantity": "1e15"}, {"ConsumedQuantity": "1e30"}, {"ConsumedQuantity": "9e14"})
    )
    assert read.column("consumed_quantity") == [None, None, Decimal("9e14")]
    assert read.finding("quantity_too_large").rows == 2
    assert sum(read.column("billed_cost")) == Decimal("4.5")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_found(delimiter: str) -> None:
    assert FocusRead(as_csv({}, delimiter=delimiter)).row["billed_cost"] == Decimal("1.5")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.rstrip(),
        lambda data: data + b"\n\n\r\n",
        lambda data: b"\n\r\n" + data,
        lambda data: b"sep=,\n" + data,
        lambda data: b'\xef\xbb\xbf"sep=,"\r\n' + data.replace(b"\n", b"\r\n"),
        lambda data: b"\nSEP=,\r" + data.replace(b"\n", b"\r"),
        lambda data: gzip.compress(b"sep=,\n" + data),
        gzip.compress,
        lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:]),
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"\xfe\xff" + data.decode().replace("\n", "\r\n").encode("utf-16-be"),
        lambda data: gzip.compress(b"\xff\xfe" + data.decode().encode("utf-16-le")),
    ],
)
def test_byte_order_marks_line_ends_blank_lines_and_gzip_are_all_one(change: object) -> None:
    assert callable(change)
    data = change(as_csv({"Tags": '{"a": "x"}'}, {"Tags": '{"a": "y"}'}))
    assert FocusRead(data).column("tag:a") == ["x", "y"]


def test_text_in_utf_16_is_read_piece_by_piece() -> None:
    rows = [{"ServiceName": f"Dienst \N{GRINNING FACE} {place}", "Tags": "{}"} for place in range(3_000)]
    data = as_csv(*rows, delimiter="\t").decode()
    read = FocusRead(data.encode("utf-16"), data.encode())
    assert read.column("service") == [row["ServiceName"] for row in rows] * 2


def test_a_line_break_inside_quotes_is_part_of_the_value() -> None:
    read = FocusRead(as_csv({"ChargeDescription": 'two\nlines, "quoted"'}, {}))
    assert read.column("charge_description") == ['two\nlines, "quoted"', None]


def test_quotes_inside_plain_text_are_no_torn_end() -> None:
    data = as_csv({"ChargeDescription": "disk"}).replace(b",disk", b',5" disk')
    assert FocusRead(data).row["charge_description"] == '5" disk'


def test_currencies_and_months_are_summed_separately_in_the_report() -> None:
    june = {"BillingPeriodStart": "2026-06-01T00:00:00Z"}
    report = FocusRead(as_csv({}, {"BillingCurrency": "EUR"}, {"BillingCurrency": "EUR"}, june)).report
    totals = {
        month.month: {total.currency: total.billed_cost for total in month.totals} for month in report.months
    }
    assert totals == {
        "2026-05": {"EUR": Decimal(3), "USD": Decimal("1.5")},
        "2026-06": {"USD": Decimal("1.5")},
    }


def test_provider_and_usage_type_come_from_the_newest_column_with_a_value() -> None:
    read = FocusRead(
        as_csv(
            {"ServiceProviderName": "Amazon", "SkuMeter": "Compute", "SkuId": "S1"},
            {"ServiceProviderName": "", "SkuMeter": "", "SkuId": "S2"},
        )
    )
    assert read.column("provider") == ["Amazon", "AWS"]
    assert read.column("usage_type") == ["Compute", "S2"]


@pytest.mark.parametrize(
    ("columns", "version"),
    [
        ({}, "1.0"),
        ({"SkuMeter": "x"}, "1.1"),
        ({"InvoiceId": "x"}, "1.2"),
        ({"BillingAccountType": "x"}, "1.0"),
        ({"ServiceProviderName": "x"}, "1.3"),
        ({"InvoiceDetailId": "x"}, "1.4"),
    ],
)
def test_the_version_is_recognized_by_the_columns(columns: dict[str, str], version: str) -> None:
    assert FocusRead(as_csv(columns)).report.files[0].focus_version == version


def test_without_provider_name_but_with_service_provider_name_it_is_1_4() -> None:
    data = without_columns(as_csv({"ServiceProviderName": "AWS"}), "ProviderName")
    report = FocusRead(data).report.files[0]
    assert (report.focus_version, "ProviderName" in report.missing) == ("1.4", False)


def test_an_actor_column_wins_over_the_actor_tags_in_their_order() -> None:
    read = FocusRead(
        as_csv(
            {"x_User": "ada", "Tags": '{"owner": "bob"}'},
            {"x_User": "", "Tags": '{"owner": "bob", "aws:createdBy": "eve"}'},
            {"x_User": "", "Tags": '{"team": "x"}'},
        ),
        actor_tag_keys=("aws:createdBy", "owner"),
    )
    assert read.column("actor") == ["ada", "eve", None]


def test_values_given_for_missing_columns_hold_for_every_row() -> None:
    data = without_columns(as_csv({}, {"BilledCost": "7"}), "BillingCurrency", "EffectiveCost")
    read = FocusRead(data, defaults={"billingcurrency": "EUR", "EffectiveCost": "@BilledCost"})
    assert read.column("currency") == ["EUR", "EUR"]
    assert read.column("effective_cost") == [Decimal("1.5"), Decimal(7)]
    assert read.report.files[0].supplied == {"BillingCurrency": "EUR", "EffectiveCost": "@BilledCost"}


@pytest.mark.parametrize("given", ["@Kosten", "@ kosten ", "@x_net cost", "@X_NetCost"])
def test_any_column_of_the_file_fills_one_that_it_lacks(given: str) -> None:
    data = without_columns(as_csv({"Kosten": "3.5", "x_NetCost": "3.5", "Id": "1"}), "BilledCost")
    read = FocusRead(data, defaults={"BilledCost": given})
    assert (read.row["billed_cost"], read.row["effective_cost"]) == (Decimal("3.5"), Decimal("1.25"))
    assert read.report.files[0].supplied["BilledCost"] in ("@Kosten", "@x_NetCost")


def test_a_column_that_fills_a_text_and_an_amount_is_read_for_both() -> None:
    data = without_columns(as_csv({"Id": "7"}), "EffectiveCost", "ServiceName")
    read = FocusRead(data, defaults={"EffectiveCost": "@Id", "ServiceName": "@Id"})
    assert (read.row["effective_cost"], read.row["service"]) == (Decimal(7), "7")


def test_a_given_value_never_replaces_what_the_file_has() -> None:
    read = FocusRead(as_csv({}), defaults={"BillingCurrency": "EUR"})
    assert (read.row["currency"], read.finding("value_not_needed").columns) == ("USD", {"BillingCurrency": 0})


def test_columns_of_split_cost_allocation_are_kept() -> None:
    details = '{"Elements": [{"AllocatedRatio": 0.5}]}'
    read = FocusRead(
        as_csv({"AllocatedMethodId": "split", "AllocatedMethodDetails": details, "AllocatedResourceId": "r"})
    )
    row = read.row
    assert (row["allocated_method_id"], row["allocated_method_details"]) == ("split", details)
    assert (row["allocated_resource_id"], row["allocated_resource_name"]) == ("r", None)


def test_many_rows_come_out_in_row_groups_of_one_size() -> None:
    rows = 250_000
    data = as_csv({}).split(b"\n")
    read = FocusRead(b"\n".join([data[0], *([data[1]] * rows)]))
    assert (read.count, sum(read.column("billed_cost"))) == (rows, Decimal("1.5") * rows)


def test_a_row_has_the_columns_of_every_bill_those_of_its_file_and_its_tags() -> None:
    of_every_bill = [name for name in COST_SCHEMA.names if name not in OPTIONAL]
    of_file = ["billing_period_start", "charge_period_start", "invoice_id"]
    read = FocusRead(as_csv({"Tags": '{"b": "1", "A": "2"}', "InvoiceId": "7"}))
    assert list(read.row) == [*of_every_bill, *of_file, "tag:^a", "tag:b"]
