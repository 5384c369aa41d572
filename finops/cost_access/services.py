"""Writes of limited cost access. The views authorize the caller: admins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db import transaction
from django.db.models import Q

from accounts import audit
from accounts.audit import Actor
from accounts.creations import names_of
from accounts.models import Account, Invitation, MCPKey, Membership, OAuthConnection
from accounts.reader_limits import Limited
from accounts.scoping import account_scope, existing, lock_account
from accounts.sso.models import IdentityProvider
from finops.cost_access.creations import check_account, limit_connection, limit_key, narrow_creations
from finops.cost_access.models import (
    CREATION_FIELDS,
    CostAccessAssignment,
    CostAccessLimit,
    FormerMemberLimit,
)
from finops.cost_access.queries import (
    LIMIT_ROLES,
    limit_of_provider,
    limits,
    limits_of_members,
)
from finops.cost_access.resolution import Alternatives, is_narrower, resolve_alternatives
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.params import id_of
from finops.lib.sentences import quote

OVER = (
    Q(invitation__withdrawn_at__isnull=False)
    | Q(invitation__declined_at__isnull=False)
    | Q(key__revoked_at__isnull=False)
)
"""Assignments to invitations that can no longer be accepted, and to revoked keys."""

MAX_LIMITS = 200
MAX_ALTERNATIVES = 20


@transaction.atomic
def create_limit(*, account: Account, actor: Actor, name: str, alternatives: Alternatives) -> CostAccessLimit:
    """Create a limit, without readers. Raises UserError for a filter that cannot be applied and beyond 200 limits,
    ValidationError for an empty or taken name."""
    lock_account(account)
    with account_scope(account):
        if CostAccessLimit.objects.filter(earlier_of=None).count() >= MAX_LIMITS:
            raise UserError(f"The maximum is {MAX_LIMITS} limits per account. Delete one first.")
        limit = CostAccessLimit(account=account)
        _keep(limit, name, alternatives)
        limit.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="cost_access_limit.create",
        target=limit.name,
        detail={"filters": limit.alternatives},
    )
    return limit


@transaction.atomic
def change_limit(
    *,
    limit: CostAccessLimit,
    actor: Actor,
    name: str,
    alternatives: Alternatives,
    widens_creations: bool = False,
) -> CostAccessLimit:
    """Change the name or filters of a limit, from the next request on.

    To what members made, such as keys, the earlier filters apply too unless `widens_creations`: it may see less, but not more,
    without somebody's choice. Raises the errors of `create_limit`.
    """
    lock_account(limit.account)
    with account_scope(limit.account):
        limit = existing(CostAccessLimit.objects.select_for_update(), limit, "limit")
        before_name, before_filters = limit.name, limit.alternatives
        _keep(limit, name, alternatives)
        limit.save()
        kept = 0
        if widens_creations:
            CostAccessAssignment.objects.filter(limit__earlier_of=limit).delete()
        elif not is_narrower(limit.alternatives, before_filters):
            kept = _keep_earlier(limit, before_name, before_filters)
        limit.earlier.filter(assignments=None).delete()
    audit.record(
        account=limit.account,
        actor=actor,
        action="cost_access_limit.change",
        target=limit.name,
        detail={
            "from": {"name": before_name, "filters": before_filters},
            "to": {"name": limit.name, "filters": limit.alternatives},
            "keep_earlier_filters": kept,
        },
    )
    return limit


def _keep_earlier(limit: CostAccessLimit, name: str, alternatives: list[list[dict[str, Any]]]) -> int:
    """Apply the earlier filters of a limit also from now on to what members made, and return to how many."""
    of_creation = reduce(or_, (Q(**{f"{field}__isnull": False}) for field in CREATION_FIELDS))
    rows = list(CostAccessAssignment.objects.filter(of_creation, limit=limit))
    if not rows:
        return 0
    earlier = CostAccessLimit(
        account=limit.account,
        name=f"{name[:70]} until {clock.now():%Y-%m-%d %H:%M}",
        alternatives=alternatives,
        earlier_of=limit,
    )
    earlier.full_clean()
    earlier.save(force_insert=True)
    for row in rows:
        row.pk, row.limit, row.created_at = None, earlier, clock.now()
    CostAccessAssignment.objects.bulk_create(rows, batch_size=1_000)
    return len(rows)


@transaction.atomic
def delete_limit(*, limit: CostAccessLimit, actor: Actor) -> None:
    """Delete a limit. Raises UserError while it has readers, who would then see all cost."""
    lock_account(limit.account)
    with account_scope(limit.account):
        limit = existing(CostAccessLimit.objects.select_for_update(), limit, "limit")
        CostAccessAssignment.objects.filter(OVER, Q(limit=limit) | Q(limit__earlier_of=limit)).delete()
        count = CostAccessAssignment.objects.filter(limit=limit).count()
        if count:
            readers = "1 reader has" if count == 1 else f"{count} readers have"
            raise UserError(f"{readers} this limit. Give them another one first.")
        limit.delete()
    audit.record(
        account=limit.account, actor=actor, action="cost_access_limit.delete", target=limit.name, detail={}
    )


@transaction.atomic
def limit_member(*, membership: Membership, limit: CostAccessLimit | None, actor: Actor) -> None:
    """Limit the cost that a member sees; None: all cost of the account again.

    What the member made gets the limit too, in addition to those it has, and keeps it (`narrow_creations`). Raises UserError
    for an admin or owner.
    """
    account = membership.account
    lock_account(account)
    if limit is not None and membership.role not in LIMIT_ROLES:
        raise UserError("Admins and owners see all cost. Change the role first.", field="limit")
    with account_scope(account):
        _assign(account, limit, membership=membership)
    narrowed = narrow_creations(account, {membership.user_id: limit}, actor) if limit else []
    audit.record(
        account=account,
        actor=actor,
        action="cost_access.limit_member",
        target=membership.user.email,
        detail={"limit": limit.name if limit else None, "narrowed": names_of(narrowed)},
    )


@transaction.atomic
def limit_invitation(*, invitation: Invitation, limit: CostAccessLimit | None, actor: Actor) -> None:
    """Limit the person who accepts an invitation. Raises UserError for the invitation of an admin."""
    if limit is not None and invitation.role not in LIMIT_ROLES:
        raise UserError("Admins and owners see all cost. Choose another role.", field="limit")
    account = invitation.account
    with account_scope(account):
        had = CostAccessAssignment.objects.filter(invitation=invitation).exists()
        lock_account(account)
        _assign(account, limit, invitation=invitation)
    if limit is None and not had:
        return
    detail = {"limit": limit.name if limit else None}
    audit.record(
        account=account,
        actor=actor,
        action="cost_access.limit_invitation",
        target=invitation.email,
        detail=detail,
    )


@transaction.atomic
def accept_invitation_limit(invitation: Invitation, membership: Membership) -> None:
    """Assign the invitation's limit to the new member."""
    with account_scope(invitation.account):
        row = CostAccessAssignment.objects.select_related("limit").filter(invitation=invitation).first()
    if row is None:
        return
    with account_scope(invitation.account):
        row.delete()
    limit_member(membership=membership, limit=row.limit, actor=Actor.of_user(membership.user))


