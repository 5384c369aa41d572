"""Bearer tokens of the MCP server: each belongs to one account, and may read or read and write."""

from __future__ import annotations

import dataclasses
import enum

from accounts.audit import Actor
from accounts.keys import PREFIX, authenticate_mcp_key
from accounts.models import Account, MCPKey
from accounts.oauth.access import TokenUse, use_access_token
from accounts.oauth.clients import client_label


class Access(enum.StrEnum):
    READ = "read"
    READ_WRITE = "read_write"


class CredentialKind(enum.StrEnum):
    MCP_KEY = "mcp_key"
    OAUTH = "oauth"


@dataclasses.dataclass(frozen=True)
class Credential:
    """A verified credential. `id` with `kind` identifies the row; `label` may be shown and logged."""

    kind: CredentialKind
    id: int
    account: Account
    access: Access
    label: str
    actor: Actor

    @property
    def may_write(self) -> bool:
        return self.access is Access.READ_WRITE


def authenticate_bearer(token: str, *, client: str = "") -> Credential | None:
    """Return the credential of a bearer token and record its use; None for any other text. One statement at most."""
    if token.startswith(PREFIX):
        key = authenticate_mcp_key(token, client=client)
        return _of_key(key) if key is not None else None
    use = use_access_token(token, client=client)
    return _of_connection(use) if use is not None else None


def _of_key(key: MCPKey) -> Credential:
    return Credential(
        kind=CredentialKind.MCP_KEY,
        id=key.pk,
        account=key.account,
        access=Access(key.scope),
        label=f"{key.name} ({key.masked_key})",
        actor=Actor.of_key(key),
    )


def _of_connection(use: TokenUse) -> Credential:
    connection = use.connection
    label = f"service account {use.service_account}"
    if connection.user is not None:
        label = f"{connection.user.email} by {client_label(connection.application)}"
    return Credential(
        kind=CredentialKind.OAUTH,
        id=connection.pk,
        account=connection.account,
        access=Access.READ_WRITE if use.may_write else Access.READ,
        label=label,
        actor=Actor(label=label, user=connection.user, made_by=use.created_by_id),
    )
