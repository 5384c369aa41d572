"""Bills that are not FOCUS are told apart by their columns, with the way to get FOCUS from their provider."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.sniff import detect_foreign_format
from finops.costs.models import CostSource
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.finops.costs.focus_reader import FocusRead, as_csv
from tests.world.imports import import_bill, total

NATIVE = Path(__file__).parents[2] / "data" / "native"

BIGQUERY = (
    "billing_account_id,service.id,sku.id,usage_start_time,usage_end_time,project.id,cost,currency,cost_type"
)
COST_TABLE = (
    "Billing account name,Billing account ID,Project name,Project ID,Service description,Service ID,"
    "SKU description,SKU ID,Credit type,Cost type,Usage start date,Usage end date,Usage amount,Usage unit,Cost ($)"
)
ORACLE = (
    "lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,product/service,usage/billedQuantity"
)


def refusal(data: bytes, **defaults: str) -> str:
    with pytest.raises(FocusFileError) as refused:
        FocusRead(data, defaults=defaults)
    return refused.value.message


@pytest.mark.parametrize(
    ("file", "what", "way"),
    [
        (
            "azure/EA_ActualCost_Small.csv",
            "an Azure cost export (actual or amortized) of an Enterprise Agreement",
            "“Cost and usage details (FOCUS)”",
        ),
        ("azure/EA_AmortizedCost_Small.csv", "of an Enterprise Agreement", "(FOCUS)"),
        ("azure/Enterprise.csv", "of an Enterprise Agreement", "(FOCUS)"),
        ("azure/EnterpriseCamel.csv", "of a Microsoft Customer Agreement", "(FOCUS)"),
        ("azure/German.csv", "an Azure usage export of a pay-as-you-go subscription", "(FOCUS)"),
        ("azure/PayAsYouGo.csv", "an Azure usage export of a pay-as-you-go subscription", "(FOCUS)"),
        ("azure/YA.csv", "an Azure cost export (actual or amortized)", "(FOCUS)"),
        ("azure/values_Template.csv", "an Azure cost export (actual or amortized)", "(FOCUS)"),
    ],
)
def test_real_bills_of_azure_are_told_apart(file: str, what: str, way: str) -> None:
    says = refusal((NATIVE / file).read_bytes(), BillingCurrency="USD", ChargeCategory="Usage")
    assert f"{what}, not FOCUS, and cannot be imported." in says
    assert way in says


@pytest.mark.parametrize(
    ("header", "what", "way"),
    [
        ("Service,EC2-Instances($),S3($),Total costs($)", "a table of AWS Cost Explorer", "Data Exports"),
        (
            "InvoiceID,PayerAccountId,LinkedAccountId,RecordType,RecordId,ProductName,UnBlendedCost",
            "an AWS detailed billing report",
            "Data Exports",
        ),
        (BIGQUERY, "Google's billing export of BigQuery (standard usage cost)", "FOCUS view"),
        (f"{BIGQUERY},resource.global_name", "BigQuery (detailed usage cost)", "FOCUS view"),
        ("service,sku,usage_start_time,cost,currency,credits", "(standard usage cost)", "FOCUS view"),
        (COST_TABLE, "the cost table of the Google Cloud console", "FOCUS view"),
        ("Invoice number,1234567890", "the cost table of the Google Cloud console", "FOCUS view"),
        (f"{ORACLE},cost/myCost", "an Oracle cost report", "“FOCUS Reports”"),
        (ORACLE, "an Oracle usage report", "“FOCUS Reports”"),
    ],
)
def test_bills_of_all_clouds_are_told_by_their_columns(header: str, what: str, way: str) -> None:
    says = refusal(f"{header}\n{','.join('1' for _ in header.split(','))}\n".encode())
    assert f"{what}, not FOCUS" in says
    assert way in says


def test_google_bills_in_parquet_are_recognised(tmp_path: Path) -> None:
    table = pa.table({name: ["1"] for name in ("service", "sku", "usage_start_time", "cost", "resource")})
    pq.write_table(table, tmp_path / "bill.parquet")
    assert "(detailed usage cost), not FOCUS" in refusal((tmp_path / "bill.parquet").read_bytes())


def test_a_bill_that_is_not_focus_imports_nothing_even_with_columns_given(
    cast: Cast, source: CostSource
) -> None:
    with pytest.raises(UserError, match="Microsoft Customer Agreement, not FOCUS"):
        import_bill(
            cast,
            source,
            NATIVE / "azure/EnterpriseCamel.csv",
            BilledCost="@costInBillingCurrency",
            EffectiveCost="@costInBillingCurrency",
            ChargeCategory="Usage",
            BillingPeriodStart="@billingPeriodStartDate",
        )
    assert total(cast.account) is None


def test_focus_with_the_columns_of_its_provider_is_no_foreign_bill() -> None:
    columns = {"x_MeterId": "1", "MeterCategory": "2", "lineItem/UsageType": "3", "sku_id": "4", "cost": "5"}
    assert len(FocusRead(as_csv(columns)).rows) == 1
    assert detect_foreign_format(["date", "team", "cost"]) is None
