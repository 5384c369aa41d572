"""What a digest tells: the days' total with its change, what moved most, budgets at risk, open anomalies, savings."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from accounts.models import Account
from finops.alerts.links import console_url
from finops.alerts.messages import Message
from finops.alerts.triggers import digest_text
from finops.alerts.triggers.digest import DueDigest
from finops.budgets.queries import budget_statuses
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources
from finops.costs.spend_query import SpendQuery
from finops.insights.queries import open_anomalies
from finops.insights.savings.queries import list_savings
from finops.insights.savings.savings_query import SavingsQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.spend_change_query import SpendChangeQuery

TOP_MOVERS: Final = 5


def digest_message(account: Account, digest: DueDigest, sources: Sources, deadline: float) -> Message:
    """The message of a digest; budgets as they stood on its last day.

    Raises UserError of the lake. Cost: two lake queries for the days, those of `budget_statuses` for all budgets, and
    the three or four of `list_savings`.
    """
    first, last = digest.days.start, digest.days.end
    change = SpendChangeQuery(start_date=first, end_date=last, top=TOP_MOVERS)
    figures = digest_text.DigestFigures(
        account=account,
        digest=digest,
        through=sources.coverage.complete_through,
        spend=query_spend(
            account,
            SpendQuery(start_date=first, end_date=last, compare_to="previous_period"),
            sources=sources,
            deadline=deadline,
        ),
        change=explain_spend_change(account, change, deadline=deadline),
        budgets=budget_statuses(account, day=last, sources=sources, deadline=deadline),
        anomalies=open_anomalies(),
        savings=list_savings(account, SavingsQuery(limit=1), deadline=deadline),
    )
    page = f"{console_url(account, 'spend_change')}?{urlencode(change.to_params(), doseq=True)}"
    return digest_text.message(figures, page)