@transaction.atomic
def limit_provider(*, provider: IdentityProvider, limit: CostAccessLimit | None, actor: Actor) -> None:
    """Limit members that single sign-on or SCIM adds from now on; existing members keep their access. Raises
    UserError for a provider of the whole service."""
    account = provider.account
    if account is None:
        raise UserError("A provider of the whole service adds no members to accounts.", field="limit")
    with account_scope(account):
        lock_account(account)
        before = limit_of_provider(provider)
        _assign(account, limit, provider=provider)
    if before == (str(limit.pk) if limit else ""):
        return
    audit.record(
        account=account,
        actor=actor,
        action="cost_access.limit_provider",
        target=provider.name,
        detail={"limit": limit.name if limit else None},
    )


@transaction.atomic
def join_limit(provider: IdentityProvider, membership: Membership, actor: Actor) -> None:
    """Assign to a new member the limit she had when she left, or else that of her provider. Also to an admin, whose
    limit is not applied: her groups may make her a viewer a moment later. What she made gets it too, as in
    `limit_member`."""
    account = membership.account
    with account_scope(account):
        former = FormerMemberLimit.objects.select_related("limit").filter(user=membership.user).first()
        default = CostAccessAssignment.objects.select_related("limit").filter(provider=provider).first()
        row = former or default
        if row is None:
            return
        _assign(account, row.limit, membership=membership)
        narrowed = narrow_creations(account, limits_of_members(account, [membership]), actor)
        FormerMemberLimit.objects.filter(user=membership.user).delete()
    audit.record(
        account=account,
        actor=actor,
        action="cost_access.limit_member",
        target=membership.user.email,
        detail={
            "limit": row.limit.name,
            "narrowed": names_of(narrowed),
            "provider": provider.name,
            "restored": former is not None,
        },
    )


