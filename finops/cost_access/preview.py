"""Preview of a limit: the cost of the last 30 days within the filters of a form."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from accounts.models import Account
from finops.cost_access.resolution import Alternatives, limit_of_alternatives
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import SpendQuery
from finops.lib.cost_access import cost_access
from finops.lib.money import ratio

PREVIEW = SpendQuery(period="last_30_days")


@dataclass(frozen=True)
class PreviewAmount:
    """Cost within the limit and of the whole account, in one currency. `share` is None if the account's cost is not
    positive."""

    currency: str
    amount: Decimal
    whole: Decimal
    share: Decimal | None


def preview_limit(account: Account, alternatives: Alternatives) -> list[PreviewAmount]:
    """Amounts by currency, in the account's order; empty without cost in the last 30 days. Two lake queries. Raises
    UserError for a filter that cannot be applied."""
    limit = limit_of_alternatives(account, alternatives)
    with cost_access(None):
        whole = query_spend(account, PREVIEW).totals
    with cost_access(limit):
        inside = {total.currency: total.amount for total in query_spend(account, PREVIEW).totals}
    return [
        PreviewAmount(
            total.currency,
            amount := inside.get(total.currency, Decimal()),
            total.amount,
            ratio(amount, total.amount) if total.amount > 0 else None,
        )
        for total in whole
    ]
