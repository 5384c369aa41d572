"""Which alerts use a dimension that allocation gives."""

from __future__ import annotations

from accounts.models import Account
from finops.alerts.models import AlertSubscription
from finops.alerts.queries.subscriptions import subscription_text
from finops.allocation.cost_tags import uses


@uses.register("alerts")
def _alerts(account: Account, dimension: str) -> list[str]:
    family, _, key = dimension.partition(":")
    if family != "cost_tag":
        return []
    rows = AlertSubscription.objects.filter(account=account, cost_tag__key__iexact=key)
    return [f"alert {subscription_text(row)!r}" for row in rows.select_related("channel", "cost_tag")]
