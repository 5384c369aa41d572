"""Invoices: lines compared with invoiced amounts, one invoice with its parts, totals entered by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.forms import InvoiceTotalForm
from finops.costs.invoice_answers import InvoiceQuery, InvoiceRow
from finops.costs.models import InvoiceTotal
from finops.costs.queries.invoices import every_invoice, key_of, one_invoice
from finops.costs.reconciliation import Key
from finops.costs.services.invoices import enter_invoice_total, remove_invoice_total
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, wants_csv
from finops.lib.params import as_arguments

LABELS = {
    "matches": "Matches",
    "rounding": "Rounding",
    "differs": "Differs",
    "no_lines": "No lines",
    "no_invoice_detail": "No Invoice Detail",
    "not_invoiced": "No invoice ID",
}


class InvoiceEntry:
    """A row of the list of invoices."""

    def __init__(self, row: InvoiceRow) -> None:
        self.row = row
        self.label = LABELS[row.status]
        self.query = urlencode(_params(key_of(row)))


def _currency(line: InvoiceEntry) -> str:
    return line.row.currency


INVOICES = ListPage[InvoiceEntry](
    name="invoices",
    title="Invoices",
    noun="invoice",
    columns=[
        Column("period", "Billing period", lambda line: line.row.billing_period, css="nowrap"),
        Column("invoice", "Invoice", lambda line: line.row.invoice, row_header=True),
        Column("issuer", "Issuer", lambda line: line.row.issuer, shown=False),
        Column("account", "Billing account", lambda line: line.row.billing_account, shown=False),
        Column("status", "Status", lambda line: line.label),
        Column("lines", "Cost lines", lambda line: line.row.lines_amount, numeric=True, currency=_currency),
        Column(
            "invoiced", "Invoiced", lambda line: line.row.invoiced_amount, numeric=True, currency=_currency
        ),
        Column(
            "difference",
            "Difference",
            lambda line: line.row.difference,
            numeric=True,
            currency=_currency,
            help="reconciliation",
        ),
        Column("currency", "Currency", lambda line: line.row.currency, shown=False),
        Column("invoiced_by", "Invoiced by", lambda line: line.row.invoiced_by, shown=False),
        Column("invoice_status", "Invoice status", lambda line: line.row.invoice_status, shown=False),
        Column("period_status", "Period status", lambda line: line.row.period_status, shown=False),
        Column("due", "Due", lambda line: line.row.due_on, shown=False),
        Column("reason", "Reason", lambda line: line.row.reason, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render the list. `?month=2026-05` filters it; by default the newest three billing months."""
    return _list_page(request)


def _list_page(request: AccountRequest) -> HttpResponseBase:
    month = request.GET.get("month", "")
    context: dict[str, Any] = {"month": month, "mcp_arguments": as_arguments(InvoiceQuery(month=month))}
    try:
        answer, months = every_invoice(request.account, month)
    except UserError as error:
        context |= {"error": error.message}
        return render(request, "costs/invoices.html", context, status=400)
    shown = INVOICES.listing(request, [InvoiceEntry(row) for row in answer.invoices])
    if wants_csv(request):
        return INVOICES.csv(shown.matches, answer.summary)
    context |= {"answer": answer, "listing": shown, "months": months}
    return render(request, "costs/invoices.html", context)


@account_page()
@require_safe
def invoice(request: AccountRequest) -> HttpResponseBase:
    """Render one invoice, given by `?period=&issuer=&invoice=&account=&currency=`; the list without one."""
    if "period" not in request.GET:
        return _list_page(request)
    return _invoice_page(request, _key(request.GET), None)


def _invoice_page(request: AccountRequest, key: Key, form: InvoiceTotalForm | None) -> HttpResponse:
    row = one_invoice(request.account, key)
    if row is None:
        raise Http404("The invoice does not exist.")
    entered = InvoiceTotal.objects.filter(**_fields(key)).first()
    initial_values = {"amount": f"{entered.amount.normalize():f}", "note": entered.note} if entered else {}
    context = {
        "row": row,
        "line": InvoiceEntry(row),
        "key": _params(key),
        "entered": entered,
        "form": form or InvoiceTotalForm(initial=initial_values),
        "mcp_arguments": as_arguments(InvoiceQuery(month=f"{key.period:%Y-%m}", invoice=key.invoice)),
    }
    return render(request, "costs/invoice.html", context, status=422 if form else 200)


@account_page(Role.MEMBER)
@require_POST
def enter_total(request: AccountRequest) -> HttpResponse:
    key, form = _key(request.POST), InvoiceTotalForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            enter_invoice_total(
                account=request.account, actor=request.actor, **_fields(key), **form.cleaned_data
            )
            messages.success(request, "Invoice total saved.")
            url = reverse("invoice", args=[request.account.slug])
            return redirect(f"{url}?{urlencode(_params(key))}")
    return _invoice_page(request, key, form)


@account_page(Role.MEMBER)
@require_POST
def remove_total(request: AccountRequest, invoice_total_id: int) -> HttpResponse:
    row = get_object_or_404(InvoiceTotal.objects.select_related("account"), pk=invoice_total_id)
    remove_invoice_total(total=row, actor=request.actor)
    messages.success(request, "Invoice total removed.")
    return redirect("invoices", slug=request.account.slug)


def _key(params: Mapping[str, str]) -> Key:
    try:
        period = date.fromisoformat(params.get("period", ""))
    except ValueError as error:
        raise Http404("The invoice does not exist.") from error
    return Key(
        period,
        issuer=params.get("issuer", "")[:500],
        invoice=params.get("invoice", "")[:500],
        billing_account=params.get("account", "")[:500],
        currency=params.get("currency", "")[:60],
    )


def _params(key: Key) -> dict[str, str]:
    return {
        "period": key.period.isoformat(),
        "issuer": key.issuer,
        "invoice": key.invoice,
        "account": key.billing_account,
        "currency": key.currency,
    }


def _fields(key: Key) -> dict[str, Any]:
    return {
        "billing_period": key.period,
        "issuer": key.issuer,
        "invoice_id": key.invoice,
        "billing_account_id": key.billing_account,
        "currency": key.currency,
    }
