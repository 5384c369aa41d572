"""Writes on memberships."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.oauth.services import disconnect_member
from accounts.reader_limits import keep_limit
from accounts.services.invitations import withdraw_invitations_of
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def add_member(*, account: Account, user: User, role: str, actor: Actor) -> Membership:
    """Make a person a member without asking her, for commands alone: pages invite. Raises ValidationError when she is
    one already."""
    membership = Membership(account=account, user=user, role=role)
    membership.full_clean()
    membership.save(force_insert=True)
    audit.record(
        account=account, actor=actor, action="member.add", target=user.email, detail={"role": membership.role}
    )
    return membership


def _lock_below_owner(membership: Membership) -> None:
    """Raises UserError for the account's owner, also who became it a moment ago."""
    row = Membership.objects.select_for_update().get(pk=membership.pk)
    if row.role == Role.OWNER:
        raise UserError("The owner cannot be removed. Transfer ownership first.", field="role")


@transaction.atomic
def change_role(*, membership: Membership, role: str, actor: Actor) -> None:
    """Give a member another role below owner. Raises UserError for the owner, and for that role: ownership moves by
    offer and acceptance (accounts.services.ownership)."""
    if role == Role.OWNER:
        raise UserError("Transfer ownership in Settings → Account.", field="role")
    _lock_below_owner(membership)
    before = membership.role
    membership.role = role
    membership.full_clean()
    membership.save(update_fields=["role"])
    if not membership.may(Role.ADMIN):
        withdraw_invitations_of(account=membership.account, users=[membership.user], actor=actor)
    audit.record(
        account=membership.account,
        actor=actor,
        action="member.change_role",
        target=membership.user.email,
        detail={"from": before, "to": role},
    )


@transaction.atomic
def change_roles(*, account: Account, roles: Mapping[Membership, Role], actor: Actor) -> None:
    """As `change_role` for each member of the account, whose memberships the caller has locked; owners stay. As many queries for
    a thousand members as for one, but for what they invited to. Raises UserError for the role of an owner."""
    changed = {
        row: role for row, role in roles.items() if row.role not in (Role.OWNER, Role.OWNER.value, role)
    }
    if Role.OWNER in changed.values():
        raise UserError("Transfer ownership in Settings → Account.", field="role")
    targets = []
    for role in set(changed.values()):
        rows = [row for row, each in changed.items() if each == role]
        Membership.objects.filter(pk__in=[row.pk for row in rows]).update(role=role)
        targets += [(row.user.email, {"from": row.role, "to": role}) for row in rows]
        for row in rows:
            row.role = role
    lowered = [row.user for row in changed if not row.may(Role.ADMIN)]
    withdraw_invitations_of(account=account, users=lowered, actor=actor)
    audit.record_each(account=account, actor=actor, action="member.change_role", targets=targets)


@transaction.atomic
def remove_member(*, membership: Membership, actor: Actor) -> None:
    """End a membership, whatever the person connected to the account, and her open invitations. Raises UserError for
    the owner."""
    _lock_below_owner(membership)
    keep_limit(membership)
    # First, since it waits for a consent under way, whose connection would otherwise be overlooked.
    membership.delete()
    disconnect_member(account=membership.account, user=membership.user, actor=actor)
    withdraw_invitations_of(account=membership.account, users=[membership.user], actor=actor)
    audit.record(
        account=membership.account,
        actor=actor,
        action="member.remove",
        target=membership.user.email,
        detail={},
    )


def dismiss_first_steps(*, membership: Membership) -> None:
    """Hide the first steps from a person in an account for good. Her own view alone, so the audit log has no entry."""
    membership.first_steps_dismissed_at = clock.now()
    membership.save(update_fields=["first_steps_dismissed_at"])
