"""Writes on which dimension of usage a dimension of cost is. Who may call them is the door's matter."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.queries import cost_view
from finops.lib.errors import unknown_value
from finops.unitcosts.models import UsageDimensionMapping
from finops.unitcosts.services.mapping_rows import delete, insert
from ingestion.queries.resolution import PREFIX, EventDimensions, find_key
from ingestion.usage_query import CUSTOMER

MAX_MAPPINGS = 100


@transaction.atomic
def map_usage_dimension(
    *, account: Account, actor: Actor, cost_dimension: str, usage_dimension: str
) -> UsageDimensionMapping:
    """From now on a filter of cost on `cost_dimension` also filters usage, by its key `usage_dimension` or `customer`.

    Raises UserError with the nearest for a dimension that is not known on either side, and beyond 100 mappings;
    ValidationError for a dimension of cost that is mapped already.
    """
    with account_scope(account):
        context = DimensionContext(account, cost_view(account).product_key)
        resolved = registry.resolve_in_data(context, cost_dimension.strip(), field="cost_dimension")
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
    """Let filters of cost on its dimension leave usage as it is. Raises UserError for a mapping that is gone."""
    with account_scope(account):
        mapping = delete(UsageDimensionMapping, mapping_id, field="mapping_id", noun="mapping")
    audit.record(
        account=account,
        actor=actor,
        action="usage_dimension.unmap",
        target=mapping.cost_dimension,
        detail={"usage_dimension": mapping.usage_dimension},
    )
