"""Channels: made, changed, removed; their targets sealed, and refused where nothing may be sent."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from pytest_django import Settings

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts import queries, services
from finops.alerts.channel_targets import WebhookTarget, target_of
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.services import channels as limits
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.outbound import use_resolver
from finops.lib.sealing import Unsealable
from tests.cast import ACTOR, Cast
from tests.factories.days import NOON
from tests.factories.deliveries import (
    KEY,
    create_channel_to,
    create_channel_with_secret,
    create_mail_channel,
    deliver,
)
from tests.receivers import Receiver

URL = "https://hooks.example.com/services/T024/B017/xXsecretpathXx"


def create(account: Account, kind: str, name: str = "New", /, **target: object) -> AlertChannel:
    with use_resolver(lambda host, port: ["93.184.216.34"]):
        channel, _secret = services.create_channel(
            account=account, actor=ACTOR, name=name, kind=kind, target=target
        )
    return channel


@pytest.mark.parametrize(
    ("kind", "target", "shown"),
    [
        ("slack", {"url": URL}, "hooks.example.com/…thXx"),
        ("microsoft_teams", {"url": f"{URL}?sig=abcd"}, "hooks.example.com/…abcd"),
        ("webhook", {"url": "https://example.com:8443/in"}, "example.com:8443/…"),
        (
            "email",
            {"addresses": "a@example.com, b@example.com\nA@example.com"},
            "A@example.com, b@example.com",
        ),
        ("pagerduty", {"routing_key": KEY}, "events.pagerduty.com, key …cdef"),
        ("pagerduty", {"routing_key": KEY, "url": URL}, "hooks.example.com, key …cdef"),
    ],
    ids=["slack", "teams", "webhook", "email", "pagerduty", "pagerduty of one's own"],
)
def test_a_channel_of_each_kind_shows_where_it_leads_without_its_secret(
    acme: Account, kind: str, target: dict[str, object], shown: str
) -> None:
    channel = create(acme, kind, **target)

    assert channel.shown_target == shown
    row = next(each for each in queries.channels(acme) if each.id == channel.pk)
    assert (row.kind, row.name, row.subscriptions, row.tested_at) == (kind, "New", 0, None)


@pytest.mark.parametrize(
    ("kind", "target", "field"),
    [
        ("slack", {}, "url"),
        ("slack", {"url": "hooks.example.com"}, "url"),
        ("slack", {"url": "https://hooks.example.com"}, "url"),
        ("slack", {"url": URL, "channel": "#ops"}, "channel"),
        ("microsoft_teams", {"url": "https://10.0.0.1/x"}, "url"),
        ("webhook", {"url": "https://user:pass@example.com/x"}, "url"),
        ("webhook", {"url": "https://169.254.169.254/latest"}, "url"),
        ("webhook", {"url": URL, "signing_secret": "whsec_mine"}, "signing_secret"),
        ("webhook", {"url": URL, "headers": "Authorization"}, "headers"),
        ("webhook", {"url": URL, "headers": "X-Key: a\u200bb"}, "headers"),
        ("webhook", {"url": URL, "headers": "Content-Length: 5"}, "headers"),
        ("webhook", {"url": URL, "headers": "HOST: example.com"}, "headers"),
        ("webhook", {"url": URL, "headers": "webhook-signature: v1,x"}, "headers"),
        ("webhook", {"url": URL, "headers": "X-Key: a\nx-key: b"}, "headers"),
        ("webhook", {"url": URL, "headers": "\n".join(f"X-{number}: a" for number in range(11))}, "headers"),
        ("webhook", {"url": URL, "template": "{{text}}"}, "template"),
        ("webhook", {"url": URL, "template": '["{{text}}"]'}, "template"),
        ("webhook", {"url": URL, "template": '{"text": "{{txt}}"}'}, "template"),
        ("webhook", {"url": URL, "template": '{"text": "{{message.title}}"}'}, "template"),
        ("webhook", {"url": URL, "template": '{"text": "{{ .Title }}"}'}, "template"),
        ("webhook", {"url": URL, "template": '{"text": "{{title | upper}}"}'}, "template"),
        ("webhook", {"url": URL, "template": '{"text": "{{{text}}}"}'}, "template"),
        ("webhook", {"url": URL, "template": r'{"text": "\u007b\u007btxt\u007d\u007d"}'}, "template"),
        ("webhook", {"url": URL, "template": '{"{{txt}}": "x"}'}, "template"),
        ("webhook", {"url": "https://hooks.example.com"}, "url"),
        ("email", {"addresses": []}, "addresses"),
        ("email", {"addresses": [f"p{number}@example.com" for number in range(21)]}, "addresses"),
        ("email", {"addresses": ["no address"]}, "addresses"),
        ("email", {"addresses": ["a@example.com\r\nBcc: b@example.com"]}, "addresses"),
        ("email", {"addresses": 7}, "addresses"),
        ("pagerduty", {"routing_key": "short"}, "routing_key"),
        ("pagerduty", {"routing_key": KEY, "url": "https://127.0.0.1/x"}, "url"),
        ("fax", {}, "kind"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_target_that_cannot_be_is_refused_with_its_field(
    acme: Account, kind: str, target: dict[str, object], field: str
) -> None:
    count = AlertChannel.objects.count()

    with pytest.raises(UserError) as error:
        create(acme, kind, **target)

    assert error.value.field == field
    assert AlertChannel.objects.count() == count


def test_a_target_in_a_private_network_is_refused_when_it_is_changed_too(acme: Account) -> None:
    channel = create(acme, "slack", url=URL)

    with pytest.raises(UserError, match="private"):
        services.change_channel(
            channel=channel, actor=ACTOR, name="New", target={"url": "https://192.168.1.1/x"}
        )

    assert target_of(AlertChannel.objects.get(pk=channel.pk)) == target_of(channel)


def test_a_name_is_needed_and_taken_once_whatever_its_case(acme: Account) -> None:
    for name in ("", "  \n ", "x" * 101):
        with pytest.raises(ValidationError):
            create(acme, "email", name, addresses=["a@example.com"])
    with pytest.raises(UserError, match="'Ops' already exists with id") as error:
        create(acme, "email", "OPS", addresses=["a@example.com"])

    assert error.value.field == "name"
    assert create(acme, "email", " On \n call ", addresses=["a@example.com"]).name == "On call"


def test_two_accounts_have_channels_of_one_name(acme: Account, cast: Cast) -> None:
    with account_scope(cast.other_account):
        create_mail_channel(cast.other_account, "a@example.com", name="Ops")
        assert [each.name for each in queries.channels(cast.other_account)] == ["Ops"]


def test_an_account_has_so_many_channels(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CHANNELS", 2)
    create_mail_channel(acme, "a@example.com")

    with pytest.raises(UserError, match="2 alert channels; the maximum is 2"):
        create_mail_channel(acme, "a@example.com", name="Third")


def test_a_target_is_sealed_for_its_own_account(acme: Account, cast: Cast) -> None:
    channel = create(acme, "slack", url=URL)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM alerts_alertchannel WHERE id = %s", [channel.pk])
        stored_row = repr(cursor.fetchone())

    assert "secretpath" not in stored_row
    channel.account_id = cast.other_account.pk
    with pytest.raises(Unsealable):
        target_of(channel)


def test_renaming_keeps_the_target_and_another_url_keeps_the_signing_secret(acme: Account) -> None:
    with use_resolver(lambda host, port: ["93.184.216.34"]):
        channel, secret = services.create_channel(
            account=acme, actor=ACTOR, name="Hook", kind="webhook", target={"url": URL}
        )
        renamed = services.change_channel(channel=channel, actor=ACTOR, name="Hook 2")
        moved = services.change_channel(
            channel=channel, actor=ACTOR, name="Hook 2", target={"url": "https://example.com/in"}
        )

    assert (renamed.name, target_of(renamed)) == ("Hook 2", target_of(channel))
    target = target_of(moved)
    assert isinstance(target, WebhookTarget)
    assert (target.url, target.signing_secret) == ("https://example.com/in", secret)
    assert moved.shown_target == "example.com/…"


def test_only_a_webhook_has_a_signing_secret(acme: Account) -> None:
    channel = create_mail_channel(acme, "a@example.com")

    with pytest.raises(UserError, match="Only a signed webhook"):
        services.regenerate_signing_secret(channel=channel, actor=ACTOR)


def test_deleting_keeps_what_was_sent_and_ends_what_waits(acme: Account, receiver: Receiver) -> None:
    channel = create_channel_to(acme, receiver, name="Gone")
    waiting = deliver(channel)

    services.delete_channel(channel=channel, actor=ACTOR)

    row = AlertDelivery.objects.get(pk=waiting.pk)
    assert (row.status, row.channel_id, row.channel_name) == ("failed", None, "Gone")
    assert row.attempts[-1]["answer"] == "The channel was deleted."
    with pytest.raises(UserError, match="was already deleted"):
        services.delete_channel(channel=channel, actor=ACTOR)
    with pytest.raises(UserError, match="was already deleted"):
        services.change_channel(channel=channel, actor=ACTOR, name="Back")


def test_every_write_is_in_the_audit_log_without_a_secret(acme: Account, receiver: Receiver) -> None:
    channel, secret = create_channel_with_secret(acme, receiver, name="Hook")
    services.change_channel(channel=channel, actor=ACTOR, name="Hook 2", target={"url": receiver.url})
    services.test_channel(channel=channel, actor=ACTOR)
    newer = services.regenerate_signing_secret(channel=channel, actor=ACTOR)
    services.delete_channel(channel=channel, actor=ACTOR)

    rows = AuditEntry.objects.filter(account=acme, action__startswith="alert_channel").order_by("pk")
    actions = [row.action.partition(".")[2] for row in rows if "Hook" in row.target]
    assert actions == ["create", "change", "test", "regenerate_secret", "delete"]
    everything = repr([(row.target, row.detail, row.actor_label) for row in rows])
    assert not [each for each in (secret, newer, "secretpath") if each in everything]


def test_a_new_secret_key_asks_for_the_target_again_and_takes_it(acme: Account, settings: Settings) -> None:
    channel = create(acme, "slack", url=URL)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "other" * 20, []

    with pytest.raises(
        Unsealable,
        match=r"The stored secret is unreadable because the server's secret key was replaced\. Enter it again",
    ):
        target_of(AlertChannel.objects.get(pk=channel.pk))
    with use_resolver(lambda host, port: ["93.184.216.34"]):
        services.change_channel(channel=channel, actor=ACTOR, name="New", target={"url": URL})
    assert target_of(AlertChannel.objects.get(pk=channel.pk)).shown.startswith("hooks.example.com")


def test_the_sweep_seals_with_the_key_of_now(acme: Account, settings: Settings) -> None:
    channel = create(acme, "slack", url=URL)
    before = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "other" * 20, [before]

    services.sweep()
    settings.SECRET_KEY_FALLBACKS = []

    assert target_of(AlertChannel.objects.get(pk=channel.pk)).shown == channel.shown_target
    with pytest.raises(Unsealable):
        target_of(channel)


def test_the_rows_of_a_page_cost_one_query(
    acme: Account, django_assert_max_num_queries: Any, receiver: Receiver
) -> None:
    for number in range(5):
        create_channel_to(acme, receiver, name=f"C{number}")

    with django_assert_max_num_queries(1):
        assert len(queries.channels(acme)) == 6
    assert clock.now() == NOON
