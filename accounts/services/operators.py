"""Operators' writes on people: the operator role, and the end of a person's access."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.keys import revoke_mcp_key
from accounts.models import Account, MCPKey, OAuthConnection, SecurityEvent, ServiceAccount, Session, User
from accounts.oauth.service_accounts import delete_service_account
from accounts.oauth.services import disconnect
from accounts.security.known_devices import forget_devices
from finops.lib import clock
from finops.lib.errors import UserError

VISIT: Final = timedelta(hours=1)


@dataclass(frozen=True)
class EndedAccess:
    """The counts of ended sessions, apps, and keys with service accounts."""

    sessions: int
    connections: int
    keys: int


@transaction.atomic
def end_access(*, user: User, actor: Actor) -> EndedAccess:
    """End every session and connected app of a person, and the MCP keys and service accounts that they created: at once, everywhere. The person
    can sign in again. Recorded in their security log and in the audit log of each of their accounts."""
    sessions, _of_models = Session.objects.filter(user=user).delete()
    forget_devices(user)
    # Unscoped: of all the person's accounts.
    connections = list(OAuthConnection.objects.unscoped().filter(user=user))
    for connection in connections:
        disconnect(connection=connection, actor=actor, reason="by the operator")
    keys = list(MCPKey.objects.unscoped().filter(created_by=user, revoked_at=None).select_related("account"))
    for key in keys:
        revoke_mcp_key(key=key, actor=actor)
    service_accounts = list(ServiceAccount.objects.unscoped().filter(created_by=user))
    for service_account in service_accounts:
        delete_service_account(service_account=service_account, actor=actor, reason="by the operator")
    SecurityEvent.objects.create(
        user=user, kind=SecurityEvent.Kind.END_SESSION, detail=f"all {sessions}, by the operator"
    )
    for account in Account.objects.filter(memberships__user=user):
        audit.record(account=account, actor=actor, action="user.end_access", target=user.email)
    return EndedAccess(sessions, len(connections), len(keys) + len(service_accounts))


@transaction.atomic
def allow_visit(*, account: Account, actor: Actor) -> datetime:
    """Record in the account's audit log that an operator visits it, read-only, and return when the visit ends."""
    until = clock.now() + VISIT
    audit.record(
        account=account,
        actor=actor,
        action="account.visit",
        target=account.name,
        detail={"until": until.isoformat(timespec="seconds"), "access": "read-only"},
    )
    return until


@transaction.atomic
def change_operator_role(*, user: User, may_look: bool, may_act: bool, actor: Actor) -> None:
    """Allow a person to view the admin console, act there too, or neither. Raises UserError for the actor's own role."""
    row = User.objects.select_for_update().get(pk=user.pk)
    if actor.user is not None and actor.user.pk == row.pk:
        raise UserError("You cannot change your own role. Ask another operator.")
    row.is_staff, row.is_superuser = may_look or may_act, may_act
    row.save(update_fields=["is_staff", "is_superuser"])
