"""The Python SDK's own OAuth client against a real server process: from no token at all to an answer."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from tests.accounts.oauth.documents import Documents
from tests.conformance.person import Person, authorization_response
from tests.conformance.requirements import requirement
from tests.servers import LiveServer

T = TypeVar("T")
CALLBACK = "http://127.0.0.1:9876/callback"
READ_TOOLS = {"echo", "amounts", "sly", "slow", "broken", "picky"}

pytestmark = pytest.mark.xdist_group("mcp-clients")


@dataclasses.dataclass
class Connector:
    """The client's side: it keeps its tokens, and asks the person each time it needs her."""

    server: LiveServer
    person: Person
    answers: dict[str, str]
    client_metadata_url: str | None = None
    asked: list[str] = dataclasses.field(default_factory=list)
    came_back: list[str] = dataclasses.field(default_factory=list)
    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None
    provider: OAuthClientProvider = dataclasses.field(init=False)

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info

    async def _ask(self, url: str) -> None:
        self.asked.append(url)
        self.came_back.append(await asyncio.to_thread(self.person.answer, url, **self.answers))

    async def _answer(self) -> AuthorizationCodeResult:
        response = authorization_response(self.came_back[-1])
        return AuthorizationCodeResult(
            code=response.get("code", ""), state=response["state"], iss=response["iss"]
        )

    def run_session(self, then: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
        async def session() -> T:
            self.provider = OAuthClientProvider(
                server_url=self.server.mcp_url,
                client_metadata=OAuthClientMetadata(
                    client_name="SDK tests",
                    redirect_uris=[AnyUrl(CALLBACK)],
                    grant_types=["authorization_code", "refresh_token"],
                    response_types=["code"],
                ),
                storage=self,
                redirect_handler=self._ask,
                callback_handler=self._answer,
                client_metadata_url=self.client_metadata_url,
            )
            async with (
                create_mcp_http_client(auth=self.provider) as http,
                Client(
                    streamable_http_client(self.server.mcp_url, http_client=http), mode=mode, cache=None
                ) as client,
            ):
                return await then(client)

        return asyncio.run(session())


def connector(server: LiveServer, name: str = "member", **answers: str) -> Connector:
    return Connector(server, Person(f"{name}@example.com"), answers)


async def tools(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@requirement("clients:oauth")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_client_that_registers_itself_connects_to_read(oauth_server: LiveServer, mode: str) -> None:
    client = connector(oauth_server)

    assert client.run_session(tools, mode) == READ_TOOLS

    assert client.tokens is not None
    assert client.tokens.scope == "mcp:read"
    assert client.tokens.refresh_token
    assert len(client.asked) == 1


@requirement("clients:oauth")
def test_read_and_write_chosen_at_the_first_consent_shows_the_tools_that_write(
    oauth_server: LiveServer,
) -> None:
    client = connector(oauth_server, access="read_write")

    assert client.run_session(tools) == {*READ_TOOLS, "rename"}

    assert client.tokens is not None
    assert client.tokens.scope == "mcp:read mcp:write"


@requirement("clients:oauth")
def test_a_client_is_known_by_its_metadata_document(
    oauth_server: LiveServer, client_documents: Documents
) -> None:
    client = connector(oauth_server)
    client.client_metadata_url = client_documents.publish(
        "/client.json",
        {
            "client_name": "Documented",
            "redirect_uris": ["http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        },
    )

    assert client.run_session(tools) == READ_TOOLS

    assert client.info is not None
    assert client.info.client_id == client.client_metadata_url
    assert any("client.example" in page.text and "Documented" in page.text for page in client.person.pages)


@requirement("clients:oauth")
def test_a_refused_write_steps_up_and_then_works(oauth_server: LiveServer) -> None:
    client = connector(oauth_server)
    client.run_session(tools)
    client.answers = {"access": "read_write"}

    async def rename(session: Client) -> Any:
        return await session.call_tool("rename", {"name": "Acme & Sons"})

    result = client.run_session(rename)

    assert not result.is_error
    assert result.structured_content["summary"] == "Now it is Acme & Sons."
    assert len(client.asked) == 2
    assert client.tokens is not None
    assert client.tokens.scope == "mcp:read mcp:write"


@requirement("clients:oauth")
def test_a_step_up_offers_the_account_of_before(oauth_server: LiveServer) -> None:
    client = connector(oauth_server, "both", account="elsewhere")
    client.run_session(tools)
    client.answers = {}

    async def which(session: Client) -> Any:
        return (await session.call_tool("echo", {})).structured_content

    client.tokens = None

    assert client.run_session(which)["account"] == "elsewhere"


@requirement("clients:oauth")
def test_a_viewer_is_not_offered_to_write(oauth_server: LiveServer) -> None:
    client = connector(oauth_server, "viewer")

    assert client.run_session(tools) == READ_TOOLS

    assert client.person.offered()["access"] == ["read"]


@requirement("clients:oauth")
def test_an_expired_token_is_refreshed_without_the_person(oauth_server: LiveServer) -> None:
    client = connector(oauth_server)
    tokens: list[OAuthToken] = []

    async def stay_for_longer_than_an_hour(session: Client) -> set[str]:
        assert await tools(session) == READ_TOOLS
        assert client.tokens is not None
        tokens.append(client.tokens)
        await asyncio.to_thread(oauth_server.run, "tests.conformance.test_oauth_sdk:expire_access_tokens")
        client.provider.context.token_expiry_time = 1.0
        return await tools(session)

    assert client.run_session(stay_for_longer_than_an_hour) == READ_TOOLS

    assert client.tokens is not None
    assert client.tokens.refresh_token != tokens[0].refresh_token
    assert len(client.asked) == 1


@requirement("clients:oauth")
def test_a_person_who_declines_is_taken_at_her_word(oauth_server: LiveServer) -> None:
    client = connector(oauth_server, decision="deny")

    with pytest.raises(ExceptionGroup):
        client.run_session(tools)

    (back,) = client.came_back
    assert authorization_response(back)["error"] == "access_denied"
    assert authorization_response(back)["iss"] == oauth_server.url
    assert client.tokens is None


def expire_access_tokens() -> None:
    """In the server's process."""
    from accounts.models import OAuthAccessToken
    from finops.lib import clock

    OAuthAccessToken.objects.update(expires=clock.now())
