"""Google's billing export becomes FOCUS, from CSV with lists as text and from Parquet with nested records."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import cost_by, import_bill
from tests.finops.costs.focus_reader import FocusRead

SAMPLES = Path(__file__).parents[3] / "data" / "native" / "google"

LINE: dict[str, str] = {
    "billing_account_id": "018984-D0AAA4-940B88",
    "service.id": "6F81-5844-456A",
    "service.description": "Compute Engine",
    "sku.id": "6B8F-E63D-832B",
    "sku.description": "N1 Predefined Instance Core",
    "usage_start_time": "2022-08-01 09:00:00 UTC",
    "usage_end_time": "2022-08-01 10:00:00 UTC",
    "project.id": "shop-1",
    "project.name": "Shop",
    "project.labels": '[{"key":"env","value":"project"},{"key":"team","value":"core"}]',
    "labels": '[{"key":"env","value":"prod"}]',
    "system_labels": '[{"key":"compute.googleapis.com/cores","value":"2"}]',
    "tags": "[]",
    "location.location": "us-central1",
    "location.region": "us-central1",
    "location.zone": "us-central1-a",
    "cost": "10.5",
    "cost_at_list": "12",
    "currency": "USD",
    "currency_conversion_rate": "1.0",
    "usage.amount": "3600",
    "usage.unit": "seconds",
    "usage.amount_in_pricing_units": "1",
    "usage.pricing_unit": "hour",
    "credits": "[]",
    "invoice.month": "202208",
    "cost_type": "regular",
    "adjustment_info.id": "",
    "transaction_type": "GOOGLE",
    "seller_name": "",
    "subscription.instance_id": "",
    "resource.name": "instance-1",
    "resource.global_name": "//compute.googleapis.com/projects/1/zones/us-central1-a/instance/7",
}
CUD = '[{"name":"CUD","amount":-4.25,"full_name":"Committed Usage Discount: CPU","id":"c","type":"COMMITTED_USAGE_DISCOUNT"}]'


def bill(*lines: Mapping[str, str]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(LINE), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**LINE, **line} for line in lines)
    return text.getvalue().encode()


def net_by(data: bytes, *keys: str) -> dict[tuple[str, ...], Decimal]:
    """Cost and credits by these columns, read with Python's own modules."""
    totals: dict[tuple[str, ...], Decimal] = defaultdict(Decimal)
    for line in csv.DictReader(io.StringIO(data.decode())):
        credits_ = line["credits"].replace("None", "null").replace("'", '"')
        amounts = [each["amount"] for each in json.loads(credits_, parse_float=str)]
        net = Decimal(line["cost"]) + sum(Decimal(amount) for amount in amounts)
        totals[tuple(line[key] for key in keys)] += net
    return dict(totals)


@pytest.mark.parametrize("kind", ["standard", "detailed"])
def test_samples_are_imported_with_the_sums_of_the_raw_file(
    cast: Cast, source: CostSource, kind: str
) -> None:
    data = (SAMPLES / f"{kind}.csv").read_bytes()
    imported = import_bill(cast, source, SAMPLES / f"{kind}.csv")
    assert imported.report["files"][0]["native_format"] == f"Google Cloud billing export ({kind} usage cost)"
    for column, native in (
        ("service", "service.description"),
        ("account_id", "project.id"),
        ("currency", "currency"),
    ):
        expected = {(key or "",): amounts for key, amounts in cost_by(cast.account, column).items()}
        assert {key: (net, net) for key, net in net_by(data, native).items()} == expected


def test_credits_are_taken_off_and_their_parts_are_kept() -> None:
    row = FocusRead(bill({"credits": CUD})).row
    assert (row["billed_cost"], row["effective_cost"]) == (Decimal("6.25"), Decimal("6.25"))
    assert (row["contracted_cost"], row["list_cost"]) == (Decimal("10.5"), 12)
    assert (row["x:^cost"], row["x:^credits"]) == ("10.5", CUD)


def test_credits_that_take_all_off_leave_nothing_and_the_report_says_so() -> None:
    read = FocusRead((SAMPLES / "standard.csv").read_bytes())
    assert sum(read.column("billed_cost")) == 0
    assert "cost with its credits" in read.report.files[0].notes[0]


def test_a_committed_use_discount_is_a_commitment() -> None:
    row = FocusRead(bill({"credits": CUD, "subscription.instance_id": "sub-1"})).row
    assert (row["commitment_id"], row["commitment_category"], row["commitment_status"]) == (
        "sub-1",
        "Usage",
        "Used",
    )
    assert (row["commitment_name"], row["pricing_category"]) == ("Committed Usage Discount: CPU", "Committed")
    spend = FocusRead(bill({"credits": CUD.replace("DISCOUNT", "DISCOUNT_DOLLAR_BASE")})).row
    assert (spend["commitment_category"], spend["commitment_status"]) == ("Spend", None)


