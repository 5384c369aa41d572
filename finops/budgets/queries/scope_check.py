"""Whether the account's cost has what a new budget is of: a budget of nothing would stay at 0 in silence."""

from __future__ import annotations

from accounts.models import Account
from finops.budgets.models import Budget
from finops.costs.queries import MAX_VALUES_LIMIT, list_dimension_values
from finops.costs.queries.context import currencies_of
from finops.costs.queries.sources import load_sources
from finops.lib.errors import UserError, nearest_choices
from finops.lib.sentences import join_with_and, quote, truncate

NAMED = 5
SHOWN_LENGTH = 100


def check_scope_in_data(account: Account, budget: Budget) -> None:
    """Raises UserError, with what the account has, for a currency or a cost tag value that none of its cost has.

    An account without cost may plan ahead. One lake query; with a cost tag one or two more.
    """
    currencies = currencies_of(account, load_sources(account))
    if currencies and budget.currency not in currencies:
        raise UserError(
            f"currency: no cost line of the account is in {budget.currency}; there is cost in {join_with_and(currencies)}. Cost in "
            "one currency does not count in a budget of another.",
            field="currency",
            value=budget.currency,
        )
    if currencies and budget.cost_tag is not None:
        _check_value(account, f"cost_tag:{budget.cost_tag.key}", budget.cost_tag_value)


def _check_value(account: Account, dimension: str, value: str) -> None:
    matches = list_dimension_values(account, dimension, search=value, limit=MAX_VALUES_LIMIT)
    if value.casefold() in {each.value.casefold() for each in matches.values}:
        return
    valid_values = [
        each.value for each in list_dimension_values(account, dimension, limit=MAX_VALUES_LIMIT).values
    ]
    if value.casefold() in map(str.casefold, valid_values):
        return  # the name of no value, which a search does not find
    close = nearest_choices(value, valid_values) or valid_values[:NAMED]
    raise UserError(
        f"cost_tag_value: no cost has {dimension} {quote(value, SHOWN_LENGTH)}. Nearest: "
        f"{', '.join(quote(each, SHOWN_LENGTH) for each in close)}. listDimensionValues lists the values.",
        field="cost_tag_value",
        value=truncate(value, SHOWN_LENGTH),
    )
