"""The credentials, one entry each: how one is come by and shown, which places it opens, where else it is special.

A new kind of credential joins the matrix by an entry here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from django.test import Client
from joserfc import jwt
from joserfc.jwk import RSAKey

from accounts.keys import new_secret, revoke_mcp_key
from accounts.models import MCPKey, OAuthConnection, ServiceAccount
from accounts.oauth.resource import issuer, resource
from accounts.oauth.service_accounts import create_service_account, delete_service_account
from accounts.oauth.services import disconnect
from accounts.sso.models import ScimToken
from accounts.sso.scim.tokens import create_scim_token, revoke_scim_token
from finops.change_events.models import EventKey
from finops.change_events.services.keys import generate_event_key, regenerate_event_key, revoke_event_key
from finops.change_events.services.sources import create_event_source
from finops.connections.models import CostKey
from finops.connections.services.cost_keys import (
    create_pushed_source,
    regenerate_cost_key,
    revoke_cost_key,
)
from ingestion.models import UsageKey
from ingestion.services import (
    create_usage_source,
    generate_usage_key,
    regenerate_usage_key,
    revoke_usage_key,
)
from tests.accounts.oauth.flow import OAuthClient, json_of, token_request
from tests.accounts.sso.scim.client import add_provider
from tests.cast import Cast
from tests.credentials.endpoints import ASKS_FOR_MORE, PROVIDER_ID, Headers, Outcome
from tests.mcpserver.mcp_client import mint

Show = Callable[[Cast, Client], Headers]

STEP_UP = Outcome(status=403, challenge=ASKS_FOR_MORE, says="rename needs read/write access")
MAY_ONLY_READ_OVER_REST = Outcome(status=403, says="is read-only. Nothing was changed.")
MAY_ONLY_READ = Outcome(status=200, says="is read-only. Nothing was changed.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """`used` is the table in which its endpoints note the use. A session is no bearer token: endpoints of tokens see none."""

    show: Show
    opens: tuple[str, ...] = ()
    special: Mapping[str, Outcome] = dataclasses.field(default_factory=dict)
    used: str = ""
    is_token: bool = True


def bearer(token: str) -> Headers:
    return {"authorization": f"Bearer {token}"}


def usage_key(cast: Cast) -> tuple[UsageKey, str]:
    source = create_usage_source(account=cast.account, actor=cast.actor, name="Backend")
    return generate_usage_key(source=source, actor=cast.actor)


def cost_key(cast: Cast) -> tuple[CostKey, str]:
    _source, key, plaintext = create_pushed_source(account=cast.account, actor=cast.actor, name="LiteLLM")
    return key, plaintext


def event_key(cast: Cast) -> tuple[EventKey, str]:
    source = create_event_source(account=cast.account, actor=cast.actor, name="Pipeline")
    return generate_event_key(source=source, actor=cast.actor)


def access_token(cast: Cast, access: str) -> str:
    return OAuthClient().connect(cast.member, access=access).access


def service_account_token(cast: Cast, access: str) -> str:
    row, secret = create_service_account(
        account=cast.account, actor=cast.actor, name="CI agent", access=access
    )
    client_id = row.connection.application.client_id
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    token: str = json_of(token_request(form))["access_token"]
    return token


def _token_of_a_deleted_service_account(cast: Cast, client: Client) -> Headers:
    token = service_account_token(cast, "read_write")
    delete_service_account(service_account=ServiceAccount.objects.unscoped().get(), actor=cast.actor)
    return bearer(token)


def _assertion() -> str:
    """Made for the token endpoint, which alone takes it."""
    claims = {"iss": "https://idp.example.com", "sub": "1", "aud": issuer(), "resource": resource()}
    return jwt.encode({"alg": "RS256", "typ": "oauth-id-jag+jwt"}, claims, RSAKey.generate_key(2048))


def scim_token(cast: Cast, provider_id: str = PROVIDER_ID) -> tuple[ScimToken, str]:
    provider = add_provider(cast.account, "example.com", public_id=provider_id)
    return create_scim_token(provider=provider, actor=cast.actor)


def _revoked_scim_token(cast: Cast, client: Client) -> Headers:
    row, token = scim_token(cast)
    revoke_scim_token(token=row, actor=cast.actor)
    return bearer(token)


def _scim_token_of_another_provider(cast: Cast, client: Client) -> Headers:
    scim_token(cast)
    other = add_provider(cast.other_account, "other.com")
    return bearer(create_scim_token(provider=other, actor=cast.other_actor)[1])


def _disconnected_token(cast: Cast, client: Client) -> Headers:
    token = access_token(cast, "read_write")
    disconnect(connection=OAuthConnection.objects.unscoped().get(), actor=cast.actor)
    return bearer(token)


def _session(cast: Cast, client: Client) -> Headers:
    client.force_login(cast.member)
    return {}


def _revoked_mcp_key(cast: Cast, client: Client) -> Headers:
    token = mint(cast, "read_write")
    revoke_mcp_key(key=MCPKey.objects.unscoped().get(), actor=cast.actor)
    return bearer(token)


def _revoked_usage_key(cast: Cast, client: Client) -> Headers:
    key, token = usage_key(cast)
    revoke_usage_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _replaced_usage_key(cast: Cast, client: Client) -> Headers:
    key, token = usage_key(cast)
    regenerate_usage_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _revoked_cost_key(cast: Cast, client: Client) -> Headers:
    key, token = cost_key(cast)
    revoke_cost_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _replaced_cost_key(cast: Cast, client: Client) -> Headers:
    key, token = cost_key(cast)
    regenerate_cost_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _revoked_event_key(cast: Cast, client: Client) -> Headers:
    key, token = event_key(cast)
    revoke_event_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _replaced_event_key(cast: Cast, client: Client) -> Headers:
    key, token = event_key(cast)
    regenerate_event_key(source=key.source, actor=cast.actor)
    return bearer(token)


def _session_and_garbage(cast: Cast, client: Client) -> Headers:
    return {**_session(cast, client), **bearer("garbage")}


ENTRIES: dict[str, Entry] = {
    "none": Entry(show=lambda cast, client: {}, is_token=False),
    "garbage": Entry(show=lambda cast, client: bearer("garbage")),
    "session cookie": Entry(show=_session, opens=("page", "page's form"), is_token=False),
    "session cookie and garbage": Entry(show=_session_and_garbage, opens=("page", "page's form")),
    "MCP key, read": Entry(
        show=lambda cast, client: bearer(mint(cast)),
        opens=("initialize", "tools/list", "read tool", "REST read tool"),
        special={"write tool": MAY_ONLY_READ, "REST write tool": MAY_ONLY_READ_OVER_REST},
        used="accounts_mcpkey",
    ),
    "MCP key, read/write": Entry(
        show=lambda cast, client: bearer(mint(cast, "read_write")),
        opens=("initialize", "tools/list", "read tool", "write tool", "REST read tool", "REST write tool"),
        used="accounts_mcpkey",
    ),
    "MCP key, revoked": Entry(show=_revoked_mcp_key),
    "MCP key, never minted": Entry(show=lambda cast, client: bearer(new_secret("fmcp_")[0])),
    "OAuth token, read": Entry(
        show=lambda cast, client: bearer(access_token(cast, "read")),
        opens=("initialize", "tools/list", "read tool", "REST read tool"),
        special={"write tool": STEP_UP, "REST write tool": STEP_UP},
        used="accounts_oauthconnection",
    ),
    "OAuth token, read/write": Entry(
        show=lambda cast, client: bearer(access_token(cast, "read_write")),
        opens=("initialize", "tools/list", "read tool", "write tool", "REST read tool", "REST write tool"),
        used="accounts_oauthconnection",
    ),
    "OAuth token, disconnected": Entry(show=_disconnected_token),
    "OAuth refresh token": Entry(
        show=lambda cast, client: bearer(OAuthClient().connect(cast.member).refresh)
    ),
    "service account token, read": Entry(
        show=lambda cast, client: bearer(service_account_token(cast, "read")),
        opens=("initialize", "tools/list", "read tool", "REST read tool"),
        special={"write tool": STEP_UP, "REST write tool": STEP_UP},
        used="accounts_oauthconnection",
    ),
    "service account token, read/write": Entry(
        show=lambda cast, client: bearer(service_account_token(cast, "read_write")),
        opens=("initialize", "tools/list", "read tool", "write tool", "REST read tool", "REST write tool"),
        used="accounts_oauthconnection",
    ),
    "service account token, deleted": Entry(show=_token_of_a_deleted_service_account),
    "service account secret": Entry(show=lambda cast, client: bearer(new_secret("fsas_")[0])),
    "identity assertion": Entry(show=lambda cast, client: bearer(_assertion())),
    "SCIM token": Entry(
        show=lambda cast, client: bearer(scim_token(cast)[1]), opens=("SCIM",), used="sso_scimtoken"
    ),
    "SCIM token, revoked": Entry(show=_revoked_scim_token),
    "SCIM token of another provider": Entry(show=_scim_token_of_another_provider),
    "SCIM token, never created": Entry(show=lambda cast, client: bearer(new_secret("fscm_")[0])),
    "usage key": Entry(
        show=lambda cast, client: bearer(usage_key(cast)[1]),
        opens=("push", "CloudEvents", "CloudEvents as OpenMeter", "OTLP metrics"),
        used="ingestion_usagekey",
    ),
    "usage key, revoked": Entry(show=_revoked_usage_key),
    "usage key, replaced": Entry(show=_replaced_usage_key),
    "event key": Entry(
        show=lambda cast, client: bearer(event_key(cast)[1]),
        opens=("change events",),
        used="change_events_eventkey",
    ),
    "event key, revoked": Entry(show=_revoked_event_key),
    "event key, replaced": Entry(show=_replaced_event_key),
    "event key, never generated": Entry(show=lambda cast, client: bearer(new_secret("fevt_")[0])),
    "cost key": Entry(
        show=lambda cast, client: bearer(cost_key(cast)[1]), opens=("cost push",), used="connections_costkey"
    ),
    "cost key, revoked": Entry(show=_revoked_cost_key),
    "cost key, replaced": Entry(show=_replaced_cost_key),
    "cost key, never generated": Entry(show=lambda cast, client: bearer(new_secret("fcst_")[0])),
    "usage key, never generated": Entry(show=lambda cast, client: bearer(new_secret("fuse_")[0])),
}
