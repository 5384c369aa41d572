"""Azure's cost exports become FOCUS: actual and amortized cost together, or one of them, in each layout."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.normalise import FocusFile, normalise
from finops.costs.focus.values import DateOrder
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import cost_by, import_bill
from tests.finops.costs.focus_reader import FocusRead
from tests.finops.costs.native.azure_export import (
    ENTERPRISE,
    PLAN_UNUSED,
    PLAN_USED,
    PURCHASE,
    REFUND,
    RESERVATION,
    UNUSED,
    USED,
    Row,
    export,
    of,
    sums,
    sums_of_rows,
)

SAMPLES = Path(__file__).parents[3] / "data" / "native" / "azure"
ON_DEMAND: tuple[Row, ...] = (
    {},
    of({}, "0.4", Date="09/02/2023", SubscriptionId="ed570627", SubscriptionName="IT"),
)
ACTUAL = export(of(PURCHASE, "100"), of(REFUND, "-20"), of(USED, "0"), of(PLAN_USED, "0"), *ON_DEMAND)
AMORTIZED = export(
    of(USED, "2.5"), of(UNUSED, "0.75"), of(PLAN_USED, "1.5"), of(PLAN_UNUSED, "0.25"), *reversed(ON_DEMAND)
)


def notes(read: FocusRead) -> str:
    return " ".join(note for file in read.report.files for note in file.notes)


@pytest.mark.parametrize("files", [(ACTUAL, AMORTIZED), (AMORTIZED, ACTUAL)])
def test_a_pair_has_the_billed_cost_of_the_one_and_the_effective_cost_of_the_other(
    files: tuple[bytes, bytes],
) -> None:
    read = FocusRead(*files)
    assert sum(read.column("billed_cost")) == sum(sums(ACTUAL, ()).values()) == Decimal("83.65")
    assert sum(read.column("effective_cost")) == sum(sums(AMORTIZED, ()).values()) == Decimal("8.65")
    assert len(read.rows) == 8
    assert "differ" not in notes(read)


def test_a_pair_puts_each_kind_of_line_where_focus_has_it() -> None:
    read = FocusRead(ACTUAL, AMORTIZED)
    columns = {
        (row["charge_category"], row["charge_class"], row["commitment_type"], row["commitment_status"]): (
            row["billed_cost"],
            row["effective_cost"],
            row["pricing_category"],
        )
        for row in read.rows
    }
    assert columns["Purchase", None, "Reservation", None] == (100, 0, "Standard")
    assert columns["Purchase", "Correction", "Reservation", None] == (-20, 0, "Standard")
    assert columns["Usage", None, "Reservation", "Used"] == (0, Decimal("2.5"), "Committed")
    assert columns["Usage", None, "Reservation", "Unused"] == (0, Decimal("0.75"), "Committed")
    assert columns["Usage", None, "Savings Plan", "Used"] == (0, Decimal("1.5"), "Committed")
    assert columns["Usage", None, "Savings Plan", "Unused"] == (0, Decimal("0.25"), "Committed")
    assert {row["commitment_id"] for row in read.rows if row["commitment_type"] == "Reservation"} == {
        RESERVATION.lower()
    }


def test_unused_commitment_has_no_consumed_quantity() -> None:
    unused = [row for row in FocusRead(ACTUAL, AMORTIZED).rows if row["commitment_status"] == "Unused"]
    assert [row["resource_id"] for row in unused] == [row["commitment_id"] for row in unused]
    assert [(row["consumed_quantity"], row["consumed_unit"]) for row in unused] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("account_name", "SubscriptionName"),
        ("charge_description", "ProductName"),
        ("currency", "BillingCurrencyCode"),
        ("region", "ResourceLocation"),
        ("usage_type", "MeterName"),
    ],
)
def test_totals_of_a_pair_are_those_of_the_raw_files(ours: str, theirs: str) -> None:
    read = FocusRead(ACTUAL, AMORTIZED)
    assert sums_of_rows(read.rows, [ours], "billed_cost") == sums(ACTUAL, [theirs])
    assert sums_of_rows(read.rows, [ours], "effective_cost") == sums(AMORTIZED, [theirs])


def test_exports_that_do_not_agree_are_said_with_both_sums_and_the_actual_cost_is_taken() -> None:
    read = FocusRead(ACTUAL, export(of(USED, "2.5"), of({}, "4")))
    assert sum(read.column("billed_cost")) == Decimal("83.65")
    assert (
        "The exports differ in 2023-09: lines that both have come to 3.65 USD in the actual and 4 USD"
        in notes(read)
    )


def test_exports_of_other_months_do_not_go_together() -> None:
    october = {
        "BillingPeriodStartDate": "10/01/2023",
        "BillingPeriodEndDate": "10/31/2023",
        "Date": "10/13/2023",
    }
    amortized = export(of(USED, "2.5"), {}, of({}, "1", **october))
    with pytest.raises(
        FocusFileError, match=r"actual cost has lines of 2023-09, the amortized cost of 2023-09, 2023-10"
    ):
        assert FocusRead(ACTUAL, amortized).rows


def test_actual_cost_alone_says_that_effective_cost_is_a_copy() -> None:
    read = FocusRead(ACTUAL)
    assert read.column("effective_cost") == read.column("billed_cost")
    assert "EffectiveCost is a copy of BilledCost: the file is of actual cost" in notes(read)


def test_amortized_cost_alone_says_that_billed_cost_is_a_copy() -> None:
    read = FocusRead(AMORTIZED)
    assert read.column("billed_cost") == read.column("effective_cost")
    assert sum(read.column("billed_cost")) == Decimal("8.65")
    assert "BilledCost is a copy of EffectiveCost" in notes(read)


def test_an_export_without_commitments_needs_no_second_one() -> None:
    assert "the same: no line is of a reservation or savings plan" in notes(FocusRead(export({})))


def test_parts_of_one_export_count_all() -> None:
    read = FocusRead(export(of(PURCHASE, "100"), {}), export(of({}, "2", SubscriptionId="b")))
    assert sum(read.column("billed_cost")) == Decimal("105.25")


def test_both_exports_without_commitments_count_once() -> None:
    read = FocusRead(export(*ON_DEMAND), export(*reversed(ON_DEMAND)))
    assert sum(read.column("billed_cost")) == sum(read.column("effective_cost")) == Decimal("3.65")


def test_a_part_without_commitments_is_named() -> None:
    parts = [ACTUAL, AMORTIZED, export(of({}, "7", SubscriptionId="c"))]
    with pytest.raises(FocusFileError, match="Put ActualCost or AmortizedCost into its name"):
        assert FocusRead(*parts).rows
    parts.append(export(of({}, "7", SubscriptionId="c"), base={**ENTERPRISE, "CostCenter": ""}))
    read = FocusRead(*parts, names=["a.csv", "b.csv", "ActualCost_2.csv", "amortised-2.csv"])
    assert sum(read.column("billed_cost")) == Decimal("90.65")
    assert "differ" not in notes(read)


@pytest.mark.parametrize(
    "file", sorted(path.name for path in SAMPLES.glob("*.csv") if path.stem not in ("BOM", "values_Template"))
)
def test_every_layout_is_read_with_its_total(file: str) -> None:
    data = (SAMPLES / file).read_bytes().replace(b",MC,", b",USD,")  # scrubbed to what is no currency
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    (column,) = [
        name
        for name in rows[0]
        if name.lower() in ("cost", "costinbillingcurrency", "pretaxcost", "pretaxcost (pretaxcost)")
    ]
    lacks_currency = not any("currency" in name.lower() and "cost" not in name.lower() for name in rows[0])
    read = FocusRead(data, defaults={"BillingCurrency": "USD"} if lacks_currency else {})
    attos = Decimal(1).scaleb(-18)
    assert sum(read.column("billed_cost")) == sum(Decimal(row[column]).quantize(attos) for row in rows)
    assert set(read.column("provider")) == {"Microsoft"}
    assert all(row["account_id"].startswith("/subscriptions/") and row["service"] for row in read.rows)


def test_a_line_without_a_cost_is_refused_with_its_position() -> None:
    with pytest.raises(FocusFileError, match=r"row 2, column PreTaxCost \(BilledCost\): is empty"):
        assert FocusRead((SAMPLES / "BOM.csv").read_bytes()).rows


def test_an_export_without_a_currency_says_what_is_missing() -> None:
    with pytest.raises(FocusFileError, match=r"without BillingCurrency\. Export"):
        FocusRead((SAMPLES / "values_VirtualMachine.csv").read_bytes())


def test_names_are_those_of_microsofts_own_focus_export() -> None:
    row = FocusRead(export({})).row
    assert (row["service"], row["service_category"]) == ("Virtual Machines", "Compute")
    assert (row["region"], row["resource_type"]) == ("uksouth", "Virtual machine")
    assert row["resource_id"].endswith("/resourcegroups/rg/providers/microsoft.compute/virtualmachines/vm-1")
    assert row["account_id"] == "/subscriptions/1caaa5a3-2b66-438e-8ab4-bce37d518c5d"
    assert (row["tag:env"], row["tag:team"]) == ("prod", "core")


def test_a_service_missing_in_the_table_keeps_its_meter_category() -> None:
    row = FocusRead(
        export({"ConsumedService": "Contoso.New", "ResourceId": "", "MeterCategory": "New Thing"})
    ).row
    assert (row["service"], row["service_category"], row["resource_name"]) == ("New Thing", "Other", None)


def test_a_resource_that_is_written_in_two_ways_is_one() -> None:
    path = "/subscriptions/x/resourceGroups/COSTMGMT/providers/Microsoft.Storage/storageAccounts/Diag"
    read = FocusRead(export({"ResourceId": path}, {"ResourceId": path.lower()}))
    assert len(set(read.column("resource_id"))) == 1


def test_a_commitment_costs_what_was_paid_for_it_in_both_measures() -> None:
    actual = export(of(PURCHASE, "100"), *ON_DEMAND)
    amortized = export(of(USED, "60"), of(UNUSED, "40"), *ON_DEMAND)
    rows = [row for row in FocusRead(actual, amortized).rows if row["commitment_id"] == RESERVATION.lower()]
    assert sum(row["billed_cost"] for row in rows) == sum(row["effective_cost"] for row in rows) == 100


def test_a_use_at_a_cost_in_the_actual_cost_is_left_out_and_said() -> None:
    read = FocusRead(
        export(of(PURCHASE, "100"), of(USED, "0.5"), {}), AMORTIZED, names=["actual.csv", "amortized.csv"]
    )
    assert (
        "Use of reservations and savings plans in the actual cost was left out: 0.5 USD in 2023-09."
        in notes(read)
    )


def test_rounding_is_an_adjustment_and_tax_is_tax() -> None:
    read = FocusRead(
        export({"ChargeType": "RoundingAdjustment"}, {"ChargeType": "Tax"}, {"PricingModel": "Spot"})
    )
    assert read.column("charge_category") == ["Adjustment", "Tax", "Usage"]
    assert read.column("pricing_category")[2] == "Dynamic"


def test_quantities_are_blocks_of_the_unit_of_measure() -> None:
    row = FocusRead(
        export({"Quantity": "0.0004", "UnitOfMeasure": "10K", "UnitPrice": "0.1", "PayGPrice": "0.2"})
    ).row
    assert (row["pricing_quantity"], row["consumed_quantity"], row["consumed_unit"]) == (
        Decimal("0.0004"),
        4,
        "Units",
    )
    assert (row["contracted_cost"], row["list_cost"]) == (Decimal("0.00004"), Decimal("0.00008"))


@pytest.mark.parametrize("measure", ["9" * 40, "9" * 5_000, f"{'9' * 40} Hours"])
def test_a_unit_of_measure_with_a_number_that_no_amount_can_be_has_no_consumed_quantity(measure: str) -> None:
    row = FocusRead(export({"Quantity": "1", "UnitOfMeasure": measure})).row

    assert (row["pricing_quantity"], row["consumed_quantity"], row["consumed_unit"]) == (1, None, None)


def test_a_price_of_nothing_is_no_list_price() -> None:
    assert FocusRead(export({"PayGPrice": "0"})).row["list_cost"] is None


CUSTOMER = {
    **ENTERPRISE,
    "BillingProfileId": "NF5V",
    "BillingProfileName": "Profile",
    "pricingCurrency": "USD",
    "exchangeRatePricingToBilling": "0.9",
    "costInUsd": "3.25",
    "billingCurrency": "EUR",
}


def test_prices_of_a_customer_agreement_are_converted_and_the_rate_is_kept() -> None:
    row = FocusRead(export(of({}, "2.925"), base=CUSTOMER)).row
    assert (row["billed_cost"], row["currency"], row["pricing_currency"]) == (Decimal("2.925"), "EUR", "USD")
    assert (row["contracted_cost"], row["list_cost"]) == (Decimal("2.925"), Decimal("3.6"))
    assert (row["billing_account_id"], row["billing_account_type"]) == ("NF5V", "Billing Profile")
    assert row["x:^billing^exchange^rate"] == "0.9"


def test_decimal_commas_are_read_in_computed_columns_too() -> None:
    row = FocusRead(
        export({"CostInBillingCurrency": "1234,5", "Quantity": "2,5", "UnitPrice": "493,8"}, delimiter=";")
    ).row
    assert (row["billed_cost"], row["contracted_cost"], row["consumed_quantity"]) == (
        Decimal("1234.5"),
        1234.5,
        2.5,
    )


def test_decimal_commas_of_a_pair_are_compared() -> None:
    read = FocusRead(
        export(of(PURCHASE, "100,5"), of({}, "1,25"), delimiter=";"),
        export(of(USED, "0,5"), of({}, "1,25"), delimiter=";"),
    )
    assert (sum(read.column("billed_cost")), sum(read.column("effective_cost"))) == (
        Decimal("101.75"),
        Decimal("1.75"),
    )
    assert "differ" not in notes(read)


@pytest.mark.parametrize(
    ("day", "period", "chosen", "meant"),
    [
        ("09/04/2023", "09/01/2023", None, date(2023, 9, 4)),
        ("04/09/2023", "01/09/2023", None, date(2023, 9, 4)),
        ("2023-09-04", "2023-09-01", None, date(2023, 9, 4)),
        ("2023-09-04T00:00:00Z", "2023-09-01T00:00:00Z", None, date(2023, 9, 4)),
        ("04.09.2023", "", None, date(2023, 9, 4)),
        ("09/04/2023", "", None, date(2023, 9, 4)),
        ("09/04/2023", "", DateOrder.DAY_FIRST, date(2023, 4, 9)),
    ],
)
def test_dates_are_read_in_the_order_of_the_file(
    day: str, period: str, chosen: DateOrder | None, meant: date
) -> None:
    data = export({"Date": day, "BillingPeriodStartDate": period, "BillingPeriodEndDate": ""})
    row = FocusRead(data, dates=chosen).row
    assert (row["charge_date"], row["billing_period"]) == (meant, meant.replace(day=1))


def test_dates_that_nothing_decides_are_said() -> None:
    data = export({"Date": "09/04/2023", "BillingPeriodStartDate": "", "BillingPeriodEndDate": ""})
    assert "Dates were read as month/day/year: Azure writes them so" in notes(FocusRead(data))


def test_an_invalid_date_is_refused_by_its_own_row_and_column() -> None:
    with pytest.raises(FocusFileError, match=r"row 3, column Date: '31/31/2023' is not a date"):
        assert FocusRead(export({}, {"Date": "31/31/2023"})).rows


def test_exports_in_parquet_are_read_the_same_way(tmp_path: Path) -> None:
    columns = {
        name: [value] for name, value in {**ENTERPRISE, "CostInBillingCurrency": "", "Date": ""}.items()
    }
    table = pa.table({**columns, "CostInBillingCurrency": [0.1], "Date": [date(2023, 9, 4)]})
    pq.write_table(table, tmp_path / "bill.parquet")
    row = FocusRead((tmp_path / "bill.parquet").read_bytes()).row
    assert (row["billed_cost"], row["charge_date"]) == (Decimal("0.1"), date(2023, 9, 4))


def as_parquet(folder: Path, data: bytes) -> bytes:
    rows = list(csv.DictReader(io.StringIO(data.decode())))
    costs = [float(row["CostInBillingCurrency"]) for row in rows]
    table = pa.Table.from_pylist(rows)
    place = table.column_names.index("CostInBillingCurrency")
    pq.write_table(table.set_column(place, "CostInBillingCurrency", pa.array(costs)), folder / "bill.parquet")
    return (folder / "bill.parquet").read_bytes()


def test_a_pair_in_parquet_is_read_the_same_way(tmp_path: Path) -> None:
    read = FocusRead(as_parquet(tmp_path, ACTUAL), as_parquet(tmp_path, AMORTIZED))
    assert (sum(read.column("billed_cost")), sum(read.column("effective_cost"))) == (
        Decimal("83.65"),
        Decimal("8.65"),
    )
    assert "differ" not in notes(read)


@pytest.mark.parametrize("parquet", [False, True])
def test_a_file_of_which_no_line_counts_is_no_empty_file(tmp_path: Path, parquet: bool) -> None:
    files = [
        ACTUAL,
        AMORTIZED,
        export(of({}, "7")),
        export(of({}, "7"), base={**ENTERPRISE, "CostCenter": ""}),
    ]
    files = [as_parquet(tmp_path, file) for file in files] if parquet else files
    read = FocusRead(*files, names=["a", "b", "actual_2", "amortized_2"])
    assert [file.rows for file in read.report.files] == [4, 4, 1, 0]
    assert sum(read.column("billed_cost")) == Decimal("90.65")


def test_a_pair_of_samples_is_imported_with_the_sums_of_the_raw_files(cast: Cast, source: CostSource) -> None:
    actual, amortized = (SAMPLES / f"EA_{kind}Cost_Small.csv" for kind in ("Actual", "Amortized"))
    imported = import_bill(cast, source, actual, amortized)
    billed = sums(actual.read_bytes(), ["SubscriptionName"])
    committed = sums(
        amortized.read_bytes(), ["SubscriptionName"], lambda row: row["PricingModel"] != "OnDemand"
    )
    on_demand = sums(actual.read_bytes(), ["SubscriptionName"], lambda row: row["PricingModel"] == "OnDemand")
    for name, (of_billed, of_effective) in cost_by(cast.account, "account_name").items():
        key = (name or "",)
        assert of_billed == billed.get(key, 0)
        assert of_effective == on_demand.get(key, 0) + committed.get(key, 0)
    assert any("The exports differ in 2023-09" in note for note in imported.report["files"][1]["notes"])


KINDS = st.sampled_from([{}, PURCHASE, REFUND, USED, UNUSED, PLAN_USED, PLAN_UNUSED])
COSTS = st.decimals(min_value=Decimal(-1000), max_value=Decimal(1000), places=6).map(str)
LINES = st.lists(
    st.tuples(
        KINDS,
        COSTS,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["USD", "EUR"]),
        st.sampled_from(["09", "10"]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=examples(60))
@given(LINES)
def test_any_pair_adds_up_to_its_raw_files(lines: list[tuple[dict[str, str], str, str, str, str]]) -> None:
    actual, amortized = [of(PURCHASE, "5")], [of(USED, "5")]
    for kind, cost, account, currency, month in [
        *lines,
        ({}, "1", "a", "USD", "09"),
        ({}, "1", "a", "USD", "10"),
    ]:
        period = {
            "BillingPeriodStartDate": f"{month}/01/2023",
            "Date": f"{month}/13/2023",
            "BillingPeriodEndDate": "",
        }
        row = of(kind, cost, SubscriptionName=account, BillingCurrencyCode=currency, **period)
        actual += [row] if kind in ({}, PURCHASE, REFUND) else [of(row, "0")]
        amortized += [row] if kind not in (PURCHASE, REFUND) else []
    read = FocusRead(export(*actual), export(*amortized))
    keys, raw_columns = ["account_name", "currency"], ["SubscriptionName", "BillingCurrencyCode"]
    assert sums_of_rows(read.rows, keys, "billed_cost") == sums(export(*actual), raw_columns)
    assert sums_of_rows(read.rows, keys, "effective_cost") == sums(export(*amortized), raw_columns)
    assert "differ" not in notes(read)


def test_a_part_that_a_sync_has_fetched_is_recognized_by_its_name_on_disk(tmp_path: Path) -> None:
    parts = {
        "1": ACTUAL,
        "2": AMORTIZED,
        "ActualCost-3": export(of({}, "7")),
        "AmortizedCost-4": export(of({}, "7.0")),
    }
    files = [FocusFile(tmp_path / name, "part_0_0001.csv") for name in parts]
    for file, data in zip(files, parts.values(), strict=True):
        file.path.write_bytes(data)
    bill = normalise(files, folder=tmp_path, source_id="7")
    assert [each.totals[0].billed_cost for each in bill.report.months] == [Decimal("90.65")]
