"""The whole path: discovery, registration, consent, tokens, the MCP endpoint."""

from __future__ import annotations

from tests.accounts.oauth.flow import OAuthClient, mcp_status, tokens_of
from tests.cast import Cast


def test_a_person_connects_a_client_without_copying_a_key(cast: Cast) -> None:
    client = OAuthClient()

    tokens = client.connect(cast.member)

    assert (tokens.scope, tokens.expires_in) == ("mcp:read", 3600)
    assert mcp_status(tokens.access) == 200


def test_a_client_that_sends_no_resource_and_no_scope_of_ours_alone_connects_and_refreshes(
    cast: Cast,
) -> None:
    client = OAuthClient()
    code = client.code(cast.member, access="read_write", resource=None, scope="openid mcp:write email")

    first = tokens_of(client.exchange(code, resource=None))
    second = tokens_of(client.refresh(first.refresh, resource=None, scope=""))

    assert (first.scope, second.scope) == ("mcp:read mcp:write", "mcp:read mcp:write")
    assert mcp_status(second.access) == 200


def test_a_refresh_gives_a_new_pair_that_works(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member, access="read_write")

    second = tokens_of(client.refresh(first.refresh))

    assert second.scope == "mcp:read mcp:write"
    assert second.access != first.access
    assert second.refresh != first.refresh
    assert mcp_status(second.access) == 200
