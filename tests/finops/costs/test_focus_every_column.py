"""Every column of a FOCUS file is kept: what the lake has is what the file says, read by Python's csv module."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.finops.costs import reference_model
from tests.finops.costs.focus_reader import FocusRead, as_csv

MODEL: dict[str, Any] = json.loads((reference_model.DATA / "schema/focus_1_4_model.json").read_text())
COLUMNS: dict[str, Any] = MODEL["datasets"]["Cost and Usage"]["columns"]

# FOCUS column -> the cost column that has it; Tags and the columns that only have another name stand apart.
KEPT = {
    "AllocatedMethodDetails": "allocated_method_details",
    "AllocatedMethodId": "allocated_method_id",
    "AllocatedResourceId": "allocated_resource_id",
    "AllocatedResourceName": "allocated_resource_name",
    "AllocatedTags": "allocated_tags",
    "AvailabilityZone": "availability_zone",
    "BilledCost": "billed_cost",
    "BillingAccountId": "billing_account_id",
    "BillingAccountName": "billing_account_name",
    "BillingAccountType": "billing_account_type",
    "BillingCurrency": "currency",
    "BillingPeriodEnd": "billing_period_end",
    "BillingPeriodStart": "billing_period_start",
    "CapacityReservationId": "capacity_reservation_id",
    "CapacityReservationStatus": "capacity_reservation_status",
    "ChargeCategory": "charge_category",
    "ChargeClass": "charge_class",
    "ChargeDescription": "charge_description",
    "ChargeFrequency": "charge_frequency",
    "ChargePeriodEnd": "charge_period_end",
    "ChargePeriodStart": "charge_period_start",
    "CommitmentDiscountCategory": "commitment_category",
    "CommitmentDiscountId": "commitment_id",
    "CommitmentDiscountName": "commitment_name",
    "CommitmentDiscountQuantity": "commitment_quantity",
    "CommitmentDiscountStatus": "commitment_status",
    "CommitmentDiscountType": "commitment_type",
    "CommitmentDiscountUnit": "commitment_unit",
    "CommitmentProgramEligibilityDetails": "commitment_program_eligibility_details",
    "ConsumedQuantity": "consumed_quantity",
    "ConsumedUnit": "consumed_unit",
    "ContractApplied": "contract_applied",
    "ContractedCost": "contracted_cost",
    "ContractedUnitPrice": "contracted_unit_price",
    "EffectiveCost": "effective_cost",
    "HostProviderName": "host_provider",
    "InvoiceDetailId": "invoice_detail_id",
    "InvoiceId": "invoice_id",
    "InvoiceIssuerName": "invoice_issuer",
    "ListCost": "list_cost",
    "ListUnitPrice": "list_unit_price",
    "PricingCategory": "pricing_category",
    "PricingCurrency": "pricing_currency",
    "PricingCurrencyContractedUnitPrice": "pricing_currency_contracted_unit_price",
    "PricingCurrencyEffectiveCost": "pricing_currency_effective_cost",
    "PricingCurrencyListUnitPrice": "pricing_currency_list_unit_price",
    "PricingQuantity": "pricing_quantity",
    "PricingUnit": "pricing_unit",
    "PublisherName": "publisher",
    "RegionId": "region",
    "RegionName": "region_name",
    "ResourceId": "resource_id",
    "ResourceName": "resource_name",
    "ResourceType": "resource_type",
    "ServiceCategory": "service_category",
    "ServiceName": "service",
    "ServiceProviderName": "provider",
    "ServiceSubcategory": "service_subcategory",
    "SkuId": "sku_id",
    "SkuMeter": "sku_meter",
    "SkuPriceDetails": "sku_price_details",
    "SkuPriceId": "sku_price_id",
    "SubAccountId": "account_id",
    "SubAccountName": "account_name",
    "SubAccountType": "account_type",
}
FILES = [
    "focus-1.0-real/focus_sample.csv",
    "synthetic/focus_1_2_cost_and_usage_aws.csv.gz",
    "synthetic/focus_1_2_cost_and_usage_azure.csv.gz",
    "synthetic/focus_1_3_cost_and_usage_aws.csv.gz",
]


def test_the_table_has_every_column_of_the_model() -> None:
    assert {*KEPT, "Tags"} == {*COLUMNS, "PublisherName"}


def columns_in(file: Mapping[str, str]) -> dict[str, str]:
    """Cost column by FOCUS column of a file; a provider's or meter's own column only stands beside another."""
    columns = {name: column for name, column in KEPT.items() if name in file}
    if "ServiceProviderName" not in file:
        columns["ProviderName"] = "provider"
    elif "ProviderName" in file:
        columns["ProviderName"] = "provider_name"
    if "SkuId" not in file:
        columns |= {"SkuMeter": "usage_type"} if "SkuMeter" in file else {}
    return columns


def expected_value(name: str, text: str) -> Any:
    """What a cell of a column means, by the types of the FOCUS model."""
    if text in reference_model.NOTHING:
        return None
    column = COLUMNS.get(name, {"data_type": "String", "allowed_values": None})
    kind = column["data_type"]
    if kind == "Decimal":
        return reference_model.amount(text)
    if column["allowed_values"]:  # in FOCUS's spelling
        return next(right for right in column["allowed_values"] if right.casefold() == text.casefold())
    if kind == "Date/Time":
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return text


def compare_rows(read: FocusRead, rows: list[dict[str, str]]) -> None:
    columns = columns_in(rows[0])
    expected = [{columns[name]: expected_value(name, row[name]) for name in columns} for row in rows]
    actual = [{column: row[column] for column in columns.values()} for row in read.rows]
    # Rows come by billing month, and in the file's order within one.
    expected.sort(key=lambda row: row["billing_period_start"].replace(day=1))
    assert len(actual) == len(expected)
    assert [differences(*pair) for pair in zip(actual, expected, strict=True) if pair[0] != pair[1]] == []


def differences(actual: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    return {name: (actual[name], expected[name]) for name in expected if actual[name] != expected[name]}


@pytest.mark.parametrize("file", FILES)
def test_every_column_of_a_file_reads_back_as_the_file_has_it(file: str) -> None:
    rows = reference_model.read_rows(file)
    compare_rows(
        FocusRead(
            (reference_model.DATA / file).read_bytes(), defaults=reference_model.missing_defaults(file)
        ),
        rows,
    )


def row_of_all_columns(number: int) -> dict[str, str]:
    """A made-up line with a value in every column of FOCUS 1.4."""
    row = {}
    for place, (name, column) in enumerate(COLUMNS.items()):
        kind = column["data_type"]
        if column["allowed_values"]:
            row[name] = column["allowed_values"][number % len(column["allowed_values"])]
        elif name in ("BillingCurrency", "PricingCurrency"):
            row[name] = "EUR"
        elif kind == "Decimal":
            row[name] = f"{place}.{number:04d}00000000000001"
        elif kind == "Date/Time":
            row[name] = f"2026-05-{1 + number:02d}T0{number}:30:0{number}Z"
        elif kind == "JSON":
            row[name] = json.dumps({"key": f"{name} {number}", "n": number}, separators=(",", ":"))
        else:
            row[name] = f"{name} {number}"
    return row | {"BillingPeriodStart": "2026-05-01T00:00:00Z"}


def test_every_column_of_1_4_reads_back_from_csv() -> None:
    rows = [row_of_all_columns(number) for number in range(5)]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    read = FocusRead(text.getvalue().encode())
    assert (read.report.files[0].focus_version, read.report.files[0].missing) == ("1.4", [])
    compare_rows(read, rows)
    assert read.column("tag:key") == [f"Tags {number}" for number in range(5)]


def test_every_column_of_1_4_reads_back_from_parquet_with_maps_and_moments() -> None:
    rows = [row_of_all_columns(number) for number in range(5)]
    columns = {
        name: pa.array([as_parquet(name, row[name]) for row in rows], type_of(name)) for name in COLUMNS
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    compare_rows(FocusRead(buffer.getvalue()), rows)


def type_of(name: str) -> pa.DataType:
    if name == "ContractApplied":
        return pa.struct([("key", pa.string()), ("n", pa.int32()), ("none", pa.string())])
    return {
        "Decimal": pa.decimal128(30, 18),
        "Date/Time": pa.timestamp("ms", tz="UTC"),
        "String": pa.string(),
        "JSON": pa.string(),
    }[COLUMNS[name]["data_type"]]


def as_parquet(name: str, text: str) -> Any:
    kind = COLUMNS[name]["data_type"]
    if kind == "Decimal":
        return Decimal(text)
    if kind == "Date/Time":
        return datetime.fromisoformat(text)
    return json.loads(text) if name == "ContractApplied" else text


@pytest.mark.parametrize(
    ("details", "text"),
    [
        (pa.array([[("a", 'x"y')], None], pa.map_(pa.string(), pa.string())), '{"a":"x\\"y"}'),
        (pa.array([[("a", None), ("b", 2)], None], pa.map_(pa.string(), pa.int64())), '{"a":null,"b":2}'),
        (pa.array([[{"k": "a", "v": True}], None]), '[{"k":"a","v":true}]'),
        (pa.array([{"a": [1, 2], "b": None}, None]), '{"a":[1,2]}'),
    ],
)
def test_nested_details_become_json(details: pa.Array, text: str) -> None:
    rows = [row_of_all_columns(0), row_of_all_columns(1)]
    columns = {name: pa.array([row[name] for row in rows]) for name in COLUMNS}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns | {"SkuPriceDetails": details}), buffer)
    assert FocusRead(buffer.getvalue()).column("sku_price_details") == [text, None]


def test_a_value_that_no_sum_rests_on_is_left_out_when_it_cannot_be_read() -> None:
    good = {"ListUnitPrice": "0.5", "ChargePeriodEnd": "2026-05-04", "PricingQuantity": "2"}
    read = FocusRead(
        as_csv(good, {"ListUnitPrice": "free", "ChargePeriodEnd": "soon", "PricingQuantity": "1e15"})
    )
    assert read.column("list_unit_price") == [Decimal("0.5"), None]
    assert read.column("charge_period_end") == [datetime(2026, 5, 4, tzinfo=UTC), None]
    assert read.column("pricing_quantity") == [Decimal(2), None]
    assert read.finding("unreadable").columns == {"ListUnitPrice": 1, "ChargePeriodEnd": 1}
    assert read.finding("quantity_too_large").columns == {"PricingQuantity": 1}


def test_times_of_day_and_zones_are_kept() -> None:
    starts = {"2026-05-03T23:30:00-01:00": datetime(2026, 5, 4, 0, 30, tzinfo=UTC)}
    starts |= {"2026-05-03 07:15:00": datetime(2026, 5, 3, 7, 15, tzinfo=UTC)}
    starts |= {"5/13/26 7:15": datetime(2026, 5, 13, 7, 15, tzinfo=UTC)}
    starts |= {"5/13/2026": datetime(2026, 5, 13, tzinfo=UTC)}
    read = FocusRead(as_csv(*({"ChargePeriodStart": start} for start in starts)))
    assert read.column("charge_period_start") == list(starts.values())


def test_providers_own_columns_are_kept_as_text_whatever_their_type() -> None:
    rows = [row_of_all_columns(number) for number in range(2)]
    own = {
        "x_CostCenter": pa.array(["R&D", " "]),
        "X_Rate": pa.array([0.1, None]),
        "x_Exact": pa.array([Decimal("1.50"), None], pa.decimal128(20, 2)),
        "x_Seen": pa.array([datetime(2026, 5, 3, 7, 30, tzinfo=UTC), None], pa.timestamp("ns", tz="UTC")),
        "x_Flag": pa.array([True, None]),
        "x_Discounts": pa.array([[("EDP", 0.5)], None], pa.map_(pa.string(), pa.float64())),
        "x_Raw": pa.array([b"\xff\xfe", None]),
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table({name: pa.array([row[name] for row in rows]) for name in COLUMNS} | own), buffer)
    read = FocusRead(buffer.getvalue())
    assert [{name: value for name, value in row.items() if name.startswith("x:")} for row in read.rows] == [
        {
            "x:^cost^center": "R&D",
            "x:^discounts": '{"EDP":0.5}',
            "x:^exact": "1.50",
            "x:^flag": "true",
            "x:^rate": "0.1",
            "x:^raw": None,
            "x:^seen": "2026-05-03T07:30:00Z",
        },
        dict.fromkeys(
            ("x:^cost^center", "x:^discounts", "x:^exact", "x:^flag", "x:^rate", "x:^raw", "x:^seen")
        ),
    ]
    assert read.finding("unreadable").columns == {"x_Raw": 1}


def test_own_columns_that_differ_in_case_stay_separate_and_one_there_twice_is_named() -> None:
    header = [*COLUMNS, "x_a", "x_A", "X_a"]
    row = row_of_all_columns(0)
    text = io.StringIO()
    csv.writer(text).writerows([header, [*row.values(), "1", "2", "3"]])
    read = FocusRead(text.getvalue().encode())
    assert (read.row["x:a"], read.row["x:^a"]) == ("1", "2")
    assert read.finding("extension_left_out").columns == {"X_a": 0}
