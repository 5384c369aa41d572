"""The hourly deletion of ended connections and tokens, and the rows that it keeps."""

from __future__ import annotations

from datetime import timedelta

from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from accounts.models import (
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthGrant,
    OAuthRefreshToken,
)
from accounts.oauth.services import FORGOTTEN_DAYS, NEVER_CONNECTED_DAYS
from accounts.tasks import sweep_connections
from tests.accounts.oauth.documents import KNOWN
from tests.accounts.oauth.flow import OAuthClient, json_of, mcp_status, tokens_of
from tests.cast import Cast


def later(**ago: float) -> None:
    """As if everything so far had been this long ago."""
    delta = timedelta(**ago)
    OAuthAccessToken.objects.update(expires=F("expires") - delta, created=F("created") - delta)
    OAuthRefreshToken.objects.update(created=F("created") - delta, revoked=F("revoked") - delta)
    OAuthGrant.objects.update(expires=F("expires") - delta)
    OAuthConnection.objects.unscoped().update(created_at=F("created_at") - delta)
    OAuthApplication.objects.update(
        updated=F("updated") - delta, last_consent_at=F("last_consent_at") - delta
    )


def test_a_living_connection_stays_and_can_be_refreshed(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    for _ in range(5):
        later(days=29)
        sweep_connections()
        tokens = tokens_of(client.refresh(tokens.refresh))

    assert mcp_status(tokens.access) == 200


def test_the_librarys_own_sweep_ends_no_living_connection(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    later(days=20)
    sweep_connections()

    call_command("cleartokens")

    assert client.refresh(tokens.refresh).status_code == 200


def test_a_connection_that_idled_for_thirty_days_is_gone(cast: Cast) -> None:
    OAuthClient().connect(cast.member)
    later(days=30, hours=1)

    sweep_connections()

    assert not OAuthConnection.objects.unscoped().exists()
    assert not OAuthRefreshToken.objects.exists()


def test_a_consent_without_a_redeemed_code_is_deleted_after_an_hour(cast: Cast) -> None:
    OAuthClient().code(cast.member)
    sweep_connections()
    assert OAuthConnection.objects.unscoped().count() == 1
    later(hours=1, minutes=1)

    sweep_connections()

    assert not OAuthConnection.objects.unscoped().exists()


def test_a_used_refresh_token_is_known_for_as_long_as_one_lives(cast: Cast) -> None:
    client = OAuthClient()
    first = client.connect(cast.member)
    second = tokens_of(client.refresh(first.refresh))
    later(days=20)
    sweep_connections()

    assert client.refresh(first.refresh).status_code == 400
    assert client.refresh(second.refresh).status_code == 400
    assert not OAuthConnection.objects.unscoped().exists()


def test_nothing_that_could_give_a_successor_again_outlives_its_moment(cast: Cast) -> None:
    client = OAuthClient()
    client.refresh(client.connect(cast.member).refresh)
    assert OAuthRefreshToken.objects.exclude(replay_salt=None).count() == 1
    later(minutes=1)

    sweep_connections()

    assert not OAuthRefreshToken.objects.exclude(replay_salt=None).exists()


def test_a_registration_that_nobody_connected_expires(cast: Cast) -> None:
    OAuthClient()
    later(days=NEVER_CONNECTED_DAYS - 1)
    sweep_connections()
    assert OAuthApplication.objects.count() == 1
    later(days=2)

    sweep_connections()

    assert not OAuthApplication.objects.exists()


def test_registering_again_keeps_a_registration(cast: Cast) -> None:
    client = OAuthClient()
    later(days=NEVER_CONNECTED_DAYS - 1)
    assert json_of(client.register())["client_id"] == client.client_id
    later(days=2)

    sweep_connections()

    assert OAuthApplication.objects.count() == 1


def test_a_client_that_was_connected_is_kept_long_and_one_in_use_forever(cast: Cast) -> None:
    used, idle_client = OAuthClient(client_name="used"), OAuthClient(*KNOWN[0][:1], redirect_uri=KNOWN[0][1])
    tokens = used.connect(cast.member)
    idle_client.connect(cast.member)
    for _ in range(FORGOTTEN_DAYS // 25 + 2):
        later(days=25)
        tokens = tokens_of(used.refresh(tokens.refresh))
        sweep_connections()

    assert [row.client_id for row in OAuthApplication.objects.all()] == [used.client_id]


def test_a_client_that_an_operator_made_stays(db: None) -> None:
    OAuthApplication.objects.create(
        client_type="public",
        authorization_grant_type="authorization-code",
        redirect_uris="https://a.example/",
    )
    OAuthApplication.objects.update(updated=timezone.now() - timedelta(days=999))

    sweep_connections()

    assert OAuthApplication.objects.count() == 1
