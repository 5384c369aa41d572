"""Writes on memberships."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.creations import creations_of, reassign
from accounts.keys import revoke_mcp_key
from accounts.models import Account, MCPKey, Membership, Role, User
from accounts.oauth.services import disconnect_member
from accounts.reader_limits import keep_limit, narrow_creations
from accounts.services.invitations import withdraw_invitations_of
from finops.lib import clock
from finops.lib.errors import UserError


@transaction.atomic
def add_member(*, account: Account, user: User, role: str, actor: Actor) -> Membership:
    """Add a member without an invitation, for commands only: pages invite. Raises ValidationError for an existing member."""
    membership = Membership(account=account, user=user, role=role)
    membership.full_clean()
    membership.save(force_insert=True)
    audit.record(
        account=account, actor=actor, action="member.add", target=user.email, detail={"role": membership.role}
    )
    return membership


def _lock_below_owner(membership: Membership) -> None:
    """Lock a membership. Raises UserError for the account's owner, also for a person who became owner a moment ago."""
    row = Membership.objects.select_for_update().get(pk=membership.pk)
    if row.role == Role.OWNER:
        raise UserError("The owner cannot be removed. Transfer ownership first.", field="role")


@transaction.atomic
def change_role(*, membership: Membership, role: str, actor: Actor) -> None:
    """Give a member another role below owner. Where a limit counts with that role, what the member made is limited too.
    Raises UserError for the owner, and for the role owner: ownership is transferred by offer and acceptance
    (accounts.services.ownership)."""
    if role == Role.OWNER:
        raise UserError("Transfer ownership in Settings → Account.", field="role")
    _lock_below_owner(membership)
    before = membership.role
    membership.role = role
    membership.full_clean()
    membership.save(update_fields=["role"])
    if not membership.may(Role.ADMIN):
        withdraw_invitations_of(account=membership.account, users=[membership.user], actor=actor)
    narrow_creations(membership.account, [membership], actor)
    audit.record(
        account=membership.account,
        actor=actor,
        action="member.change_role",
        target=membership.user.email,
        detail={"from": before, "to": role},
    )


@transaction.atomic
def change_roles(*, account: Account, roles: Mapping[Membership, Role], actor: Actor) -> None:
    """Change roles as `change_role` does for each member of the account, whose memberships the caller has locked; owners
    stay. The number of queries is constant except for withdrawn invitations. Raises UserError for the role of an owner."""
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
    narrow_creations(account, list(changed), actor)
    audit.record_each(account=account, actor=actor, action="member.change_role", targets=targets)


@transaction.atomic
def remove_member(*, membership: Membership, actor: Actor, heir: Membership | None = None) -> None:
    """Delete a membership with the person's connections and open invitations, and revoke the MCP keys that the person
    created.

    With an `heir` the keys, and everything else that the person created, become the heir's and get the heir's limit of
    cost access. Raises UserError for the owner, and for an heir who may not manage keys of the account.
    """
    account, user = membership.account, membership.user
    _lock_below_owner(membership)
    keep_limit(membership)
    if heir is not None:
        _hand_over(membership, heir, actor)
    # First, since it waits for a concurrent consent, whose connection would otherwise be missed.
    membership.delete()
    revoked = [each for each in creations_of(account, [user.pk]) if isinstance(each.row, MCPKey)]
    for each in revoked:
        revoke_mcp_key(key=each.row, actor=actor, reason="no longer a member")
    disconnect_member(account=account, user=user, actor=actor)
    withdraw_invitations_of(account=account, users=[user], actor=actor)
    audit.record(
        account=account,
        actor=actor,
        action="member.remove",
        target=user.email,
        detail={"handed_over_to": heir.user.email} if heir else {"revoked": [each.name for each in revoked]},
    )


def _hand_over(membership: Membership, heir: Membership, actor: Actor) -> None:
    account = membership.account
    row = Membership.objects.select_for_update().filter(pk=heir.pk, account=account).first()
    if row is None or row.pk == membership.pk or not row.may(Role.MEMBER):
        raise UserError("Choose another member, admin or owner of the account.", field="heir")
    creations = reassign(account, user=membership.user, heir=heir.user)
    audit.record_each(
        account=account,
        actor=actor,
        action="member.hand_over",
        targets=[
            (
                each.name,
                {"kind": each.noun, "id": each.row.pk, "from": membership.user.email, "to": heir.user.email},
            )
            for each in creations
        ],
    )
    narrow_creations(account, [row], actor)


def dismiss_first_steps(*, membership: Membership) -> None:
    """Hide the first steps from a person for good. Changes only that person's view, so the audit log has no entry."""
    membership.first_steps_dismissed_at = clock.now()
    membership.save(update_fields=["first_steps_dismissed_at"])
