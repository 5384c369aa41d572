"""Messages of each channel: within its limits, and no name from people or bills is interpreted as markup."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

import msgspec
import pytest
from django.conf import settings
from hypothesis import given, strategies
from hypothesis import settings as profile
from standardwebhooks import Webhook, WebhookVerificationError

from accounts.models import Account
from finops.alerts import services
from finops.alerts.body_templates import EXAMPLES, fill_template
from finops.alerts.channel_targets import Kind, PagerDutyTarget
from finops.alerts.messages import Fact, Message
from finops.alerts.models import AlertChannel
from finops.alerts.senders import Envelope, microsoft_teams, pagerduty, slack, webhook
from finops.lib import clock
from tests.cast import ACTOR
from tests.examples import examples
from tests.factories.deliveries import (
    KEY,
    create_channel_to,
    create_channel_with_secret,
    deliver,
    message,
    run_deliveries,
)
from tests.receivers import Receiver

NASTY = "<!channel> *bold* _it_ [x](https://evil.example) @here & <https://evil.example|y> {{DATE(2026)}} `c`"
TEXT = strategies.text(
    strategies.characters(exclude_categories=["Cs"]) | strategies.sampled_from("&<>|*_[]()`~@\n\r\t\0"),
    max_size=80,
)
LONG = strategies.builds(lambda text, times: text * times, TEXT, strategies.sampled_from([1, 1, 60]))
MESSAGES = strategies.builds(
    Message,
    title=LONG,
    summary=LONG,
    facts=strategies.lists(strategies.builds(Fact, LONG, LONG), max_size=300).map(tuple)
    | strategies.builds(
        lambda fact, count: (fact,) * count, strategies.builds(Fact, LONG, LONG), strategies.integers(0, 400)
    ),
    url=strategies.just("https://finops.example.com/a/acme/?x=1&y=<|>"),
    severity=strategies.sampled_from(["info", "warning", "critical"]),
    kind=strategies.just("anomaly"),
    dedup_key=strategies.just("finops:acme:1"),
)


def envelope_of(said: Message) -> Envelope:
    return Envelope(
        message=said,
        delivery_id=7,
        account_slug="acme",
        account_name="Acme",
        created_at=datetime(2026, 3, 20, tzinfo=UTC),
    )


def texts(value: Any) -> list[dict[str, Any]]:
    """Every object of Slack's that has a text."""
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    if not isinstance(value, dict):
        return []
    own = [value] if isinstance(value.get("text"), str) and "type" in value else []
    return own + [text for each in value.values() for text in texts(each)]


def check_slack(said: Message) -> None:
    payload = json.loads(msgspec.json.encode(slack.payload(said)))
    blocks = payload["blocks"]
    assert 2 <= len(blocks) <= 50
    assert 1 <= len(payload["text"]) <= 3_000
    assert len(blocks[0]["text"]["text"]) <= 150
    for block in blocks:
        assert len(block.get("fields", [])) <= 10
        assert all(1 <= len(each["text"]) <= 2_000 for each in block.get("fields", []))
    for each in texts(blocks):
        assert 1 <= len(each["text"]) <= 3_000
        if each["type"] == "plain_text":
            assert not {"<", ">"} & set(each["text"])
            assert all(part.startswith(("amp;", "lt;", "gt;")) for part in each["text"].split("&")[1:])
        else:
            assert each["text"].startswith("<https://finops.example.com/a/acme/?x=1&amp;y=%3C%7C%3E|")
    body, _newline, link = payload["text"].rpartition("\n")
    assert not {"<", ">"} & set(body)
    assert link.startswith("<https://finops.example.com/")


def check_teams(said: Message) -> None:
    encoded = msgspec.json.encode(microsoft_teams.payload(said))
    assert len(encoded) <= 28_000
    card = json.loads(encoded)["attachments"][0]["content"]
    assert '"TextBlock"' not in json.dumps(card)
    assert "{{" not in json.dumps(card["body"])
    assert card["actions"][0]["url"] == said.url


