"""The account's customer key, its aliases and customers; and the join of cost and usage by customer.

A value of the key is a customer's id, exactly (`Acme` is not `acme`), or an alias of a customer. An unmatched value
is a separate row, so that the rows' costs add up to the total.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from accounts.models import Account
from finops.costs.queries.cost_sums import ValueCost
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.unitcosts.answers import MATCHED, NO_COST, NO_CUSTOMER, NO_USAGE, UNKNOWN_CUSTOMER
from finops.unitcosts.models import CustomerAlias, CustomerKey
from ingestion.models import Customer


def customer_key(account: Account) -> str:
    """Return the dimension whose values are customer ids, such as `tag:customer`; empty if none is set. One query."""
    return CustomerKey.objects.filter(account=account).values_list("dimension", flat=True).first() or ""


def require_customer_key(account: Account, *, why: str) -> str:
    """Return the customer key. Raises UserError when the account has none."""
    key = customer_key(account)
    if not key:
        raise UserError(
            f"{why} needs a customer key: the cost tag or dimension with the customer_id of usage "
            "events. Members set it in Settings, Customer key. Until then use mode total without "
            "customers.",
            field="mode",
        )
    return key


def aliases_of(account: Account) -> dict[str, str]:
    """Return customer ids by alias. One query."""
    return dict(CustomerAlias.objects.filter(account=account).values_list("value", "customer_id"))


def customers_of(
    account: Account, ids: Collection[str], aliases: dict[str, str], usage_ids: Collection[str]
) -> Customers:
    """Return the customers with these ids; those in `usage_ids` count even if the table lacks them. One query."""
    customer_ids = {*ids, *usage_ids, *(aliases[value] for value in ids if value in aliases)}
    names = Customer.objects.filter(account=account, customer_id__in=customer_ids).values_list(
        "customer_id", "name"
    )
    return Customers({**dict.fromkeys(usage_ids, ""), **dict(names)}, aliases)


ORDER = {MATCHED: 0, NO_USAGE: 1, NO_COST: 2, UNKNOWN_CUSTOMER: 3, NO_CUSTOMER: 4}
"""The order of rows: customers with cost and usage, customers with only one of them, unknown values, cost without a
value."""


@dataclass(frozen=True)
class Quantity:
    """The usage of one customer."""

    whole: Decimal
    buckets: Mapping[date, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Customers:
    """The meaning of values of the customer key: names by customer id, ids by alias."""

    names: Mapping[str, str]
    aliases: Mapping[str, str]

    def id_of(self, value: str) -> str | None:
        """Return the known customer of a value of the customer key; None for an unknown value."""
        customer_id = self.aliases.get(value, value)
        return customer_id if customer_id in self.names else None


@dataclass
class CustomerCost:
    """A customer, a value without a known customer, or cost without a value; in one currency."""

    customer_id: str | None
    currency: str
    status: str
    name: str = ""
    cost: Decimal = Decimal(0)
    allocated: Decimal = Decimal(0)
    buckets: dict[date, Decimal] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)
    usage: Quantity | None = None


def join_by_customer(
    costs: Sequence[ValueCost],
    usage: Mapping[str, Quantity],
    customers: Customers,
    *,
    absent: str,
    currencies: Sequence[str],
) -> list[CustomerCost]:
    """Return a row for each customer or unmatched value in each currency in which it has cost.

    `absent` is the name for cost without a value. A customer with usage only has one row, in the first of
    `currencies`. A customer with cost in two currencies has its whole usage on both rows. Ordered by `currencies`,
    then status and cost.
    """
    rows: dict[tuple[str | None, str, str], CustomerCost] = {}
    for cost in costs:
        row = _row_of(cost, customers, absent)
        unmatched = cost.value if row.customer_id is None else ""
        _add(rows.setdefault((row.customer_id, unmatched, row.currency), row), cost)
    join_rows = list(rows.values())
    for row in join_rows:
        if row.customer_id is not None and row.customer_id in usage:
            row.usage, row.status = usage[row.customer_id], MATCHED
    with_cost = {row.customer_id for row in join_rows}
    join_rows += _usage_only_rows(usage, with_cost, customers, currencies[0])
    return sorted(join_rows, key=lambda row: (currencies.index(row.currency), *_order(row)))


def _row_of(cost: ValueCost, customers: Customers, absent: str) -> CustomerCost:
    customer_id = None if cost.value == absent else customers.id_of(cost.value)
    if customer_id is not None:
        return CustomerCost(customer_id, cost.currency, NO_USAGE, customers.names[customer_id])
    status = NO_CUSTOMER if cost.value == absent else UNKNOWN_CUSTOMER
    return CustomerCost(None, cost.currency, status, cost.label, values=[cost.value])


def _add(row: CustomerCost, cost: ValueCost) -> None:
    row.cost = exact_sum([row.cost, cost.amount])
    row.allocated = exact_sum([row.allocated, cost.allocated])
    for start, amount in cost.buckets.items():
        row.buckets[start] = exact_sum([row.buckets.get(start, Decimal(0)), amount])
    if row.customer_id is not None:
        row.values = sorted({*row.values, cost.value})


def _usage_only_rows(
    usage: Mapping[str, Quantity], with_cost: Iterable[str | None], customers: Customers, currency: str
) -> list[CustomerCost]:
    customer_ids = set(usage) - set(with_cost)
    return [
        CustomerCost(each, currency, NO_COST, customers.names.get(each, ""), usage=usage[each])
        for each in customer_ids
    ]


def _order(row: CustomerCost) -> tuple[int, Decimal, Decimal, str]:
    usage = row.usage.whole if row.usage else Decimal(0)
    key = row.customer_id if row.customer_id is not None else row.values[0]
    return ORDER[row.status], _descending_key(row.cost), _descending_key(usage), key


def _descending_key(amount: Decimal) -> Decimal:
    return amount.copy_abs().copy_negate()