@pytest.mark.parametrize(
    ("cost_type", "category"),
    [
        ("regular", "Usage"),
        ("tax", "Tax"),
        ("adjustment", "Adjustment"),
        ("rounding_error", "Adjustment"),
        ("", "Usage"),
    ],
)
def test_cost_types_are_charge_categories(cost_type: str, category: str) -> None:
    row = FocusRead(bill({"cost_type": cost_type})).row
    assert row["charge_category"] == category
    assert (row["consumed_quantity"] is None) == (category != "Usage")


def test_an_adjustment_of_an_invoice_is_a_correction() -> None:
    read = FocusRead(bill({}, {"adjustment_info.id": "a-1", "cost": "-3", "cost_type": "adjustment"}))
    assert read.column("charge_class") == [None, "Correction"]


def test_the_invoice_month_decides_the_billing_period_of_late_usage() -> None:
    read = FocusRead(bill({"usage_start_time": "2022-07-31 23:00:00 UTC"}, {}))
    assert read.column("charge_date") == [date(2022, 7, 31), date(2022, 8, 1)]
    assert set(read.column("billing_period")) == {date(2022, 8, 1)}


def test_usage_without_an_invoice_month_is_of_its_month_in_pacific_time() -> None:
    row = FocusRead(bill({"invoice.month": "", "usage_start_time": "2022-08-01 06:59:00 UTC"})).row
    assert (row["billing_period"], row["charge_date"]) == (date(2022, 7, 1), date(2022, 8, 1))


def test_labels_tags_and_labels_of_the_project_are_tags_and_the_nearest_wins() -> None:
    row = FocusRead(bill({"tags": '[{"key":"cc","value":"42","inherited":true,"namespace":"1"}]'})).row
    tags = {name: value for name, value in row.items() if name.startswith("tag:") and value}
    assert tags == {
        "tag:env": "prod",
        "tag:team": "core",
        "tag:cc": "42",
        "tag:compute.googleapis.com/cores": "2",
    }


def test_a_line_is_of_its_project_region_and_resource() -> None:
    row = FocusRead(bill({})).row
    assert (row["account_id"], row["account_name"]) == ("shop-1", "Shop")
    assert (row["region"], row["availability_zone"]) == ("us-central1", "us-central1-a")
    assert (row["resource_name"], row["resource_type"]) == ("instance-1", "compute.instance")
    assert (row["service"], row["service_category"]) == ("Compute Engine", "Compute")
    assert FocusRead(bill({"location.region": "", "location.location": "us"})).row["region"] == "us"


def test_products_of_a_marketplace_seller_have_the_seller_as_publisher() -> None:
    row = FocusRead(bill({"transaction_type": "THIRD_PARTY_RESELLER", "seller_name": "Contoso"})).row
    assert (row["provider"], row["publisher"]) == ("Google Cloud", "Contoso")


def test_columns_with_underscores_are_the_same() -> None:
    header, _, lines = bill({"credits": CUD}).partition(b"\n")
    assert FocusRead(header.replace(b".", b"_") + b"\n" + lines).row["billed_cost"] == Decimal("6.25")


def test_credits_that_cannot_be_read_are_refused_where_they_stand() -> None:
    with pytest.raises(FocusFileError, match=r"row 3, column credits: .* has an amount that is not a number"):
        assert FocusRead(bill({}, {"credits": "[{'amount': -4"})).rows


def nested_record(line: Mapping[str, str]) -> dict[str, Any]:
    """A line as BigQuery's records, with amounts as it stores them."""
    record: dict[str, Any] = {}
    for name, value in line.items():
        first, _, subfield = name.partition(".")
        cell: Any = ast.literal_eval(value) if value.startswith("[") else value or None
        if name in ("cost", "cost_at_list", "usage.amount", "usage.amount_in_pricing_units"):
            cell = float(value)
        if name.endswith("_time"):
            cell = datetime.fromisoformat(value.removesuffix(" UTC")).replace(tzinfo=UTC)
        if subfield:
            record.setdefault(first, {})[subfield] = cell
        else:
            record[first] = cell
    return record


