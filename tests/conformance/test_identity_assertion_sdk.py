"""The Python SDK's provider of identity assertions (ID-JAG) against a real server process and a real identity provider."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator

import pytest
from mcp import Client
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from finops.lib import clock
from tests.accounts.sso.providers import Server, add_oidc, oidc_server
from tests.conformance.requirements import requirement
from tests.conformance.test_service_account_sdk import READ_TOOLS, Storage
from tests.servers import LiveServer

pytestmark = pytest.mark.xdist_group("mcp-clients")


@pytest.fixture(scope="module")
def identity_provider() -> Iterator[Server]:
    with oidc_server() as server:
        yield server


def add_client(issuer: str) -> list[str]:
    """In the server's process: the client ID and secret of a client of Acme's provider, by which the member signed in."""
    from accounts.models import Account, User
    from accounts.sso.assertion_clients import add_assertion_client
    from accounts.sso.models import Identity
    from tests.cast import ACTOR

    account = Account.objects.get(slug="acme")
    provider = add_oidc(account, Server(issuer), f"{secrets.token_hex(4)}.test", name=secrets.token_hex(4))
    user = User.objects.get(email="member@example.com")
    provider.domains.update(domain="example.com")
    Identity.objects.create(provider=provider, subject="7", user=user)
    row, secret = add_assertion_client(provider=provider, actor=ACTOR, name="SDK", access="read_write")
    return [row.application.client_id, secret]


@requirement("clients:oauth")
def test_the_sdk_shows_an_assertion_of_the_provider_and_calls_a_tool(
    oauth_server: LiveServer, identity_provider: Server
) -> None:
    client_id, secret = oauth_server.run(
        "tests.conformance.test_identity_assertion_sdk:add_client", identity_provider.url
    )
    storage = Storage()

    async def sign(audience: str, resource: str) -> str:
        now = int(clock.now().timestamp())
        claims = {
            "iss": identity_provider.url,
            "sub": "7",
            "aud": audience,
            "resource": resource,
            "client_id": client_id,
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + 300,
            "scope": "mcp:read",
        }
        return await asyncio.to_thread(identity_provider.sign, claims)

    async def session() -> set[str]:
        provider = IdentityAssertionOAuthProvider(
            server_url=oauth_server.mcp_url,
            storage=storage,
            client_id=client_id,
            client_secret=secret,
            issuer=oauth_server.url,
            assertion_provider=sign,
        )
        async with (
            create_mcp_http_client(auth=provider) as http,
            Client(
                streamable_http_client(oauth_server.mcp_url, http_client=http), mode="2026-07-28", cache=None
            ) as client,
        ):
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asyncio.run(session()) == READ_TOOLS
    assert storage.tokens is not None
    assert (storage.tokens.scope, storage.tokens.refresh_token) == ("mcp:read", None)
