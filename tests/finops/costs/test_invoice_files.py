"""Invoice Detail and Billing Period files (FOCUS 1.4): what is kept, what they replace, what is refused."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from finops.costs.models import BillingPeriod, CostSource, InvoiceDetail
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.imports import import_bill, total, write_bill
from tests.finops.costs.focus_reader import as_csv

DETAIL = {
    "InvoiceId": "INV-1",
    "InvoiceDetailId": "D1",
    "InvoiceIssuerName": "Amazon Web Services, Inc.",
    "BillingAccountId": "111122223333",
    "BillingCurrency": "USD",
    "BillingPeriodStart": "2026-05-01T00:00:00Z",
    "BillingPeriodEnd": "2026-06-01T00:00:00Z",
    "BilledCost": "120.45",
    "ChargeCategory": "Usage",
    "InvoiceDetailDescription": "Amazon S3",
    "InvoiceDetailGrain": '{"ServiceName": "Amazon S3"}',
    "InvoiceDetailCreated": "2026-06-03T00:00:00Z",
    "InvoiceDetailLastUpdated": "2026-06-03T00:00:00Z",
    "InvoiceIssueStatus": "Issued",
    "InvoiceIssueDate": "2026-06-03T00:00:00Z",
    "PaymentDueDate": "2026-07-03T00:00:00Z",
    "PaymentTerms": "Net 30",
    "PaymentCurrency": "USD",
    "PaymentCurrencyBilledCost": "120.45",
    "PurchaseOrderNumber": "",
    "ReferenceInvoiceId": "",
}
PERIOD = {
    "InvoiceIssuerName": "Amazon Web Services, Inc.",
    "BillingPeriodStart": "2026-05-01T00:00:00Z",
    "BillingPeriodEnd": "2026-06-01T00:00:00Z",
    "BillingPeriodStatus": "Closed",
    "BillingPeriodCreated": "2026-05-01T00:00:00Z",
    "BillingPeriodLastUpdated": "2026-06-05T00:00:00Z",
}


def text_of(*rows: dict[str, str], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def details(*changes: dict[str, str]) -> str:
    return text_of(*({**DETAIL, **change} for change in changes))


def invoice_details() -> list[tuple[str, str, Decimal]]:
    rows = InvoiceDetail.objects.order_by("invoice_id", "detail_id")
    return [(row.invoice_id, row.detail_id, row.billed_cost) for row in rows]


def test_an_invoice_and_its_period_come_next_to_the_costs(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    job = import_bill(
        cast,
        source,
        write_bill(tmp_path, as_csv({}).decode(), "costs.csv"),
        write_bill(
            tmp_path, details({}, {"InvoiceDetailId": "D2", "BilledCost": "-0.000001"}), "invoice.csv"
        ),
        write_bill(tmp_path, text_of(PERIOD), "periods.csv"),
    )
    assert (job.rows, job.report["invoice_details"], job.report["billing_periods"]) == (1, 2, 1)
    assert total(cast.account) == Decimal("1.5")
    row = InvoiceDetail.objects.get(detail_id="D1")
    assert (row.issuer, row.billing_account_id, row.currency) == (
        "Amazon Web Services, Inc.",
        "111122223333",
        "USD",
    )
    assert (row.billing_period, row.billed_cost, row.status) == (
        date(2026, 5, 1),
        Decimal("120.45"),
        "Issued",
    )
    assert (row.due_at, row.payment_terms) == (datetime(2026, 7, 3, tzinfo=UTC), "Net 30")
    assert invoice_details()[1] == ("INV-1", "D2", Decimal("-0.000001"))
    period = BillingPeriod.objects.get()
    assert (period.billing_period, period.status) == (date(2026, 5, 1), "Closed")


def test_rows_replace_those_of_the_same_invoice_and_period(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    june = {"BillingPeriodStart": "2026-06-01T00:00:00Z", "BillingPeriodEnd": "2026-07-01T00:00:00Z"}
    first = details({}, {"InvoiceDetailId": "D2"}, {"InvoiceId": "INV-2", **june})
    import_bill(cast, source, write_bill(tmp_path, first, "1.csv"))
    import_bill(
        cast, source, write_bill(tmp_path, details({"BilledCost": "99", "InvoiceDetailId": "D3"}), "2.csv")
    )
    assert invoice_details() == [("INV-1", "D3", Decimal(99)), ("INV-2", "D1", Decimal("120.45"))]

    import_bill(
        cast, source, write_bill(tmp_path, text_of({**PERIOD, "BillingPeriodStatus": "open"}), "3.csv")
    )
    import_bill(cast, source, write_bill(tmp_path, text_of(PERIOD), "4.csv"))
    assert [row.status for row in BillingPeriod.objects.all()] == ["Closed"]


def test_a_period_of_local_time_is_of_the_month_that_it_names(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    text = details({"BillingPeriodStart": "2026-04-30T22:00:00Z"})
    import_bill(cast, source, write_bill(tmp_path, text))
    assert InvoiceDetail.objects.get().billing_period == date(2026, 5, 1)


def test_decimal_commas_are_read_as_in_cost_files(cast: Cast, source: CostSource, tmp_path: Path) -> None:
    half = {**DETAIL, "PaymentCurrencyBilledCost": "0,5"}
    rows = [{**half, "BilledCost": "1.234,56"}, {**half, "BilledCost": "0,5", "InvoiceDetailId": "D2"}]
    import_bill(cast, source, write_bill(tmp_path, text_of(*rows, delimiter=";")))
    assert invoice_details() == [("INV-1", "D1", Decimal("1234.56")), ("INV-1", "D2", Decimal("0.5"))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"BilledCost": "much"}, "invoice.csv, row 3, column BilledCost: 'much'"),
        ({"BilledCost": ""}, ("row 3, column BilledCost: is empty, but required for each invoice detail")),
        ({"BillingCurrency": "dollars"}, "row 3, column BillingCurrency: 'dollars' is not a three-letter"),
        ({"InvoiceIssueDate": "soon"}, "row 3, column InvoiceIssueDate: 'soon'"),
        ({"InvoiceDetailId": "D1"}, "row 3, column InvoiceDetailId: 'D1' is in this import twice"),
        ({"PaymentTerms": "x" * 501}, "row 3, column PaymentTerms"),
    ],
)
def test_a_bad_value_changes_nothing_and_is_named(
    cast: Cast, source: CostSource, tmp_path: Path, change: dict[str, str], message: str
) -> None:
    import_bill(cast, source, write_bill(tmp_path, details({"BilledCost": "7"}), "before.csv"))
    with pytest.raises(UserError) as error:
        import_bill(
            cast,
            source,
            write_bill(tmp_path, details({}, {"InvoiceDetailId": "D2", **change}), "invoice.csv"),
        )
    assert message in str(error.value)
    assert invoice_details() == [("INV-1", "D1", Decimal(7))]
