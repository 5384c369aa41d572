"""The whole path: discovery, registration, consent, tokens, the MCP door."""

from __future__ import annotations

from tests.accounts.oauth.flow import OAuthClient, status_at_door, tokens_of
from tests.cast import Cast


def test_a_person_connects_a_client_without_copying_a_key(cast: Cast) -> None:
    client = OAuthClient()

    tokens = client.connect(cast.member)

    assert (tokens.scope, tokens.expires_in) == ("mcp:read", 3600)
    assert status_at_door(tokens.access) == 200


def test_a_refresh_gives_a_new_pair_that_works(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member, access="read_write")

    second = tokens_of(client.refresh(first.refresh))

    assert second.scope == "mcp:read mcp:write"
    assert second.access != first.access
    assert second.refresh != first.refresh
    assert status_at_door(second.access) == 200
