"""What was spent: the one query behind the cost explorer and the tool querySpend."""

from __future__ import annotations

from accounts.models import Account
from finops.costs.answers import SpendAnswer
from finops.costs.spend_query import SpendQuery


def query_spend(account: Account, query: SpendQuery, *, deadline: float | None = None) -> SpendAnswer:
    """The spend that a query asks for, in the account's cost view unless the query overrides it."""
    raise NotImplementedError


def shortened(answer: SpendAnswer, max_bytes: int) -> SpendAnswer:
    """The same answer with its smallest groups folded into `other` until it fits."""
    raise NotImplementedError
