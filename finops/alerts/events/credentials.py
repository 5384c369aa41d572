"""Check whether an event subscription's credential is still valid and has access to the whole account."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.audit import Actor
from accounts.credentials import Access, Credential, CredentialKind
from accounts.models import Membership
from finops.alerts.models import EventSubscription
from finops.cost_access.queries import limits_of_credential
from finops.lib import clock

GONE = "The credential was revoked, expired or lost its access."
LIMITED = "Cost access of the credential is limited."


def with_dead_credential(rows: QuerySet[EventSubscription]) -> QuerySet[EventSubscription]:
    """Return subscriptions whose key was revoked or expired, whose connection is deleted, or whose user left; and
    those of suspended accounts. A service account is no person: its connection stands alone."""
    member = Membership.objects.filter(
        account=OuterRef("account"), user=OuterRef("connection__user"), user__is_active=True
    )
    return rows.filter(
        Q(mcp_key=None, connection=None)
        | Q(mcp_key__revoked_at__isnull=False)
        | Q(mcp_key__expires_at__lte=clock.now())
        | (Q(connection__user__isnull=False) & ~Exists(member))
        | Q(connection__service_account__expires_at__lte=clock.now())
        | Q(account__suspended_at__isnull=False)
    )


def credential_problem(row: EventSubscription) -> str:
    """Return why the subscription gets no more events; empty while it does. Two queries."""
    # Unscoped: the row is given.
    if with_dead_credential(EventSubscription.objects.unscoped().filter(pk=row.pk)).exists():
        return GONE
    return LIMITED if limits_of_credential(_credential(row)) else ""


def _credential(row: EventSubscription) -> Credential:
    """As far as its limits of cost access depend on it."""
    connection = row.connection
    return Credential(
        kind=CredentialKind.OAUTH if connection else CredentialKind.MCP_KEY,
        id=row.connection_id or row.mcp_key_id or 0,
        account=row.account,
        access=Access.READ,
        label=row.credential_label,
        actor=Actor(label=row.credential_label, user=connection.user if connection else None),
    )
