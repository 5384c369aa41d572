"""Suggestions for matching values of cost with customers: the unmatched values, and the most similar customers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from accounts.models import Account
from finops.costs.answers import MoneyAmount
from finops.costs.queries import MAX_VALUES_LIMIT, list_dimension_values
from finops.lib.errors import nearest_choices
from finops.unitcosts.queries.customers import aliases_of, customers_of
from ingestion.models import Customer

LOOKED_THROUGH = 1_000
"""The maximum of customers compared with each value; comparing one, by id and name, costs about 25 µs."""

SUGGESTED_FOR = 20
"""The maximum of values with suggestions, the costliest: half a second at most."""

SUGGESTED = 3
ABSENT = ("(none)", "(untagged)", "(unknown)")


@dataclass(frozen=True)
class UnmatchedValue:
    """A value of the customer key that is not a customer, and the ids of the most similar customers."""

    value: str
    label: str
    amounts: list[MoneyAmount] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)


def customer_names(account: Account) -> dict[str, str]:
    """Return the first thousand customers by id, with their names. One query."""
    rows = Customer.objects.filter(account=account).order_by("customer_id")
    return dict(rows.values_list("customer_id", "name")[:LOOKED_THROUGH])


def suggestions(value: str, names: Mapping[str, str]) -> list[str]:
    """Return the ids of the customers whose id or name is most similar to the value, best first."""
    by_text = {name: customer_id for customer_id, name in names.items() if name}
    by_text |= {customer_id: customer_id for customer_id in names}
    customer_ids = [by_text[text] for text in nearest_choices(value[:100], by_text, limit=2 * SUGGESTED)]
    return list(dict.fromkeys(customer_ids))[:SUGGESTED]


def unmatched_values(account: Account, key: str, names: Mapping[str, str]) -> list[UnmatchedValue]:
    """Return the values without a customer among the 200 largest of the last 365 days with data. One lake query."""
    answer = list_dimension_values(account, key, limit=MAX_VALUES_LIMIT)
    aliases = aliases_of(account)
    values = [each.value for each in answer.values]
    customers = customers_of(account, values, aliases, ())
    unmatched = [
        each for each in answer.values if customers.id_of(each.value) is None and each.value not in ABSENT
    ]
    return [
        UnmatchedValue(
            each.value,
            each.label,
            each.amounts,
            suggestions(each.label or each.value, names) if place < SUGGESTED_FOR else [],
        )
        for place, each in enumerate(unmatched)
    ]


def suggestions_by_value(values: Sequence[str], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return `suggestions` for the first values."""
    return {value: suggestions(value, names) for value in values[:SUGGESTED_FOR]}