def leave_limit(membership: Membership) -> None:
    """Store the limit of a member who leaves, replacing an earlier one."""
    account = membership.account
    with account_scope(account):
        row = CostAccessAssignment.objects.filter(membership=membership).first()
        if row is None:
            FormerMemberLimit.objects.filter(user=membership.user).delete()
            return
        FormerMemberLimit.objects.update_or_create(
            user=membership.user,
            account=account,
            defaults={"limit_id": row.limit_id, "left_at": clock.now()},
        )


def assign_choice(row: Limited, choice: str, actor: Actor) -> None:
    """Assign the limit of a form's choice: an id, or empty for none. Raises UserError for a limit that no longer exists."""
    if row.account is None:
        return
    with account_scope(row.account):
        limit = limits(row.account).filter(pk=id_of(choice) or 0).first() if choice else None
    if choice and limit is None:
        raise UserError("Choose a limit from the list.", field="limit")
    if isinstance(row, Invitation):
        limit_invitation(invitation=row, limit=limit, actor=actor)
    elif limit is not None and isinstance(row, MCPKey):
        limit_key(key=row, limit=limit, actor=actor)
    elif limit is not None and isinstance(row, OAuthConnection):
        limit_connection(connection=row, limit=limit, actor=actor)
    elif isinstance(row, IdentityProvider):
        limit_provider(provider=row, limit=limit, actor=actor)


def _assign(account: Account, limit: CostAccessLimit | None, **assignee: Any) -> None:
    """Raises ValueError for a limit of another account."""
    if limit is None:
        CostAccessAssignment.objects.filter(**assignee).delete()
        return
    check_account(account, limit)
    CostAccessAssignment.objects.update_or_create(**assignee, defaults={"limit": limit, "account": account})


def _keep(limit: CostAccessLimit, name: str, alternatives: Alternatives) -> None:
    limit.name, limit.alternatives = name.strip(), _validate(limit.account, alternatives)
    limit.full_clean()


def _validate(account: Account, alternatives: Sequence[Sequence[CostFilter]]) -> list[list[dict[str, Any]]]:
    filter_lists = [list(filters) for filters in alternatives if filters]
    if not filter_lists:
        raise UserError("Add a filter.", field="filters")
    if len(filter_lists) > MAX_ALTERNATIVES:
        raise UserError(f"The maximum is {MAX_ALTERNATIVES} alternatives.", field="filters")
    resolved = resolve_alternatives(account, [filter_lists])
    _refuse_warnings([item for filters in resolved[0] for item in filters])
    return [
        [
            {"dimension": item.dimension.name, "op": item_filter.op, "values": item_filter.values}
            for item, item_filter in zip(resolved_filters, filters, strict=True)
        ]
        for resolved_filters, filters in zip(resolved[0], filter_lists, strict=True)
    ]


def _refuse_warnings(items: Sequence[Any]) -> None:
    """Refuse warnings: a tag key that no cost has is a typing error, and a `not_in` of it would limit nothing."""
    for item in items:
        problem = next((text for text in item.dimension.warnings if text.startswith("No cost has")), "")
        if problem:
            raise UserError(f"filters: {problem}", field="filters", value=quote(item.dimension.name))
