"""What another release has to read: digests of credentials, sealed secrets, links in mails; and what receivers of alerts
parse."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from django.core import signing
from django.test import override_settings

from accounts.keys import PREFIX, digest_of, lookup_of, new_secret
from accounts.oauth.tokens import checksum, new_access_token, new_refresh_token, successors
from finops.alerts.channel_targets import PagerDutyTarget
from finops.alerts.recipients import recipient_url
from finops.alerts.senders import Envelope, email, microsoft_teams, pagerduty, slack, webhook
from finops.lib.sealing import unseal
from ingestion.services.keys import PREFIX as USAGE_PREFIX
from tests import recordings
from tests.cast import Cast
from tests.factories.deliveries import KEY, message

KEYS = override_settings(KEY_PEPPER="pepper of the record", SECRET_KEY="secret of the record")
PLAINTEXT = "fmcp_0123456789abcdefghijklmnopqrstuvwxyzABCDEF"
SEALED = "gAAAAABrAyclM8usZpnXNC1yCYFMdwTwqJQ9FAlyzNFA4sofmqJuRq4hVFooIQpaLI56h4T_ItFkYQRQj00Z2w5DVtd0wAoV7epqphCP43XkMVk2I5qgc39nzlzXRVU5XZPWAGyQgg8h"


def test_credentials_look_and_are_digested_as_recorded() -> None:
    with KEYS:
        shapes = {
            "digest": digest_of(PLAINTEXT).hex(),
            "token": checksum(PLAINTEXT),
            "successors": successors("fort_of_the_record", b"salt"),
            "lengths": {name: len(text) for name, text in _fresh().items()},
            "beginnings": {name: text[:5] for name, text in _fresh().items()},
        }

    recordings.compare_json("interface/credentials.json", shapes)


def _fresh() -> dict[str, str]:
    return {
        "MCP key": new_secret(PREFIX)[0],
        "usage key": new_secret(USAGE_PREFIX)[0],
        "access token": new_access_token(),
        "refresh token": new_refresh_token(),
    }


def test_the_public_part_of_a_key_is_where_it_was() -> None:
    plaintext, lookup = new_secret("fmcp_")

    assert lookup_of(plaintext, "fmcp_") == lookup == plaintext[5:15]


@KEYS
def test_secrets_sealed_by_an_earlier_version_open() -> None:
    assert unseal(SEALED, purpose="record") == {"url": "https://hooks.example/x"}


@KEYS
def test_a_link_to_unsubscribe_is_signed_as_before(cast: Cast) -> None:
    url = recipient_url(cast.account, "Ann@example.com")

    path, token = url.rstrip("/").rsplit("/", 1)
    assert path == "http://127.0.0.1:8000/alerts/recipients"
    assert signing.loads(token, salt="alerts.recipient") == {
        "account": cast.account.pk,
        "address": "ann@example.com",
    }


@pytest.mark.parametrize("kind", ["budget", "anomaly", "digest", "import", "test"])
def test_messages_to_receivers_of_alerts_are_as_recorded(kind: str) -> None:
    sending = Envelope(
        message=message(kind=kind),
        delivery_id=7,
        account_slug="acme",
        account_name="Acme",
        created_at=datetime(2026, 3, 20, tzinfo=UTC),
        unsubscribe_urls={"ann@example.com": "https://finops.example.com/alerts/recipients/token/"},
    )
    target = PagerDutyTarget(routing_key=KEY)
    mail = email.mail("ann@example.com", sending)
    payloads: dict[str, Any] = {
        "slack": slack.payload(sending.message),
        "microsoft_teams": microsoft_teams.payload(sending.message),
        "pagerduty": pagerduty.payload(target, sending),
        "webhook": webhook.payload(sending),
        "email": {"subject": mail.subject, "body": mail.body, "headers": mail.extra_headers},
    }

    recordings.compare_json(f"alerts/{kind}.json", msgspec.to_builtins(payloads))