def check_pagerduty(said: Message) -> None:
    payload = json.loads(
        msgspec.json.encode(pagerduty.payload(PagerDutyTarget(routing_key=KEY), envelope_of(said)))
    )
    assert len(payload["payload"]["summary"]) <= 1_024
    assert len(payload["dedup_key"]) <= 255
    assert len(json.dumps(payload)) <= 512_000


@given(MESSAGES)
@profile(max_examples=examples(60), deadline=None)
def test_any_message_is_within_the_limits_of_every_channel(said: Message) -> None:
    check_slack(said)
    check_teams(said)
    check_pagerduty(said)
    assert json.loads(msgspec.json.encode(webhook.payload(envelope_of(said))))["data"]["title"] == said.title


@pytest.mark.parametrize("braces", range(2, 6))
def test_braces_in_a_row_begin_no_function_of_teams(braces: int) -> None:
    check_teams(message(summary="{" * braces))


def test_a_message_at_every_limit_at_once_fits() -> None:
    largest = "&" * 20_000
    many = tuple(Fact(largest, largest) for _ in range(500))
    alert = message(
        title=largest, summary=largest, facts=many, url="https://finops.example.com/a/acme/?x=1&y=<|>"
    )

    check_slack(alert)
    check_teams(alert)
    check_pagerduty(alert)


def test_slack_gets_names_as_plain_text_and_nobody_is_called() -> None:
    payload = slack.payload(message(title=NASTY, summary=NASTY, facts=(Fact(NASTY, NASTY),)))

    plain = [each["text"] for each in texts(payload["blocks"]) if each["type"] == "plain_text"]
    assert len(plain) == 4
    assert all("&lt;!channel&gt; *bold*" in each for each in plain)
    assert not [each for each in ("<!channel>", "@here") if each in payload["text"]]
    assert payload["text"].endswith("\n<https://finops.example.com/a/acme/budgets/7/|Open in the console>")


def test_slack_says_how_many_figures_are_left_out() -> None:
    payload = slack.payload(message(facts=tuple(Fact(str(number), "1.00 USD") for number in range(203))))

    assert "3 more figures" in payload["blocks"][-1]["elements"][0]["text"]


def test_an_entity_is_never_cut_in_two() -> None:
    for limit in range(1, 30):
        cut = slack.escape_text("a&b<c>" * 5, limit)
        assert len(cut) <= limit
        assert all(part.startswith(("amp;", "lt;", "gt;")) for part in cut.split("&")[1:])
    assert slack.escape_text("a&b", 7) == "a&amp;b"


def test_teams_gets_an_adaptive_card_whose_texts_are_no_markdown() -> None:
    payload = microsoft_teams.payload(message(title=NASTY, facts=(Fact("Spent", NASTY),)))

    attachment = payload["attachments"][0]
    assert (payload["type"], attachment["contentType"]) == (
        "message",
        "application/vnd.microsoft.card.adaptive",
    )
    runs = json.dumps(attachment["content"]["body"], ensure_ascii=False)
    assert runs.count("[x](https://evil.example)") == 2
    assert runs.count('"TextRun"') == 4
    assert attachment["content"]["body"][0]["style"] == "warning"


def test_pagerduty_gets_a_trigger_of_its_incident(acme: Account, receiver: Receiver) -> None:
    deliver(create_channel_to(acme, receiver, Kind.PAGERDUTY), severity="critical")
    run_deliveries()

    payload = receiver.requests[0].json
    assert (payload["routing_key"], payload["event_action"]) == (KEY, "trigger")
    assert payload["dedup_key"] == "finops:acme:budget:7:2026-03"
    assert payload["payload"]["severity"] == "critical"
    assert payload["payload"]["custom_details"]["Spent"] == "812.50 USD"
    assert payload["links"][0]["href"] == message().url


