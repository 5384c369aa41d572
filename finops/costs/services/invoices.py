"""Totals of invoices that members enter by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import InvoiceTotal
from finops.lake.schema import MONEY_LIMIT
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def enter_invoice_total(
    *,
    account: Account,
    actor: Actor,
    billing_period: date,
    issuer: str,
    invoice_id: str,
    billing_account_id: str,
    currency: str,
    amount: Decimal,
    note: str = "",
) -> InvoiceTotal:
    """Set the total of an invoice in its billing currency; an earlier total is replaced.

    Without `invoice_id` it is the total of all lines of the billing period (its first day) without an invoice. Raises
    UserError for an amount of 10^15 or more, ValidationError for another invalid value.
    """
    if not amount.is_finite() or amount.copy_abs() >= MONEY_LIMIT:
        raise UserError("Amounts must be below 10^15.", field="amount", value=str(amount))
    with account_scope(account):
        key = {
            "billing_period": billing_period,
            "issuer": issuer,
            "invoice_id": invoice_id,
            "billing_account_id": billing_account_id,
            "currency": currency,
        }
        row = InvoiceTotal.objects.select_for_update().filter(**key).first() or InvoiceTotal(
            account=account, **key
        )
        before = str(row.amount) if row.pk else None
        row.amount, row.note = amount, note.strip()
        row.entered_by, row.entered_at = actor.user, clock.now()
        row.full_clean()
        row.save()
    _record(account, actor, "invoice_total.enter", row, {"from": before, "to": str(amount), "note": row.note})
    return row


@transaction.atomic
def remove_invoice_total(*, total: InvoiceTotal, actor: Actor) -> None:
    """Delete an entered total."""
    _record(total.account, actor, "invoice_total.remove", total, {"amount": str(total.amount)})
    total.delete()


def _record(account: Account, actor: Actor, action: str, row: InvoiceTotal, detail: dict[str, Any]) -> None:
    audit.record(
        account=account,
        actor=actor,
        action=action,
        target=f"{row.issuer} {row.invoice_id} {row.billing_period:%Y-%m}".strip(),
        detail={**detail, "currency": row.currency, "billing_account": row.billing_account_id},
    )
