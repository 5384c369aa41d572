"""Reconciliation: what lines add up to against what was invoiced; sums here are independent of the code's."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs.invoice_answers import InvoiceAnswer, InvoiceQuery, InvoiceRow
from finops.costs.models import CostSource, InvoiceTotal
from finops.costs.queries.invoices import invoice_reconciliation, parse_month
from finops.costs.reconciliation import DetailSum, EnteredTotal, InvoiceData, Key, LineSum, reconcile
from finops.lib.errors import UserError
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.imports import import_bill, write_bill
from tests.finops.costs.focus_reader import as_csv
from tests.finops.costs.test_invoice_files import DETAIL, PERIOD, text_of

MAY = date(2026, 5, 1)
AWS = "Amazon Web Services, Inc."
LINE = {
    "InvoiceIssuerName": AWS,
    "BillingAccountId": "111122223333",
    "InvoiceId": "INV-1",
    "InvoiceDetailId": "",
}


def bill(folder: Path, *rows: dict[str, str]) -> Path:
    return write_bill(folder, as_csv(*({**LINE, **row} for row in rows)).decode(), "bill.csv")


def details(folder: Path, *rows: dict[str, str]) -> Path:
    return write_bill(folder, text_of(*({**DETAIL, **row} for row in rows)), "details.csv")


def answer(cast: Cast, *, month: str = "", invoice: str = "") -> InvoiceAnswer:
    return invoice_reconciliation(cast.account, InvoiceQuery(month=month, invoice=invoice))


def by_invoice(invoice_answer: InvoiceAnswer) -> dict[tuple[str, str], InvoiceRow]:
    return {(row.invoice, row.currency): row for row in invoice_answer.invoices}


@pytest.fixture
def months(cast: Cast, source: CostSource, tmp_path: Path) -> CostSource:
    """INV-1 lacks 12.34 of its lines in the invoice, INV-2 matches, INV-3 has no lines, two lines have no invoice."""
    import_bill(
        cast,
        source,
        bill(
            tmp_path,
            {"BilledCost": "100.10", "InvoiceDetailId": "D1"},
            {"BilledCost": "32.69", "InvoiceDetailId": "D2", "ServiceName": "Amazon EC2"},
            {"BilledCost": "50.005", "InvoiceId": "INV-2"},
            {"BilledCost": "-0.005", "InvoiceId": "INV-2", "ChargeCategory": "Credit"},
            {"BilledCost": "9", "InvoiceId": "", "ChargeClass": ""},
            {"BilledCost": "4", "InvoiceId": "", "BillingCurrency": "EUR"},
        ),
        details(
            tmp_path,
            {"InvoiceDetailId": "D1", "BilledCost": "100.10"},
            {"InvoiceDetailId": "D2", "BilledCost": "20.35", "InvoiceDetailDescription": "Amazon EC2"},
            {"InvoiceId": "INV-2", "BilledCost": "50"},
            {"InvoiceId": "INV-3", "BilledCost": "7.5", "InvoiceIssueStatus": "Open"},
        ),
        write_bill(tmp_path, text_of(PERIOD), "periods.csv"),
    )
    return source


def test_each_invoice_is_held_against_its_lines(cast: Cast, months: CostSource) -> None:
    result = answer(cast, month="2026-05")
    rows = by_invoice(result)
    statuses = {
        key: (row.status, row.lines_amount, row.invoiced_amount, row.difference) for key, row in rows.items()
    }
    assert statuses == {
        ("INV-1", "USD"): ("differs", Decimal("132.79"), Decimal("120.45"), Decimal("-12.34")),
        ("INV-2", "USD"): ("matches", Decimal(50), Decimal(50), Decimal(0)),
        ("INV-3", "USD"): ("no_lines", None, Decimal("7.5"), Decimal("7.5")),
        ("", "USD"): ("not_invoiced", Decimal(9), None, None),
        ("", "EUR"): ("not_invoiced", Decimal(4), None, None),
    }
    assert rows["INV-1", "USD"].period_status == "Closed"
    assert rows["INV-3", "USD"].not_final == "The invoice is not issued yet."
    assert result.summary == (
        "'Acme', billing month 2026-05: 2 invoices differ from the lines: 'INV-1' was invoiced "
        "12.34 USD less (2026-05) and 'INV-3' was invoiced 7.50 USD more (2026-05, no lines); 1 "
        "invoice matches exactly; 9.00 USD and 4.00 EUR on no invoice. 1 invoice preliminary: "
        "the invoice or its billing period is open."
    )
    totals = {each.currency: each for each in result.totals}
    assert (totals["USD"].lines_amount, totals["USD"].compared_amount, totals["USD"].uncompared_amount) == (
        Decimal("191.79"),
        Decimal("182.79"),
        Decimal(9),
    )
    assert (totals["USD"].invoiced_amount, totals["USD"].difference) == (Decimal("177.95"), Decimal("-4.84"))
    assert totals["EUR"].lines_amount == Decimal(4)


def test_one_invoice_has_the_parts_of_its_difference(cast: Cast, months: CostSource) -> None:
    (row,) = answer(cast, invoice="INV-1").invoices
    assert row.parts_by == "invoice_detail"
    assert [(part.part, part.lines_amount, part.invoiced_amount, part.difference) for part in row.parts] == [
        ("D2", Decimal("32.69"), Decimal("20.35"), Decimal("-12.34")),
        ("D1", Decimal("100.10"), Decimal("100.10"), Decimal(0)),
    ]
    assert [(each.service, each.lines_amount) for each in row.lines] == [
        ("Amazon S3", Decimal("100.10")),
        ("Amazon EC2", Decimal("32.69")),
    ]
    (by_category,) = answer(cast, invoice="INV-2").invoices
    assert by_category.parts_by == "charge_category"
    assert {part.part: part.difference for part in by_category.parts} == {
        "Usage": Decimal("-0.005"),
        "Credit": Decimal("0.005"),
    }
    with pytest.raises(UserError, match="of invoice 'INV-9'"):
        answer(cast, invoice="INV-9")
    with pytest.raises(UserError, match="2026-05"):
        answer(cast, month="May")


def key(**changes: str) -> Key:
    fields = {"issuer": "A", "invoice": "1", "billing_account": "b", "currency": "USD", **changes}
    return Key(MAY, **fields)


def only_row(rows: list[InvoiceRow]) -> InvoiceRow:
    (row,) = rows
    return row


def test_files_that_name_no_issuer_or_account_meet_those_that_do() -> None:
    lines = [LineSum(key(issuer="", billing_account=""), Decimal(3)), LineSum(key(invoice=""), Decimal(1))]
    rows = reconcile(InvoiceData(lines, [DetailSum(key(), Decimal(3))], [], {}))
    assert [(row.invoice, row.issuer, row.billing_account, row.status) for row in rows] == [
        ("", "A", "b", "not_invoiced"),
        ("1", "A", "b", "matches"),
    ]
    # Two accounts in the details, none in the lines: nobody can tell the lines apart.
    two = [DetailSum(key(), Decimal(1)), DetailSum(key(billing_account="c"), Decimal(2))]
    assert only_row(reconcile(InvoiceData(lines[:1], two, [], {}))).status == "matches"
    # The same id of two issuers is two invoices.
    other = [DetailSum(key(), Decimal(3)), DetailSum(key(issuer="B"), Decimal(4))]
    assert len(reconcile(InvoiceData([LineSum(key(), Decimal(3))], other, [], {}))) == 2


def test_less_than_a_cent_is_rounding_and_never_a_match() -> None:
    for difference, status in (("0.00999", "rounding"), ("-0.0000001", "rounding"), ("0.01", "differs")):
        data = InvoiceData([LineSum(key(), Decimal(5))], [DetailSum(key(), 5 + Decimal(difference))], [], {})
        row = only_row(reconcile(data))
        assert (row.status, row.difference) == (status, Decimal(difference))


def test_a_voided_invoice_counts_nothing() -> None:
    details_ = [DetailSum(key(), Decimal(5), status="Voided")]
    row = only_row(reconcile(InvoiceData([LineSum(key(), Decimal(5))], details_, [], {})))
    assert (row.status, row.invoiced_amount, row.invoice_status) == ("differs", Decimal(0), "Voided")


def test_invoice_detail_counts_before_what_was_entered() -> None:
    data = InvoiceData(
        [LineSum(key(), Decimal(5))], [DetailSum(key(), Decimal(5))], [EnteredTotal(key(), Decimal(6))], {}
    )
    assert only_row(reconcile(data)).invoiced_by == "invoice_detail"


def test_an_invoice_of_two_sources_counts_once(cast: Cast, months: CostSource, tmp_path: Path) -> None:
    other = CostSource.objects.create(account=cast.account, name="Finance")
    import_bill(cast, other, details(tmp_path, {"InvoiceId": "INV-2", "BilledCost": "51"}))
    result = answer(cast, month="2026-05")
    assert by_invoice(result)["INV-2", "USD"].invoiced_amount == Decimal(51)
    assert result.warnings == [
        "Two sources have Invoice Detail of 'INV-2'; the one imported last is counted."
    ]


def test_a_member_enters_and_removes_the_total_of_an_invoice(cast: Cast, months: CostSource) -> None:
    member, viewer = signed_in(cast.member), signed_in(cast.viewer)
    row = {
        "period": "2026-05-01",
        "issuer": AWS,
        "invoice": "",
        "account": "111122223333",
        "currency": "USD",
    }
    page = viewer.get("/a/acme/invoices/invoice/", row)
    assert "Lines without InvoiceId" in page.content.decode()
    assert viewer.post("/a/acme/invoices/totals/", {**row, "amount": "10"}).status_code == 403
    assert member.post("/a/acme/invoices/totals/", {**row, "amount": "ten"}).status_code == 422

    assert (
        member.post("/a/acme/invoices/totals/", {**row, "amount": "9.25", "note": "PDF"}).status_code == 302
    )
    assert member.post("/a/acme/invoices/totals/", {**row, "amount": "9.5", "note": "PDF"}).status_code == 302
    invoice_row = by_invoice(answer(cast, month="2026-05"))["", "USD"]
    assert (invoice_row.status, invoice_row.invoiced_by, invoice_row.difference, invoice_row.note) == (
        "differs",
        "entered",
        Decimal("0.5"),
        "PDF",
    )
    assert "9.50" in viewer.get("/a/acme/invoices/").content.decode()
    csv = viewer.get("/a/acme/invoices/?format=csv").getvalue().decode()
    assert "INV-1" in csv
    assert "-12.34" in csv
    assert ",data note\r\n" in csv
    assert csv.count("billing month 2026-05: ") == 1

    total = InvoiceTotal.objects.get()
    assert member.post(f"/a/acme/invoices/totals/{total.pk}/remove/").status_code == 302
    assert not InvoiceTotal.objects.exists()
    entries = AuditEntry.objects.filter(action__startswith="invoice_total").order_by("pk")
    assert [(entry.action, entry.detail.get("from"), entry.detail["currency"]) for entry in entries] == [
        ("invoice_total.enter", None, "USD"),
        ("invoice_total.enter", "9.250000000000000000", "USD"),
        ("invoice_total.remove", None, "USD"),
    ]


def test_without_invoices_the_totals_say_nothing_of_what_was_invoiced(cast: Cast) -> None:
    with account_scope(cast.account):
        add_source(cast.account, [cost(date(2026, 5, 3), "12.50", billing_period=date(2026, 5, 1))])
        (total,) = invoice_reconciliation(cast.account, InvoiceQuery()).totals

    assert (total.lines_amount, total.invoiced_amount, total.difference) == (Decimal("12.50"), None, None)


@pytest.mark.parametrize("month", ["2026-05", "2026-05-01", "2026-05-31T23:59:59Z"])
def test_a_day_or_time_of_a_month_means_the_month(month: str) -> None:
    assert parse_month(month) == date(2026, 5, 1)
