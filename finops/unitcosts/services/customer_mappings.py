"""Writes on the mapping of cost to customers and usage: the customer key, its aliases, and mapped dimensions.

The caller checks permissions.
"""

from __future__ import annotations

from typing import TypeVar

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries import cost_view
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.sentences import quote
from finops.unitcosts.models import CustomerAlias, CustomerKey, UsageDimensionMapping
from ingestion.models import Customer
from ingestion.queries.resolution import PREFIX, EventDimensions, find_key
from ingestion.usage_query import CUSTOMER

MAX_ALIASES = 5_000
"""The maximum of aliases: each is compared with every value of cost in memory. For more spellings, use a better key.
"""

FIELD = "dimension"


@transaction.atomic
def set_customer_key(*, account: Account, actor: Actor, dimension: str) -> CustomerKey:
    """Set the dimension of cost whose values are customer ids, such as `tag:customer` or `account`.

    Unit costs per customer use it from the next answer on. Aliases stay, because they belong to values. Raises
    UserError with the nearest names for an unknown dimension and for a tag key that no cost line has.
    """
    with account_scope(account):
        resolved = _dimension(account, dimension.strip())
        key = CustomerKey.objects.select_for_update().first() or CustomerKey(account=account)
        before, key.dimension = key.dimension, resolved.name
        key.full_clean(exclude=["account"])
        key.save()
    audit.record(
        account=account,
        actor=actor,
        action="customer_key.set",
        target=resolved.name,
        detail={"from": before, "to": resolved.name},
    )
    return key


def _dimension(account: Account, name: str) -> Dimension:
    if not name:
        raise UserError("Choose the cost dimension with your customer IDs.", field=FIELD)
    context = DimensionContext(account, cost_view(account).product_key)
    if name.casefold() == CUSTOMER:
        tags = [f"tag:{key}" for key in nearest_choices(CUSTOMER, context.tag_keys)]
        advice = f" Nearest: {', '.join(map(quote, tags))}." if tags else ""
        raise UserError(
            f"{FIELD}: {name!r} is derived from the customer key, so it cannot be the key.{advice}",
            field=FIELD,
            value=name,
        )
    return registry.resolve_in_data(context, name, field=FIELD, plans_ahead=True)


@transaction.atomic
def add_customer_alias(*, account: Account, actor: Actor, value: str, customer_id: str) -> CustomerAlias:
    """Assign cost whose customer key has `value`, exactly, to the customer `customer_id` from now on.

    Raises UserError for a customer without usage events (with the nearest), and above 5,000 aliases; ValidationError
    for a value that is empty or already mapped.
    """
    with account_scope(account):
        _check_customer(customer_id)
        if value == customer_id:
            raise UserError(f"value: {value[:60]!r} is already that customer's ID.", field="value")
        alias = insert(
            CustomerAlias(account=account, value=value, customer_id=customer_id),
            most=MAX_ALIASES,
            noun="aliases",
        )
    audit.record(
        account=account,
        actor=actor,
        action="customer_alias.add",
        target=value,
        detail={"customer_id": customer_id},
    )
    return alias


def _check_customer(customer_id: str) -> None:
    if not customer_id:
        raise UserError("Choose a customer.", field="customer_id")
    if Customer.objects.filter(customer_id=customer_id).exists():
        return
    close = nearest_choices(customer_id[:100], Customer.objects.values_list("customer_id", flat=True)[:5_000])
    advice = f" Nearest: {', '.join(map(quote, close))}." if close else ""
    raise UserError(
        (f"customer_id: no usage events of customer {customer_id[:60]!r}.{advice} See the Customers page."),
        field="customer_id",
        value=customer_id,
    )


@transaction.atomic
def remove_customer_alias(*, account: Account, actor: Actor, alias_id: int) -> None:
    """Remove an alias: its value is a customer id again. Raises UserError if the account has no such alias."""
    with account_scope(account):
        alias = delete(CustomerAlias, alias_id, field="alias_id", noun="alias")
    audit.record(
        account=account,
        actor=actor,
        action="customer_alias.remove",
        target=alias.value,
        detail={"customer_id": alias.customer_id},
    )


MappingRow = TypeVar("MappingRow", CustomerAlias, UsageDimensionMapping)


def insert(row: MappingRow, *, most: int, noun: str) -> MappingRow:
    """Insert a row. Raises UserError above `most` rows of the account in scope, ValidationError for an invalid one."""
    if type(row)._default_manager.count() >= most:
        raise UserError(f"The maximum is {most:,} {noun} per account. Remove some first.")
    row.full_clean()
    row.save(force_insert=True)
    return row


def delete(model: type[MappingRow], pk: int, *, field: str, noun: str) -> MappingRow:
    """Delete a row and return it. Raises UserError when the account in scope has none."""
    row = model._default_manager.select_for_update().filter(pk=pk).first()
    if row is None:
        raise UserError(f"That {noun} was already deleted.", field=field)
    row.delete()
    return row


MAX_MAPPINGS = 100


@transaction.atomic
def map_usage_dimension(
    *, account: Account, actor: Actor, cost_dimension: str, usage_dimension: str
) -> UsageDimensionMapping:
    """Make filters of cost on `cost_dimension` also filter usage, by its key `usage_dimension` or `customer`.

    Raises UserError with the nearest for an unknown dimension on either side, and above 100 mappings; ValidationError
    for a dimension of cost that is already mapped.
    """
    with account_scope(account):
        context = DimensionContext(account, cost_view(account).product_key)
        resolved = registry.resolve_in_data(
            context, cost_dimension.strip(), field="cost_dimension", plans_ahead=True
        )
        mapping = insert(
            UsageDimensionMapping(
                account=account,
                cost_dimension=resolved.name,
                usage_dimension=_usage_dimension(account, usage_dimension.strip()),
            ),
            most=MAX_MAPPINGS,
            noun="mapped dimensions",
        )
    audit.record(
        account=account,
        actor=actor,
        action="usage_dimension.map",
        target=mapping.cost_dimension,
        detail={"usage_dimension": mapping.usage_dimension},
    )
    return mapping


def _usage_dimension(account: Account, name: str) -> str:
    if name.casefold() == CUSTOMER:
        return CUSTOMER
    usage_keys = EventDimensions(account)
    key = find_key(usage_keys, name).value
    if key not in usage_keys.keys:
        raise unknown_value("usage_dimension", name.removeprefix(PREFIX)[:100], [CUSTOMER, *usage_keys.keys])
    return key


@transaction.atomic
def unmap_usage_dimension(*, account: Account, actor: Actor, mapping_id: int) -> None:
    """Delete a mapping: filters on its dimension no longer filter usage. Raises UserError if already deleted."""
    with account_scope(account):
        mapping = delete(UsageDimensionMapping, mapping_id, field="mapping_id", noun="mapping")
    audit.record(
        account=account,
        actor=actor,
        action="usage_dimension.unmap",
        target=mapping.cost_dimension,
        detail={"usage_dimension": mapping.usage_dimension},
    )
