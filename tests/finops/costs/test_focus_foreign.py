"""Bills that are not FOCUS are told apart by their columns, with the way to get FOCUS from their provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.sniff import detect_foreign_format
from finops.costs.models import CostSource
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import import_bill, total, write_bill
from tests.finops.costs.focus_reader import FocusRead, as_csv

COST_TABLE = (
    "Billing account name,Billing account ID,Project name,Project ID,Service description,Service ID,"
    "SKU description,SKU ID,Credit type,Cost type,Usage start date,Usage end date,Usage amount,Usage unit,Cost ($)"
)
ORACLE = (
    "lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,product/service,usage/billedQuantity"
)


def refusal(data: bytes, **defaults: str) -> str:
    with pytest.raises(FocusFileError) as error:
        FocusRead(data, defaults=defaults)
    return error.value.message


@pytest.mark.parametrize(
    ("header", "what", "way"),
    [
        ("Service,EC2-Instances($),S3($),Total costs($)", "a table of AWS Cost Explorer", "Data Exports"),
        (
            "InvoiceID,PayerAccountId,LinkedAccountId,RecordType,RecordId,ProductName,UnBlendedCost",
            "an AWS detailed billing report",
            "Data Exports",
        ),
        (COST_TABLE, "the cost table of the Google Cloud console", "BigQuery"),
        ("Invoice number,1234567890", "the cost table of the Google Cloud console", "BigQuery"),
        (ORACLE, "an Oracle usage report", "“FOCUS Reports”"),
    ],
)
def test_bills_of_all_clouds_are_recognized_by_their_columns(header: str, what: str, way: str) -> None:
    says = refusal(f"{header}\n{','.join('1' for _ in header.split(','))}\n".encode())
    assert f"{what}, not FOCUS" in says
    assert way in says


def test_a_bill_that_is_not_focus_imports_nothing_even_with_columns_given(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    path = write_bill(tmp_path, f"{COST_TABLE}\n{','.join('1' for _ in COST_TABLE.split(','))}\n")
    with pytest.raises(UserError, match="the cost table of the Google Cloud console, not FOCUS"):
        import_bill(
            cast,
            source,
            path,
            BilledCost="@Cost ($)",
            EffectiveCost="@Cost ($)",
            BillingCurrency="USD",
            ChargeCategory="Usage",
            BillingPeriodStart="@Usage start date",
        )
    assert total(cast.account) is None


def test_focus_with_the_columns_of_its_provider_is_no_foreign_bill() -> None:
    columns = {"x_MeterId": "1", "MeterCategory": "2", "lineItem/UsageType": "3", "sku_id": "4", "cost": "5"}
    assert len(FocusRead(as_csv(columns)).rows) == 1
    assert detect_foreign_format(["date", "team", "cost"]) is None
