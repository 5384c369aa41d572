"""Reads on connections."""

from __future__ import annotations

import enum
from datetime import datetime, timedelta

import msgspec
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import (
    Account,
    Membership,
    OAuthAccessToken,
    OAuthConnection,
    OAuthGrant,
    OAuthRefreshToken,
    Role,
    ServiceAccount,
    User,
)
from accounts.oauth.clients import host_of_client
from accounts.oauth.provider import REFRESH_TOKEN_IDLE_SECONDS
from accounts.sso.models import AssertionClient
from finops.lib import clock

THIS_DEVICE = "A program on a device"


class State(enum.StrEnum):
    CONNECTED = "connected"
    WAITING = "waiting"
    ENDED = "ended"


_STATES = {State.CONNECTED: "Connected", State.WAITING: "Not finished", State.ENDED: "Expired"}


class ConnectedApp(msgspec.Struct, frozen=True, kw_only=True):
    """An app that a person connected to an account. `name` is the client's own name; `host` vouches for the client,
    or is empty.

    A service account has the name that members gave it and no person; `provider` is the identity provider that
    authorizes the client. `access` is the access of the consent; `reads_only_now` is True if the person's role has
    allowed less since then.
    """

    id: int
    host: str
    name: str
    client_id: str
    account: str
    person: str
    person_id: int | None
    access: OAuthConnection.Access
    reads_only_now: bool
    connected_at: datetime
    last_used_at: datetime | None
    last_client: str
    state: State
    service_account: str = ""
    provider: str = ""

    @property
    def title(self) -> str:
        return self.service_account or (self.provider and self.name) or self.host or THIS_DEVICE

    @property
    def access_label(self) -> str:
        return str(self.access.label)

    @property
    def state_label(self) -> str:
        return _STATES[self.state]


def connected_apps(account: Account, *, of: User | None = None) -> list[ConnectedApp]:
    """Return the connections to an account, of one person or of all members, newest first. One query."""
    rows = _with_state(OAuthConnection.objects.filter(account=account))
    if of is not None:
        rows = rows.filter(user=of)
    return [_app(row, account) for row in rows]


def service_accounts(account: Account) -> list[ServiceAccount]:
    """Return the service accounts of an account with their connections, newest first. One query."""
    rows = ServiceAccount.objects.filter(account=account)
    return list(rows.select_related("connection__application"))


def _with_state(rows: QuerySet[OAuthConnection]) -> QuerySet[OAuthConnection]:
    now, own = clock.now(), {"connection": OuterRef("pk")}
    idle = now - timedelta(seconds=REFRESH_TOKEN_IDLE_SECONDS)
    role = Membership.objects.filter(account=OuterRef("account"), user=OuterRef("user"))
    return rows.select_related("user", "service_account", "application__assertion_client__provider").annotate(
        refreshable=Exists(OAuthRefreshToken.objects.filter(**own, revoked=None, created__gt=idle)),
        usable=Exists(OAuthAccessToken.objects.filter(**own, expires__gt=now)),
        waiting=Exists(OAuthGrant.objects.filter(**own, used_at=None)),
        role=role.values("role")[:1],
    )


def _app(row: OAuthConnection, account: Account) -> ConnectedApp:
    access = OAuthConnection.Access(row.access)
    role: str | None = vars(row)["role"]
    service_account: ServiceAccount | None = getattr(row, "service_account", None)
    client: AssertionClient | None = getattr(row.application, "assertion_client", None)
    return ConnectedApp(
        id=row.pk,
        host=host_of_client(row.application, row.redirect_uri),
        name=row.application.name,
        client_id=row.application.client_id,
        account=account.name,
        person=row.user.label if row.user else "",
        person_id=row.user_id,
        access=access,
        reads_only_now=row.user_id is not None
        and access == OAuthConnection.Access.READ_WRITE
        and not (role and Role(role).at_least(Role.MEMBER)),
        connected_at=row.created_at,
        last_used_at=row.last_used_at,
        last_client=row.last_client,
        state=_state(row, service_account, client),
        service_account=service_account.name if service_account else "",
        provider=client.provider.name if client else "",
    )


def _state(
    row: OAuthConnection, service_account: ServiceAccount | None, client: AssertionClient | None
) -> State:
    columns = vars(row)
    if client is not None:
        return State.CONNECTED
    if service_account is not None:
        return State.ENDED if service_account.is_expired else State.CONNECTED
    if columns["refreshable"] or columns["usable"]:
        return State.CONNECTED
    return State.WAITING if columns["waiting"] else State.ENDED