def test_nested_parquet_has_the_same_lines_as_csv(tmp_path: Path) -> None:
    lines = [
        {**LINE, **more}
        for more in ({"credits": CUD}, {}, {"credits": CUD.replace("}]", '},{"amount":-1e-06}]')})
    ]
    pq.write_table(pa.Table.from_pylist([nested_record(line) for line in lines]), tmp_path / "bill.parquet")
    of_parquet, of_csv = FocusRead((tmp_path / "bill.parquet").read_bytes()), FocusRead(bill(*lines))
    for name in (
        "billed_cost",
        "list_cost",
        "service",
        "account_name",
        "billing_period",
        "charge_date",
        "commitment_name",
    ):
        assert of_parquet.column(name) == of_csv.column(name)
    assert of_parquet.column("tag:env") == of_csv.column("tag:env") == ["prod"] * 3
    assert of_parquet.column("billed_cost") == [Decimal("6.25"), Decimal("10.5"), Decimal("6.249999")]


def test_a_detailed_export_of_parquet_may_lack_fields_of_its_records(tmp_path: Path) -> None:
    pq.write_table(
        pa.Table.from_pylist([nested_record({**LINE, "credits": CUD})]).drop(["project"]),
        tmp_path / "bill.parquet",
    )
    assert FocusRead((tmp_path / "bill.parquet").read_bytes()).row["account_id"] is None


AMOUNTS = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)
LINES = st.lists(
    st.tuples(
        AMOUNTS, st.lists(AMOUNTS, max_size=4), st.sampled_from(["a", "b"]), st.sampled_from(["USD", "EUR"])
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=examples(60))
@given(LINES)
def test_any_credits_add_up_exactly(lines: list[tuple[float, list[float], str, str]]) -> None:
    attos = Decimal(1).scaleb(-18)
    expected: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    rows = []
    for cost, credits_, project, currency in lines:
        encoded = json.dumps([{"name": "x", "amount": amount} for amount in credits_])
        rows.append({"cost": repr(cost), "credits": encoded, "project.id": project, "currency": currency})
        parts = [Decimal(repr(part)).quantize(attos) for part in (cost, *credits_)]
        expected[project, currency] += sum(parts, Decimal(0))
    read = FocusRead(bill(*rows))
    totals: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for project, currency, net in zip(
        *map(read.column, ("account_id", "currency", "billed_cost")), strict=True
    ):
        totals[project, currency] += net
    assert totals == expected


def json_lines(*lines: Mapping[str, str]) -> bytes:
    """As BigQuery exports them: fields without a value are left out."""
    records = [nested_record({**LINE, **line}) for line in lines]
    for record in records:
        record["usage_start_time"] = record["usage_end_time"] = "2022-08-01 09:00:00 UTC"
    return "".join(
        json.dumps({k: v for k, v in each.items() if v not in (None, {})}) + "\n" for each in records
    ).encode()


def test_json_lines_of_a_bucket_have_the_same_lines_as_csv() -> None:
    lines: list[dict[str, str]] = [{"credits": CUD}, {}, {"project.id": "", "project.name": ""}]
    of_json, of_csv = FocusRead(json_lines(*lines)), FocusRead(bill(*lines))
    for name in (
        *("billed_cost", "effective_cost", "list_cost", "contracted_cost", "service", "service_category"),
        *("account_id", "account_name", "region", "availability_zone", "billing_period", "charge_date"),
        *("commitment_name", "commitment_category", "pricing_category", "resource_name", "resource_type"),
        *("tag:env", "tag:team", "consumed_quantity", "consumed_unit", "sku_id", "usage_type", "currency"),
    ):
        assert of_json.column(name) == of_csv.column(name), name
    assert of_json.report.files[0].native_format == "Google Cloud billing export (detailed usage cost)"


def test_credits_that_only_a_late_line_of_json_has_are_taken_off() -> None:
    first, second = json_lines({}, {"credits": CUD}).splitlines(keepends=True)
    first = first.replace(b'"credits": [], ', b"")
    assert b"credits" not in first
    assert FocusRead(first * 100 + second).column("billed_cost")[-2:] == [Decimal("10.5"), Decimal("6.25")]


def test_an_invalid_json_record_is_refused_with_its_position() -> None:
    good, bad = json_lines({}, {}).splitlines(keepends=True)
    bad = bad.replace(json.dumps({"month": "202208"}).encode(), b'"202208"')
    with pytest.raises(FocusFileError, match=r"row 2, column invoice: '202208' is no record"):
        assert FocusRead(good + bad).rows


def test_json_in_gzip_is_imported_with_its_sums(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    (tmp_path / "export-000.json.gz").write_bytes(gzip.compress(json_lines({"credits": CUD}, {}), mtime=0))
    import_bill(cast, source, tmp_path / "export-000.json.gz")
    net = Decimal("16.75")
    assert cost_by(cast.account, "account_id") == {"shop-1": (net, net)}
