"""Refresh tokens: each works once, its successor can be had again for a moment, and a late reuse ends the family."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, models

from accounts.models import AuditEntry, OAuthAccessToken, OAuthConnection, OAuthRefreshToken
from accounts.oauth.provider import REFRESH_TOKEN_IDLE_SECONDS, REPLAY_SECONDS
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient, Tokens, json_of, mcp_status, tokens_of
from tests.cast import Cast, make_cast


def error_of(response: Any) -> str:
    assert response.status_code == 400, response.content
    error: str = json_of(response)["error"]
    return error


def later(seconds: float) -> None:
    """As if everything so far had been this long ago."""
    ago = timedelta(seconds=seconds)
    OAuthRefreshToken.objects.update(created=models.F("created") - ago, revoked=models.F("revoked") - ago)
    OAuthAccessToken.objects.update(expires=models.F("expires") - ago)


def test_a_retry_gets_the_same_answer_again(cast: Cast) -> None:
    """The answer to the first was lost on the way (fault B)."""
    client = OAuthClient()
    first = client.connect(cast.member, access="read_write")

    second, again = (tokens_of(client.refresh(first.refresh)) for _ in range(2))

    assert (again.access, again.refresh, again.scope) == (second.access, second.refresh, second.scope)
    assert 3590 <= again.expires_in <= 3600
    assert mcp_status(again.access) == 200
    assert OAuthRefreshToken.objects.filter(revoked=None).count() == 1


def test_a_retry_that_is_late_within_a_family_gets_the_newest_pair(cast: Cast) -> None:
    """Several requests of one client failed at once; one refreshed twice before the last one came."""
    client = OAuthClient()
    first = client.connect(cast.member)
    second = tokens_of(client.refresh(first.refresh))
    third = tokens_of(client.refresh(second.refresh))

    again = tokens_of(client.refresh(first.refresh))

    assert (again.access, again.refresh) == (third.access, third.refresh)
    assert OAuthRefreshToken.objects.filter(revoked=None).count() == 1


def test_a_used_refresh_token_that_comes_back_late_ends_the_family(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member)
    second = tokens_of(client.refresh(first.refresh))
    later(REPLAY_SECONDS + 1)

    assert error_of(client.refresh(first.refresh)) == "invalid_grant"

    assert mcp_status(second.access) == 401
    assert error_of(client.refresh(second.refresh)) == "invalid_grant"
    entry = AuditEntry.objects.unscoped().get(action="connected_app.disconnect")
    assert entry.detail["reason"] == "refresh token reused"


def test_the_grace_period_ends_regardless_of_later_refreshes(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member)
    second = tokens_of(client.refresh(first.refresh))
    later(REPLAY_SECONDS + 1)
    tokens_of(client.refresh(second.refresh))

    assert error_of(client.refresh(first.refresh)) == "invalid_grant"
    assert not OAuthConnection.objects.unscoped().exists()


def test_other_connections_of_the_client_live_on(cast: Cast) -> None:
    client = OAuthClient()
    stolen, other = client.connect(cast.member), client.connect(cast.member)
    client.refresh(stolen.refresh)
    later(REPLAY_SECONDS + 1)
    client.refresh(stolen.refresh)

    assert [mcp_status(stolen.access), mcp_status(other.access)] == [401, 200]


def test_a_refresh_token_ends_after_thirty_idle_days_and_not_before(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    later(REFRESH_TOKEN_IDLE_SECONDS - 60)
    tokens = tokens_of(client.refresh(tokens.refresh))
    later(REFRESH_TOKEN_IDLE_SECONDS - 60)
    tokens = tokens_of(client.refresh(tokens.refresh))
    later(REFRESH_TOKEN_IDLE_SECONDS + 60)

    assert error_of(client.refresh(tokens.refresh)) == "invalid_grant"


def test_a_refresh_may_narrow_and_the_next_may_have_all_again(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member, access="read_write")

    narrow = tokens_of(client.refresh(tokens.refresh, scope="mcp:read"))
    whole = tokens_of(client.refresh(narrow.refresh, scope="mcp:read mcp:write offline_access"))

    assert (narrow.scope, whole.scope) == ("mcp:read", "mcp:read mcp:write")


@pytest.mark.parametrize(
    "scope", ["", " ", "mcp:write", "mcp:read mcp:write", "openid mcp:read", "mcp:read  offline_access"]
)
def test_a_refresh_never_widens(cast: Cast, scope: str) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)

    assert tokens_of(client.refresh(tokens.refresh, scope=scope)).scope == "mcp:read"


@pytest.mark.parametrize("scope", ["mcp:admin", "openid", "MCP:READ"])
def test_a_refresh_for_other_scopes_names_the_valid_ones_and_uses_nothing_up(cast: Cast, scope: str) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)

    refused = client.refresh(tokens.refresh, scope=scope)

    assert error_of(refused) == "invalid_scope"
    assert "mcp:read" in json_of(refused)["error_description"]
    tokens_of(client.refresh(tokens.refresh))


def test_a_refresh_token_is_of_one_client(cast: Cast) -> None:
    client, thief = OAuthClient(), OAuthClient(client_name="Thief")
    tokens = client.connect(cast.member)

    assert error_of(thief.refresh(tokens.refresh)) == "invalid_grant"

    tokens_of(client.refresh(tokens.refresh))


@pytest.mark.parametrize(
    "token", ["", "x", "fort_", "fort_" + "a" * 43, "foat_" + "a" * 43, "nul\0", "é" * 48]
)
def test_an_unknown_refresh_token_is_an_invalid_grant(cast: Cast, token: str) -> None:
    assert error_of(OAuthClient().refresh(token)) in {"invalid_grant", "invalid_request"}


def test_another_resource_is_refused_and_nothing_is_used_up(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)

    assert error_of(client.refresh(tokens.refresh, resource="https://other.example/mcp")) == "invalid_target"

    tokens_of(client.refresh(tokens.refresh, resource=None))


def test_two_rows_never_hold_one_refresh_token(cast: Cast) -> None:
    """Fault I: the library's own constraint lets two living ones through."""
    OAuthClient().connect(cast.member)
    row = OAuthRefreshToken.objects.get()
    row.pk = row.access_token_id = None

    with pytest.raises(IntegrityError, match="oauth_refresh_token_once"):
        row.save(force_insert=True)


