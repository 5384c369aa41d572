"""POST /oauth/revoke, and disconnecting: whatever ends a connection ends every token of it at once."""

from __future__ import annotations

import pytest

from accounts.models import OAuthConnection, OAuthGrant, OAuthRefreshToken
from accounts.oauth.services import disconnect
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, token_request, tokens_of
from tests.cast import Cast


@pytest.mark.parametrize("kind", ["access", "refresh"])
@pytest.mark.parametrize("hint", [None, "access_token", "refresh_token", "nonsense"])
def test_a_client_that_revokes_a_token_ends_its_connection(cast: Cast, kind: str, hint: str | None) -> None:
    client = OAuthClient()
    tokens, other = client.connect(cast.member), client.connect(cast.member)

    answer = client.revoke(getattr(tokens, kind), **({"token_type_hint": hint} if hint else {}))

    assert answer.status_code == 200
    assert [mcp_status(tokens.access), mcp_status(other.access)] == [401, 200]
    assert client.refresh(tokens.refresh).status_code == 400


@pytest.mark.parametrize("token", ["unknown", "foat_" + "a" * 43, "fort_" + "a" * 43, "nul\0"])
def test_an_unknown_token_is_revoked_already(cast: Cast, token: str) -> None:
    assert OAuthClient().revoke(token).status_code == 200


def test_a_client_revokes_no_token_of_another(cast: Cast) -> None:
    client, thief = OAuthClient(), OAuthClient(client_name="Thief")
    tokens = client.connect(cast.member)

    assert thief.revoke(tokens.refresh).status_code == 200

    assert mcp_status(tokens.access) == 200


@pytest.mark.parametrize(
    ("form", "status"), [({}, 400), ({"token": "x"}, 401), ({"token": "x", "client_id": "?"}, 401)]
)
def test_a_revocation_names_the_token_and_the_client(db: None, form: dict[str, str], status: int) -> None:
    answer = token_request(form, "/oauth/revoke")

    assert answer.status_code == status
    assert json_of(answer)["error"] in {"invalid_request", "invalid_client"}


def test_disconnecting_ends_code_access_and_refresh_and_may_be_said_twice(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    tokens_of(client.refresh(tokens.refresh))
    row = OAuthConnection.objects.unscoped().get()

    disconnect(connection=row, actor=cast.actor)
    disconnect(connection=row, actor=cast.actor)

    assert mcp_status(tokens.access) == 401
    assert not OAuthGrant.objects.exists()
    assert not OAuthRefreshToken.objects.exists()
