"""Limits of what members made: keys, connected apps, exports, schedules and alerts (`accounts/creations.py`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.creations import Creation, creation_kinds
from accounts.models import Account, MCPKey, Membership, OAuthConnection
from accounts.scoping import account_scope, lock_account
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit
from finops.cost_access.queries import limits_of_members, narrowed_by


def narrow_creations(account: Account, limits: Mapping[int, CostAccessLimit], actor: Actor) -> list[Creation]:
    """Add to everything that people made the limit of each, by the id of the person, and return what changed. Nothing
    loses a limit here: a credential is not tied to a person who is signed in, so it never sees more by itself.

    The number of queries does not depend on the number of people or of what they made.
    """
    narrowed = narrowed_by(account, limits)
    with account_scope(account):
        CostAccessAssignment.objects.bulk_create(
            [
                CostAccessAssignment(
                    account=account,
                    limit=limits[each.owner_id],
                    **{f"{each.kind.reader}_id": each.reader_id},
                )
                for each in narrowed
            ],
            batch_size=1_000,
        )
    audit.record_each(
        account=account,
        actor=actor,
        action="cost_access.narrow",
        targets=[
            (each.name, {"kind": each.noun, "id": each.reader_id, "limit": limits[each.owner_id].name})
            for each in narrowed
        ],
    )
    return narrowed


@transaction.atomic
def narrow_members(account: Account, memberships: Collection[Membership], actor: Actor) -> None:
    """Narrow what these members made to their limits: after a role was lowered, or something was handed over."""
    limits = limits_of_members(account, memberships)
    if limits:
        lock_account(account)
        narrow_creations(account, limits, actor)


def inherit_limit(creation: Creation) -> None:
    """Give a new row the limit of the person who made it, as of the commit that it waits for."""
    account = Account(pk=creation.row.account_id)
    lock_account(account)
    person = Membership.objects.filter(account=account, user=creation.owner_id)
    for limit in limits_of_members(account, list(person)).values():
        assign = {"account": account, "limit": limit, f"{creation.kind.reader}_id": creation.reader_id}
        CostAccessAssignment.objects.unscoped().create(**assign)  # of the row's account


@transaction.atomic
def limit_creation(
    *, creation: Creation, limit: CostAccessLimit | None, actor: Actor
) -> list[CostAccessLimit]:
    """Replace the limits of what somebody made, from the next use on; None: all cost of the account. Return its limits:
    it keeps the current one of the person who made it, who would otherwise see more by it."""
    account = creation.row.account
    reader: dict[str, Any] = {f"{creation.kind.reader}_id": creation.reader_id}
    lock_account(account)
    person = Membership.objects.filter(account=account, user=creation.owner_id)
    own = limits_of_members(account, list(person)).values()
    limits = list({each.pk: each for each in [*([limit] if limit else []), *own]}.values())
    with account_scope(account):
        CostAccessAssignment.objects.filter(**reader).exclude(limit__in=limits).delete()
        for each in limits:
            check_account(account, each)
            CostAccessAssignment.objects.get_or_create(**reader, limit=each, account=account)
    audit.record(
        account=account,
        actor=actor,
        action=f"cost_access.limit_{creation.kind.reader}",
        target=creation.name,
        detail={"id": creation.reader_id, "limits": [each.name for each in limits]},
    )
    return limits


def limit_key(*, key: MCPKey, limit: CostAccessLimit | None, actor: Actor) -> list[CostAccessLimit]:
    """Limit the cost that an MCP key sees, as `limit_creation` does."""
    return limit_creation(creation=Creation(creation_kinds["MCP key"], key), limit=limit, actor=actor)


def limit_connection(
    *, connection: OAuthConnection, limit: CostAccessLimit | None, actor: Actor
) -> list[CostAccessLimit]:
    """Limit the cost that a connected app or a service account sees, as `limit_creation` does."""
    creation = Creation(creation_kinds["connected app"], connection)
    if connection.user_id is None:
        creation = Creation(creation_kinds["service account"], connection.service_account)
    return limit_creation(creation=creation, limit=limit, actor=actor)


def check_account(account: Account, limit: CostAccessLimit) -> None:
    """Raises ValueError for a limit of another account."""
    if limit.account_id != account.pk:
        raise ValueError("the limit is of another account")
