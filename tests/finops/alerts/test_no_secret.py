"""A channel's secrets exist only sealed in its row, and in requests to its target."""

from __future__ import annotations

import logging

import msgspec
import pytest
from django.apps import apps
from django.db import connection

from accounts.models import Account
from finops.alerts import queries, services
from finops.alerts.channel_targets import target_of
from finops.alerts.models import AlertChannel
from finops.alerts.schemas import DeliveriesQuery
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.deliveries import KEY, deliver, run_deliveries
from tests.receivers import Receiver, reset_connection, respond_with, send_no_http

SIG = "sigQ7hb8Zk20vWxlNs4a"


@pytest.fixture
def secrets(acme: Account, receiver: Receiver, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Of a channel of each kind, after everything that can be done with it was done, by a receiver that repeats what it
    was sent and fails in every way."""
    caplog.set_level(logging.DEBUG)
    url = f"{receiver.url}?sig={SIG}"
    secret_texts = [KEY, SIG, "xXsecretpathXx"]
    for kind in ("slack", "microsoft_teams", "webhook", "pagerduty"):
        secret_texts += use(acme, receiver, kind, url, {"routing_key": KEY} if kind == "pagerduty" else {})
    return secret_texts


def use(account: Account, receiver: Receiver, kind: str, url: str, key: dict[str, str]) -> list[str]:
    """Everything that can be done with a channel; its signing secrets."""
    channel, secret = services.create_channel(
        account=account, actor=ACTOR, name=kind, kind=kind, target={"url": url, **key}
    )
    own = [secret, services.regenerate_signing_secret(channel=channel, actor=ACTOR)] if secret else []
    echo = " ".join(["no", url, SIG, "/hooks/T024-B017-xXsecretpathXx", *key.values(), *own])
    for behave in (
        respond_with(500, echo),
        respond_with(404, echo),
        respond_with(200, echo),
        reset_connection,
        send_no_http,
    ):
        receiver.behave = behave
        deliver(channel)
        run_deliveries()
    receiver.answer(500, echo)
    services.test_channel(channel=channel, actor=ACTOR)
    services.change_channel(channel=channel, actor=ACTOR, name=f"{kind} 2", target={"url": url, **key})
    inside = {"url": url.replace("127.0.0.1", "10.0.0.1"), **key}
    with pytest.raises(UserError) as error:
        services.change_channel(channel=channel, actor=ACTOR, name="x", target=inside)
    assert not leaked_secrets([KEY, SIG, "xXsecretpathXx", *own], repr(error.value), error.value.message)
    return own


def leaked_secrets(secrets: list[str], *texts: str) -> list[str]:
    return [secret for secret in secrets for text in texts if secret in text]


@pytest.mark.django_db
def test_no_table_holds_a_secret(secrets: list[str]) -> None:
    for model in apps.get_models(include_auto_created=True):
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT t::text FROM "{model._meta.db_table}" t')
            assert not leaked_secrets(secrets, repr(cursor.fetchall())), model


def test_no_log_repr_or_answer_of_a_query_holds_a_secret(
    acme: Account, secrets: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    rows = list(AlertChannel.objects.all())
    targets = [target_of(row) for row in rows if row.kind != "email"]
    answers = msgspec.json.encode(
        [queries.channels(acme), queries.deliveries(acme, DeliveriesQuery(limit=50))]
    )

    assert len(targets) == 4
    assert not leaked_secrets(secrets, caplog.text, repr(rows), repr(targets), str(targets), answers.decode())
    assert "…" in answers.decode()


def test_no_page_holds_a_secret(acme: Account, secrets: list[str], cast: Cast) -> None:
    client = signed_in(cast.owner)
    pages = [
        "alerts/",
        "alerts/channels/",
        "alerts/deliveries/",
        "alerts/channels/new/",
        "settings/audit-log/",
    ]
    for row in AlertChannel.objects.all():
        pages += [f"alerts/channels/{row.pk}/", f"alerts/channels/{row.pk}/edit/"]
    pages += [f"alerts/deliveries/{row.id}/" for row in queries.every_delivery(acme)]
    pages += [
        "alerts/channels/?format=csv",
        "alerts/deliveries/?format=csv",
        "settings/audit-log/?format=csv",
    ]
    for page in pages:
        response = client.get(f"/a/acme/{page}")
        content = b"".join(response) if response.streaming else response.content
        assert response.status_code == 200
        assert not leaked_secrets(secrets, content.decode()), page