def test_a_webhook_is_verified_by_the_library_of_the_standard(acme: Account, receiver: Receiver) -> None:
    channel, secret = create_channel_with_secret(acme, receiver)
    with clock.frozen(datetime.now(UTC)):
        deliver(channel)
        run_deliveries()

    request = receiver.requests[0]
    payload = Webhook(secret).verify(request.body, request.headers)
    assert payload["type"] == "alert.budget"
    assert payload["data"]["figures"] == {"spent": {"amount": "812.50", "currency": "USD"}}
    assert payload["data"]["account"] == {"slug": "acme", "name": "Acme"}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(request.body.replace(b"812.50", b"1.50"), request.headers)


def create_webhook(account: Account, receiver: Receiver, **target: str) -> tuple[AlertChannel, str]:
    target["url"] = receiver.url
    return services.create_channel(
        account=account, actor=ACTOR, name="Hook", kind="webhook", target={**target}
    )


@pytest.mark.parametrize(("name", "field"), [("Google Chat", "text"), ("Discord", "content")])
def test_a_webhook_has_headers_and_a_body_of_its_own(
    acme: Account, receiver: Receiver, name: str, field: str
) -> None:
    headers = "Authorization: Bearer s3cr3t-value\n\n X-Team : finops \nHostname: a\nExpect-CT: b\nContent-Language: c"
    channel, secret = create_webhook(acme, receiver, headers=headers, template=EXAMPLES[name])
    with clock.frozen(datetime.now(UTC)):
        deliver(channel)
        run_deliveries()

    request = receiver.requests[0]
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer s3cr3t-value", "finops")
    assert [request.headers[each] for each in ("hostname", "expect-ct", "content-language")] == [
        "a",
        "b",
        "c",
    ]
    assert Webhook(secret).verify(request.body, request.headers) == request.json
    text = request.json[field]
    assert "Spent: 812.50 USD" in text
    assert text.endswith(message().url)
    assert channel.shown_target.endswith(
        ", Authorization, X-Team, Hostname, Expect-CT, Content-Language, own body"
    )


def test_a_body_of_ones_own_may_go_to_the_root_with_placeholders_anywhere(
    acme: Account, receiver: Receiver
) -> None:
    """As ntfy reads JSON."""
    template = r'{"topic": "finops", "{{kind}}": ["\u007b\u007b severity }}", 4], "click": "{{ url }}"}'
    receiver.url = urljoin(receiver.url, "/")
    channel, _secret = create_webhook(acme, receiver, template=template)
    deliver(channel)
    run_deliveries()

    assert receiver.requests[0].json == {
        "topic": "finops",
        "budget": [message().severity, 4],
        "click": message().url,
    }


def test_a_receiver_that_repeats_a_header_shows_it_nowhere(acme: Account, receiver: Receiver) -> None:
    channel, _secret = create_webhook(acme, receiver, headers="Authorization: Bearer s3cr3t-value")
    receiver.answer(404, "unknown token s3cr3t-value")
    delivery = deliver(channel)

    run_deliveries()

    delivery.refresh_from_db()
    assert "unknown token …" in str(delivery.attempts)
    assert "s3cr3t" not in str(delivery.attempts)


@given(said=MESSAGES)
@profile(max_examples=examples(100), deadline=None)
def test_a_body_of_ones_own_is_within_the_limits_of_its_receivers_and_calls_nobody(said: Message) -> None:
    for template in EXAMPLES.values():
        body = fill_template(template, said, "Acme")
        [text] = [value for value in body.values() if isinstance(value, str)]
        assert len(text) <= 2_000
        assert not re.search(r"<[@#!&u]|@(?:all|channel|everyone|here)\b", text, re.IGNORECASE)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("1", "delivered"),
        (
            "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413 …",
            "failed",
        ),
        (
            "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 …",
            "waiting",
        ),
    ],
)
def test_a_200_of_teams_that_says_the_delivery_failed_is_a_failure(
    acme: Account, receiver: Receiver, body: str, status: str
) -> None:
    receiver.answer(200, body)
    delivery = deliver(create_channel_to(acme, receiver, "microsoft_teams"))

    run_deliveries()

    delivery.refresh_from_db()
    assert delivery.status == status