def test_an_access_token_lives_for_an_hour(cast: Cast) -> None:
    tokens = OAuthClient().connect(cast.member)
    remaining = OAuthAccessToken.objects.get().expires - clock.now()
    assert timedelta(minutes=59) < remaining <= timedelta(hours=1)

    later(3600)

    assert mcp_status(tokens.access) == 401


@pytest.mark.django_db(transaction=True)
def test_parallel_refreshes_end_with_one_live_family_and_no_500() -> None:
    """Fault A: stock models answered 1 of 4 and failed with 500 for the others."""
    client = OAuthClient()
    first = client.connect(make_cast().member)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: _refresh(client, first.refresh), range(8)))

    assert {answer.status_code for answer in answers} == {200}
    pairs = {(tokens.access, tokens.refresh) for tokens in map(tokens_of, answers)}
    assert len(pairs) == 1
    assert OAuthRefreshToken.objects.filter(revoked=None).count() == 1
    assert mcp_status(pairs.pop()[0]) == 200


@pytest.mark.django_db(transaction=True)
def test_a_code_redeemed_by_many_at_once_leaves_nothing_behind() -> None:
    client = OAuthClient()
    code = client.code(make_cast().member)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _number: _exchange(client, code), range(6)))

    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400, 400]
    won = next(tokens_of(answer) for answer in answers if answer.status_code == 200)
    assert mcp_status(won.access) == 401


@pytest.mark.django_db(transaction=True)
def test_disconnecting_while_the_client_refreshes_leaves_no_token() -> None:
    client = OAuthClient()
    tokens = client.connect(make_cast().member)

    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(_refresh, client, tokens.refresh) for _ in range(3)]
        jobs.append(pool.submit(_revoke, client, tokens))
        jobs += [pool.submit(_refresh, client, tokens.refresh) for _ in range(2)]
        statuses = {job.result().status_code for job in jobs}

    assert statuses <= {200, 400}
    assert not OAuthConnection.objects.unscoped().exists()
    assert not OAuthAccessToken.objects.exists()


def _refresh(client: OAuthClient, token: str) -> Any:
    try:
        return client.refresh(token)
    finally:
        connection.close()


def _exchange(client: OAuthClient, code: str) -> Any:
    try:
        return client.exchange(code)
    finally:
        connection.close()


def _revoke(client: OAuthClient, tokens: Tokens) -> Any:
    try:
        return client.revoke(tokens.refresh)
    finally:
        connection.close()
