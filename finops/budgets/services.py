"""Writes on budgets. The caller checks permissions; the maximum number and the validation apply to every caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import limit_of
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.budgets.cycles import MONTHS, is_first_day, period_of
from finops.budgets.models import Budget, BudgetAmount
from finops.budgets.scopes import ScopeDraft, check_scope_in_data, find_scope
from finops.costs import dependants
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError, unknown_value
from finops.lib.registry import Registry

MAX_AMOUNTS = 120
"""The maximum of periods with their own amount: ten years of months."""

budget_listeners: Registry[Callable[[Budget], None]] = Registry("listener to budgets")
"""Called in the transaction of a budget's change, with the account in scope; side effects wait for the commit."""


@dataclass(frozen=True, kw_only=True)
class BudgetDraft:
    """The fields of a budget. `amounts` are those of single periods, by their first day."""

    name: str
    amount: Decimal
    currency: str
    period: str = Budget.Period.MONTHLY.value
    scope: ScopeDraft = field(default_factory=ScopeDraft)
    warning_percent: int = 80
    amounts: Mapping[date, Decimal] = field(default_factory=dict)


@transaction.atomic
def create_budget(*, account: Account, actor: Actor, draft: BudgetDraft) -> Budget:
    """Create a budget. Raises UserError for a name that is taken (naming the budget that has it), an account at its
    maximum (with maximum and count), a scope, currency or period that does not exist, a currency or cost tag value
    that the account's cost does not have (one to three lake queries); ValidationError for what the database would
    refuse."""
    with account_scope(account):
        lock_account(account)
        _check_name(draft.name, but=None)
        _check_cap(account)
        budget = Budget(account=account, created_by=actor.user)
        _fill(budget, draft, account)
        budget.full_clean(exclude=["account"])
        check_scope_in_data(account, budget)
        budget.save(force_insert=True)
        _write_amounts(budget, draft, account)
        audit.record(
            account=account,
            actor=actor,
            action="budget.create",
            target=budget.name,
            detail=_audit_snapshot(budget, draft.amounts),
        )
    return budget


@transaction.atomic
def change_budget(*, budget: Budget, actor: Actor, draft: BudgetDraft) -> Budget:
    """Replace the fields of a budget, including amounts of single periods: those not in the draft are deleted.
    `budget_listeners` get the budget if its amount, period or scope changed.

    Raises as `create_budget` does, and UserError for a budget that no longer exists.
    """
    account = budget.account
    with account_scope(account):
        lock_account(account)
        row = existing(Budget.objects.all(), budget, "budget")
        amounts = {each.starts_on: each.amount for each in row.amounts.all()}
        before, held_against = _audit_snapshot(row, amounts), _alert_basis(row, amounts)
        _check_name(draft.name, but=row.pk)
        _fill(row, draft, account)
        row.full_clean(exclude=["account"])
        row.save()
        BudgetAmount.objects.filter(budget=row).delete()
        _write_amounts(row, draft, account)
        if _alert_basis(row, draft.amounts) != held_against:
            for listener in budget_listeners.values():
                listener(row)
        audit.record(
            account=account,
            actor=actor,
            action="budget.change",
            target=row.name,
            detail={"from": before, "to": _audit_snapshot(row, draft.amounts)},
        )
    return row


@transaction.atomic
def delete_budget(*, budget: Budget, actor: Actor) -> None:
    """Delete a budget with its amounts. Raises UserError when it is already deleted."""
    account = budget.account
    with account_scope(account):
        lock_account(account)
        row = existing(Budget.objects.all(), budget, "budget")
        detail = _audit_snapshot(row, {each.starts_on: each.amount for each in row.amounts.all()})
        detail |= dependants.audit_detail(row)
        row.delete()
        audit.record(account=account, actor=actor, action="budget.delete", target=row.name, detail=detail)


def unsaved_budget(*, account: Account, draft: BudgetDraft) -> Budget:
    """Return a draft's budget without saving it, to show its status. Checks only the scope and the text fields."""
    budget = Budget(account=account)
    with account_scope(account):
        _fill(budget, draft, account)
    return budget


def _check_name(name: str, *, but: int | None) -> None:
    existing = Budget.objects.filter(name__iexact=name.strip()).first()
    if existing is not None and existing.pk != but:
        raise UserError(
            f"name: budget {existing.name!r} already exists with id {existing.pk}. Choose another "
            "name, or edit it on its page.",
            field="name",
            value=name[:100],
            page=f"budgets/{existing.pk}/",
        )


def _check_cap(account: Account) -> None:
    cap, count = limit_of(account, "BUDGETS_PER_ACCOUNT"), Budget.objects.count()
    if count >= cap:
        raise UserError(f"The account has {count} budgets; the maximum is {cap}. Delete a budget first.")


def _fill(budget: Budget, draft: BudgetDraft, account: Account) -> None:
    if draft.period not in MONTHS:
        raise unknown_value("period", str(draft.period), list(MONTHS), show=str)
    budget.name = draft.name.strip()
    budget.amount = draft.amount
    budget.currency = currency_code(draft.currency)
    budget.period = draft.period
    budget.warning_percent = draft.warning_percent
    scope = find_scope(draft.scope)
    budget.scope = scope.scope
    budget.cost_source_id = scope.cost_source_id
    budget.team_id = scope.team_id
    budget.cost_tag_id = scope.cost_tag_id
    budget.cost_tag_value = scope.cost_tag_value
    _check_first_days(draft, account)


def _check_first_days(draft: BudgetDraft, account: Account) -> None:
    if len(draft.amounts) > MAX_AMOUNTS:
        raise UserError(
            f"amounts: {len(draft.amounts)} periods; the maximum is {MAX_AMOUNTS}.",
            field="amounts",
        )
    for day in draft.amounts:
        if not is_first_day(draft.period, day, account.fiscal_start_month):
            first = period_of(draft.period, day, account.fiscal_start_month).start
            raise UserError(
                f"amounts: {day} is not the first day of a {draft.period} period of this account. The "
                f"period begins on {first}.",
                field="amounts",
                value=str(day),
            )


def _write_amounts(budget: Budget, draft: BudgetDraft, account: Account) -> None:
    for day, amount in sorted(draft.amounts.items()):
        row = BudgetAmount(account=account, budget=budget, starts_on=day, amount=amount)
        try:
            row.full_clean(exclude=["account"])
        except ValidationError as error:
            raise ValidationError({"amounts": [f"{day}: {message}" for message in error.messages]}) from error
        row.save(force_insert=True)


def _alert_basis(budget: Budget, amounts: Mapping[date, Decimal]) -> tuple[object, ...]:
    """Return the fields that decide what alerts compare: all but the name and the warning percentage of the page."""
    scope = (budget.scope, budget.cost_source_id, budget.team_id, budget.cost_tag_id, budget.cost_tag_value)
    return budget.amount, budget.currency, budget.period, scope, dict(amounts)


def _audit_snapshot(budget: Budget, amounts: Mapping[date, Decimal]) -> dict[str, Any]:
    """Return the values for the audit log."""
    return {
        "name": budget.name,
        "amount": f"{budget.amount:f} {budget.currency}",
        "period": budget.period,
        "scope": budget.scope,
        "cost_source": budget.cost_source_id,
        "team": budget.team_id,
        "cost_tag": budget.cost_tag_id,
        "cost_tag_value": budget.cost_tag_value,
        "warning_percent": budget.warning_percent,
        "amounts": [f"{day}: {amount:f} {budget.currency}" for day, amount in sorted(amounts.items())],
    }