@pytest.mark.parametrize("kind", ["slack", "webhook"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"errcode": 0, "errmsg": "ok"}', "delivered"),
        ('{"errcode": 310000, "errmsg": "keywords not in content"}', "failed"),
        ('{"errcode": 93000, "errmsg": "%s"}' % ("invalid webhook url " * 50), "failed"),
        ('{"errcode": 130101, "errmsg": "send too fast"}', "waiting"),
        ('{"errcode": 45009, "errmsg": "api freq out of limit"}', "waiting"),
        ('{"code": 0, "msg": "success", "data": {}}', "delivered"),
        (
            '{"StatusCode": 0, "StatusMessage": "success", "code": 0, "data": {}, "msg": "success"}',
            "delivered",
        ),
        ('{"code": 19024, "msg": "Key Words Not Found", "data": {}}', "failed"),
        ('{"code": 11232, "msg": "frequency limited"}', "waiting"),
        ('{"code": 200, "msg": "OK"}', "delivered"),
        ('{"code": "accepted", "msg": "OK"}', "delivered"),
        ('{"code": 7}', "delivered"),
        ('{"ok": true}', "delivered"),
        ('{"ok": false, "error": "invalid_payload"}', "failed"),
        ('{"ok": false}', "failed"),
        ('{"ok": false, "error": "rate_limited"}', "waiting"),
        ('[{"errcode": 1}]', "delivered"),
        ('{"errcode": 1', "delivered"),
        ("[" * 5_000, "delivered"),
        ("ok", "delivered"),
    ],
)
def test_a_200_of_a_bot_that_has_an_error_as_json_is_a_failure(
    acme: Account, receiver: Receiver, kind: Kind, body: str, status: str
) -> None:
    receiver.answer(200, body)
    delivery = deliver(create_channel_to(acme, receiver, kind))

    run_deliveries()

    delivery.refresh_from_db()
    assert delivery.status == status


def test_a_200_of_an_incident_service_is_no_bots(acme: Account, receiver: Receiver) -> None:
    receiver.answer(200, '{"ok": false, "errcode": 1}')
    delivery = deliver(create_channel_to(acme, receiver, Kind.PAGERDUTY))

    run_deliveries()

    delivery.refresh_from_db()
    assert delivery.status == "delivered"


def test_after_a_new_secret_both_sign_for_a_day(acme: Account, receiver: Receiver) -> None:
    channel, old = create_channel_with_secret(acme, receiver)
    now = datetime.now(UTC)
    with clock.frozen(now):
        new = services.regenerate_signing_secret(channel=channel, actor=ACTOR)
        deliver(channel)
        run_deliveries()
    request = receiver.requests[0]
    assert new.startswith("whsec_")
    assert new != old
    for secret in (old, new):
        Webhook(secret).verify(request.body, request.headers)


def test_a_day_later_the_old_secret_signs_no_more(acme: Account, receiver: Receiver) -> None:
    channel, old = create_channel_with_secret(acme, receiver)
    new = services.regenerate_signing_secret(channel=channel, actor=ACTOR)
    with clock.frozen(datetime.now(UTC)):
        deliver(channel)
        run_deliveries()

    request = receiver.requests[0]
    Webhook(new).verify(request.body, request.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(request.body, request.headers)


def test_the_documented_webhook_is_the_one_that_is_sent() -> None:
    page = (settings.BASE_DIR / "docs" / "alert-channels.md").read_text()
    documented = json.loads(page.partition("```json")[2].partition("```")[0])
    payload = json.loads(msgspec.json.encode(webhook.payload(envelope_of(message()))))

    assert shape(documented) == shape(payload)


def shape(value: Any) -> Any:
    """The names of objects, and of a list its first."""
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return {name: shape(each) for name, each in value.items()} if isinstance(value, dict) else type(value)
