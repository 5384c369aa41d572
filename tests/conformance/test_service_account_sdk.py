"""The Python SDK's client credentials provider against a real server process: no person, no browser."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from tests.conformance.requirements import requirement
from tests.servers import LiveServer

READ_TOOLS = {"echo", "amounts", "sly", "slow", "broken", "picky"}

pytestmark = pytest.mark.xdist_group("mcp-clients")


class Storage:
    """What the SDK keeps for a client."""

    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("a service account registers nowhere")


def create(access: str, keys: str = "") -> list[str]:
    """In the server's process: the client ID and secret of a new service account; with keys an empty secret."""
    from accounts.models import Account
    from accounts.oauth.service_accounts import create_service_account
    from tests.cast import ACTOR

    row, secret = create_service_account(
        account=Account.objects.get(slug="acme"),
        actor=ACTOR,
        name=secrets.token_hex(4),
        access=access,
        keys=keys,
    )
    return [row.connection.application.client_id, secret]


def run_session(server: LiveServer, access: str, method: str, mode: str) -> tuple[Storage, set[str], Any]:
    client_id, secret = server.run("tests.conformance.test_service_account_sdk:create", access)
    storage = Storage()
    provider = ClientCredentialsOAuthProvider(
        server_url=server.mcp_url,
        storage=storage,
        client_id=client_id,
        client_secret=secret,
        token_endpoint_auth_method=method,  # type: ignore[arg-type]
        issuer=server.url,
    )
    return storage, *run(server, provider, mode)


def run(server: LiveServer, provider: OAuthClientProvider, mode: str) -> tuple[set[str], Any]:
    """The tools that the client sees, and the answer of one."""

    async def session() -> tuple[set[str], Any]:
        async with (
            create_mcp_http_client(auth=provider) as http,
            Client(streamable_http_client(server.mcp_url, http_client=http), mode=mode, cache=None) as client,
        ):
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, await client.call_tool("echo", {})

    return asyncio.run(session())


@requirement("clients:oauth")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_the_sdk_gets_a_token_by_itself_and_calls_a_tool(
    oauth_server: LiveServer, method: str, mode: str
) -> None:
    storage, tools, answer = run_session(oauth_server, "read", method, mode)

    assert tools == READ_TOOLS
    assert answer.structured_content["account"] == "acme"
    assert storage.tokens is not None
    assert storage.tokens.scope == "mcp:read"
    assert storage.tokens.refresh_token is None


@requirement("clients:oauth")
def test_a_service_account_with_write_access_sees_the_tools_that_write(oauth_server: LiveServer) -> None:
    _storage, tools, _answer = run_session(oauth_server, "read_write", "client_secret_basic", "2026-07-28")

    assert tools == {*READ_TOOLS, "rename"}


@requirement("clients:oauth")
@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_the_sdk_gets_a_token_by_a_jwt_that_it_signs(oauth_server: LiveServer, algorithm: str) -> None:
    keys: dict[str, Any] = {
        "RS256": lambda: rsa.generate_private_key(65537, 2048),
        "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate,
    }
    key, storage = keys[algorithm](), Storage()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    client_id, secret = oauth_server.run(
        "tests.conformance.test_service_account_sdk:create", "read_write", public.decode()
    )
    signer = SignedJWTParameters(
        issuer=client_id, subject=client_id, signing_key=private.decode(), signing_algorithm=algorithm
    )
    provider = PrivateKeyJWTOAuthProvider(
        server_url=oauth_server.mcp_url,
        storage=storage,
        client_id=client_id,
        assertion_provider=signer.create_assertion_provider(),
        issuer=oauth_server.url,
    )

    tools, answer = run(oauth_server, provider, "2026-07-28")

    assert (secret, tools) == ("", {*READ_TOOLS, "rename"})
    assert answer.structured_content["account"] == "acme"
    assert storage.tokens is not None
    assert storage.tokens.scope == "mcp:read mcp:write"
