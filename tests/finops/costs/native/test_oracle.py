"""Oracle's own cost report becomes FOCUS."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.focus.errors import FocusFileError
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import cost_by, import_bill
from tests.finops.costs.focus_reader import FocusRead

SAMPLE = Path(__file__).parents[3] / "data" / "native" / "oracle" / "cost.csv"
ATTOS = Decimal(1).scaleb(-18)

LINE = {
    "lineItem/referenceNo": "r1",
    "lineItem/tenantId": "ocid1.tenancy.oc1..aaaa",
    "lineItem/intervalUsageStart": "2023-11-13T10:00Z",
    "lineItem/intervalUsageEnd": "2023-11-13T11:00:00Z",
    "product/service": "COMPUTE",
    "product/compartmentId": "ocid1.compartment.oc1..bbbb",
    "product/compartmentName": "shop",
    "product/region": "us-phoenix-1",
    "product/availabilityDomain": "PHX-AD-3",
    "product/resourceId": "ocid1.instance.oc1.phx.cccc",
    "usage/billedQuantity": "8",
    "cost/subscriptionId": "20209880",
    "cost/productSku": "B97384",
    "product/Description": "Standard - E5",
    "cost/unitPrice": "0.03",
    "cost/myCost": "0.24",
    "cost/myCostOverage": "",
    "cost/currencyCode": "USD",
    "cost/skuUnitDescription": "OCPU Hours",
    "cost/overageFlag": "false",
    "lineItem/isCorrection": "false",
    "lineItem/backreferenceNo": "",
    "tags/Oracle-Tags.CreatedBy": "default/ann@example.com",
    "tags/Cost.Center": "",
}


def report(*lines: Mapping[str, str]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(LINE), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**LINE, **line} for line in lines)
    return text.getvalue().encode()


@pytest.mark.parametrize(
    ("column", "native"),
    [
        ("service", "product/service"),
        ("account_id", "lineItem/tenantId"),
        ("region", "product/region"),
        ("sku_id", "cost/productSku"),
        ("currency", "cost/currencyCode"),
        ("resource_id", "product/resourceId"),
    ],
)
def test_the_sample_is_imported_with_the_sums_of_the_raw_file(
    cast: Cast, source: CostSource, column: str, native: str
) -> None:
    import_bill(cast, source, SAMPLE)
    sums: dict[str, Decimal] = defaultdict(Decimal)
    with SAMPLE.open(newline="") as file:
        for line in csv.DictReader(file):
            sums[line[native]] += Decimal(line["cost/myCost"]).quantize(ATTOS)
    assert cost_by(cast.account, column) == {key: (total, total) for key, total in sums.items()}


def test_a_line_is_of_its_tenancy_and_month() -> None:
    row = FocusRead(report({})).row
    assert (row["account_id"], row["billing_account_id"]) == ("ocid1.tenancy.oc1..aaaa", "20209880")
    assert (row["charge_date"], row["billing_period"]) == (date(2023, 11, 13), date(2023, 11, 1))
    assert (row["resource_type"], row["service_category"], row["x:^compartment^name"]) == (
        "instance",
        "Compute",
        "shop",
    )
    assert (row["consumed_quantity"], row["consumed_unit"]) == (8, "OCPU Hours")
    assert (row["provider"], row["charge_category"]) == ("Oracle", "Usage")


def test_a_correction_points_back_to_its_line_and_adds_up_with_it() -> None:
    correction = {
        "lineItem/referenceNo": "r2",
        "lineItem/isCorrection": "true",
        "lineItem/backreferenceNo": "r1",
        "cost/myCost": "-0.24",
    }
    read = FocusRead(report({}, correction, {"lineItem/referenceNo": "r3", "cost/myCost": "0.12"}))
    assert read.column("charge_class") == [None, "Correction", None]
    assert read.column("x:^back^reference^number") == [None, "r1", None]
    assert sum(read.column("billed_cost")) == Decimal("0.12")


def test_the_tag_of_who_created_a_resource_is_its_actor() -> None:
    read = FocusRead(report({}), actor_tag_keys=["Oracle-Tags.CreatedBy"])
    assert read.row["actor"] == "default/ann@example.com"
    assert read.row["tag:^oracle-^tags.^created^by"] == "default/ann@example.com"
    assert list(read.report.tag_keys) == ["Oracle-Tags.CreatedBy"]


def test_overage_is_in_the_cost_and_is_kept_next_to_it() -> None:
    row = FocusRead(report({"cost/overageFlag": "true", "cost/myCostOverage": "0.1"})).row
    assert (row["billed_cost"], row["x:^cost^overage"], row["x:^overage^flag"]) == (
        Decimal("0.24"),
        "0.1",
        "true",
    )


def test_usage_without_a_cost_costs_nothing_and_is_said() -> None:
    read = FocusRead(report({"cost/myCost": ""}, {}))
    assert sum(read.column("billed_cost")) == Decimal("0.24")
    assert any("imported with 0: 1." in note for note in read.report.files[0].notes)


def test_a_line_without_a_currency_is_refused_by_its_own_column() -> None:
    with pytest.raises(
        FocusFileError, match=r"row 3, column cost/currencyCode \(BillingCurrency\): is empty"
    ):
        assert FocusRead(report({}, {"cost/currencyCode": ""})).rows


@settings(max_examples=examples(50))
@given(
    st.lists(
        st.tuples(
            st.decimals(min_value=Decimal(-10000), max_value=Decimal(10000), places=15),
            st.sampled_from(["COMPUTE", "NEW"]),
            st.sampled_from(["10", "11"]),
            st.sampled_from(["USD", "EUR"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_report_adds_up_to_its_raw_file(lines: list[tuple[Decimal, str, str, str]]) -> None:
    expected: dict[tuple[str, date, str], Decimal] = defaultdict(Decimal)
    rows = []
    for cost, service, month, currency in lines:
        expected[service, date(2023, int(month), 1), currency] += cost
        start = {"lineItem/intervalUsageStart": f"2023-{month}-30T23:00Z"}
        rows.append(
            {"cost/myCost": str(cost), "product/service": service, "cost/currencyCode": currency, **start}
        )
    read = FocusRead(report(*rows))
    totals: dict[tuple[str, date, str], Decimal] = defaultdict(Decimal)
    keys = zip(*map(read.column, ("service", "billing_period", "currency")), strict=True)
    for key, cost in zip(keys, read.column("billed_cost"), strict=True):
        totals[key] += cost
    assert totals == expected
