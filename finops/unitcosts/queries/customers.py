"""The account's customer key, its aliases, and its customers."""

from __future__ import annotations

from collections.abc import Collection

from accounts.models import Account
from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.queries.join import Customers
from ingestion.models import Customer


def customer_key(account: Account) -> str:
    """The dimension whose values are customer ids, such as `tag:customer`; empty when none is chosen. One query."""
    return CustomerKey.objects.filter(account=account).values_list("dimension", flat=True).first() or ""


def require_customer_key(account: Account, *, why: str) -> str:
    """The customer key; UserError when the account has chosen none."""
    key = customer_key(account)
    if not key:
        raise UserError(
            f"{why} needs the account's customer key: the tag or dimension of cost whose values are the customer_id of "
            "usage events. None is chosen yet. A member chooses it on the page Settings, Customer key; until then use "
            "mode total without customers.",
            field="mode",
        )
    return key


def aliases_of(account: Account) -> dict[str, str]:
    """Customer ids by alias. One query."""
    return dict(CustomerAlias.objects.filter(account=account).values_list("value", "customer_id"))


def customers_of(
    account: Account, ids: Collection[str], aliases: dict[str, str], usage_ids: Collection[str]
) -> Customers:
    """What is known of these ids; those in `used` are customers whatever the table says. One query."""
    customer_ids = {*ids, *usage_ids, *(aliases[value] for value in ids if value in aliases)}
    names = Customer.objects.filter(account=account, customer_id__in=customer_ids).values_list(
        "customer_id", "name"
    )
    return Customers({**dict.fromkeys(usage_ids, ""), **dict(names)}, aliases)
