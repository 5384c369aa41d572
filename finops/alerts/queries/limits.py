"""Subscriptions that send with limited cost access."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.models import Account
from finops.alerts.models import AlertSubscription
from finops.budgets.models import Budget
from finops.budgets.scopes import visible_budgets
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.queries import limits_by_reader
from finops.cost_access.resolution import access_of
from finops.lib.errors import UserError


def limits_that_silence(
    account: Account, rows: Sequence[AlertSubscription]
) -> dict[int, list[CostAccessLimit]]:
    """The limits of subscriptions that send nothing because of them, by the id of the subscription; those of the channel
    count too. A limited subscription sends only the alerts of a budget whose cost is completely within the limits: all
    others contain other cost. No query where the check of a credential has read that the account has no limited readers;
    else one, and those of `resolve_limits` for each subscription with a limit."""
    assigned = limits_by_reader(account) if rows and account.has_limited_readers is not False else {}
    silent = {}
    for row in rows:
        limits = [
            *assigned.get(("alert_subscription", row.pk), []),
            *assigned.get(("alert_channel", row.channel_id), []),
        ]
        if limits and not _sees_budget(account, row, limits):
            silent[row.pk] = limits
    return silent


def sending_subscriptions(account: Account, rows: Sequence[AlertSubscription]) -> list[AlertSubscription]:
    """Return the subscriptions that their limits do not silence."""
    silent = limits_that_silence(account, rows)
    return [row for row in rows if row.pk not in silent]


def _sees_budget(account: Account, row: AlertSubscription, limits: Sequence[CostAccessLimit]) -> bool:
    if row.budget_id is None:
        return False
    budgets = Budget.objects.filter(pk=row.budget_id).select_related("cost_source", "team", "cost_tag")
    try:
        with access_of(account, limits):
            return bool(visible_budgets(budgets))
    except UserError:
        return False
