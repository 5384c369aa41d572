"""The page of `verifyAnswer`, with the setting for how long the account keeps receipts and their bills."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.credentials import Access, Credential, CredentialKind
from accounts.forms import FormErrors
from accounts.limits import limit_of
from accounts.models import Account, Role
from accounts.page_access import AccountRequest, account_page
from finops.lib.errors import UserError
from finops.lib.time_limit import limit_time
from finops.receipts import queries, services
from finops.receipts.models import BILL_DAYS_LIMIT, DAYS_LIMIT, FEWEST_DAYS, ReceiptRetention
from mcpserver.context import ToolCall
from mcpserver.receipts.answer import VerifiedAnswer, verified_answer


@account_page()
@require_safe
def verify_answer(request: AccountRequest) -> HttpResponse:
    """Render the page. Refused for readers with limited cost access, because the call below covers the whole account."""
    receipt = request.GET.get("receipt", "").strip()
    if not receipt:
        return _page(request, receipt)
    try:
        with limit_time(settings.LAKE_DEADLINE_SECONDS, "This took too long. Ask the question again."):
            return _page(request, receipt, answer=verified_answer(_call(request), receipt))
    except UserError as error:
        return _page(request, receipt, problem=error.message, status=422)


@account_page(Role.ADMIN)
@require_POST
def receipt_retention(request: AccountRequest) -> HttpResponse:
    form = ReceiptRetentionForm(request.account, request.POST)
    if form.is_valid():
        with FormErrors(form):
            row = services.set_receipt_retention(
                account=request.account, actor=request.actor, **form.cleaned_data
            )
            messages.success(request, f"Receipts are now kept for {row.days} days.")
            return redirect("verify_answer", slug=request.account.slug)
    return _page(request, "", form=form, status=422)


def _call(request: AccountRequest) -> ToolCall:
    """A call by a credential with access to the whole account."""
    label = str(request.user)
    return ToolCall(
        credential=Credential(CredentialKind.MCP_KEY, 0, request.account, Access.READ, label, request.actor),
        deadline=time.monotonic() + settings.LAKE_DEADLINE_SECONDS,
        console=f"{settings.PUBLIC_URL}/a/{request.account.slug}/",
    )


def _page(
    request: AccountRequest,
    receipt: str,
    *,
    answer: VerifiedAnswer | None = None,
    problem: str = "",
    form: ReceiptRetentionForm | None = None,
    status: int = 200,
) -> HttpResponse:
    retention = queries.retention(request.account)
    context = {
        "receipt": receipt,
        "answer": answer,
        "arguments": _pretty(answer.arguments) if answer else "",
        "problem": problem,
        "kept": queries.kept_bills(request.account),
        "form": form or ReceiptRetentionForm(request.account, kept=retention),
    }
    return render(request, "mcpserver/verify_answer.html", context, status=status)


def _pretty(arguments: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()


def _days_field(label: str, least: int, most: int, initial: int | None, effect: str) -> forms.IntegerField:
    bounds = f"Enter {least} to {most:,} days."
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=initial,
        help_text=f"{least} to {most:,}{effect}",
        error_messages={
            "required": bounds,
            "invalid": "Enter a whole number of days.",
            "min_value": bounds,
            "max_value": bounds,
        },
    )


class ReceiptRetentionForm(forms.Form):
    """The days that the account keeps receipts and bills, up to its ceilings."""

    def __init__(self, account: Account, data: Any = None, *, kept: ReceiptRetention | None = None) -> None:
        super().__init__(data)
        self.fields["days"] = _days_field(
            "Days to keep receipts",
            FEWEST_DAYS,
            limit_of(account, DAYS_LIMIT),
            kept.days if kept else None,
            ". Older receipts are deleted.",
        )
        self.fields["bill_days"] = _days_field(
            "Days to keep replaced bills",
            0,
            limit_of(account, BILL_DAYS_LIMIT),
            kept.bill_days if kept else None,
            ", for bills that receipts name. 0: only the previous version of a month, 14 days.",
        )
