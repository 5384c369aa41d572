"""Which subscriptions go with a budget, team, cost source, cost tag or channel that is deleted."""

from __future__ import annotations

from typing import Final

from django.db.models import Model

from finops.alerts.models import AlertChannel, AlertSubscription
from finops.alerts.queries.subscriptions import RELATED, subscription_text
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.costs import dependants
from finops.costs.models import CostSource

_BY: Final[dict[type[Model], str]] = {
    AlertChannel: "channel",
    Budget: "budget",
    CostSource: "cost_source",
    Team: "team",
    CostTag: "cost_tag",
}


@dependants.register("alert subscription")
def _alerts(row: Model) -> list[str]:
    name = _BY.get(type(row))
    if name is None:
        return []
    rows = AlertSubscription.objects.filter(**{name: row}).select_related(*RELATED)
    return [subscription_text(each) for each in rows]
