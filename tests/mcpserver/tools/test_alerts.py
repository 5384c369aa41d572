"""The alert tools that read: their results by page, never with a secret."""

from __future__ import annotations

import json

import pytest

from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertChannel
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import create_channel, subscribe, subscribe_to_anomalies, subscribe_to_budget
from tests.factories.budgets import create_budget
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.tools.alerts import delivery, message_dict
from tests.mcpserver.tools.amounts import bare_amounts_of_answer


@pytest.fixture
def ops(cast: Cast) -> AlertChannel:
    with account_scope(cast.account):
        return create_channel(cast.account)


@pytest.fixture
def writer(ops: AlertChannel, writer: McpClient) -> McpClient:
    """Of an account that has the channel Ops."""
    return writer


def test_an_account_without_alerts_sees_where_to_create_them(cast: Cast) -> None:
    mcp_client = McpClient(mint(cast))

    channels = mcp_client.ask("listAlertChannels")
    assert (channels["summary"], channels["channels"]) == ("'Acme' has no alert channels.", [])
    assert "A member creates channels on the Alerts page; no tool can." in channels["hint"]
    assert mcp_client.ask("listAlertSubscriptions")["summary"] == "'Acme' has no alert subscriptions."
    assert mcp_client.ask("listAlertDeliveries")["summary"] == "'Acme' has no alert deliveries."


def test_channels_are_listed_without_their_secrets(cast: Cast) -> None:
    with account_scope(cast.account):
        slack = AlertChannel.objects.create(
            account=cast.account,
            name="#ops",
            kind="slack",
            target="sealed-secret",
            shown_target="hooks.slack.com",
        )
        subscribe(cast.account, channel=slack.pk)

    answer = McpClient(mint(cast)).ask("listAlertChannels", search="OPS")

    assert answer["channels"] == [
        {
            "id": slack.pk,
            "name": "#ops",
            "kind": "slack",
            "target": "hooks.slack.com",
            "tested_at": None,
            "subscriptions": 1,
        }
    ]
    assert "sealed-secret" not in json.dumps(answer)
    assert McpClient(mint(cast)).ask("listAlertChannels", search="zzz")["channels"] == []


def test_subscriptions_are_listed_newest_first_and_filtered(cast: Cast, writer: McpClient) -> None:
    with account_scope(cast.account):
        budget = create_budget(cast.account, "Cloud")
        subscription = subscribe_to_budget(cast.account, "Cloud", 80, 100)
        anomalies = subscribe_to_anomalies(cast.account, 50)
        subscribe(cast.account)

    every = writer.ask("listAlertSubscriptions")
    of_one = writer.ask("listAlertSubscriptions", budget=budget.pk)["subscriptions"]
    of_name = writer.ask("listAlertSubscriptions", budget="cloud", channel="Ops")["subscriptions"]
    first = writer.ask("listAlertSubscriptions", limit=2)
    second = writer.ask("listAlertSubscriptions", limit=2, cursor=first["cursor"])["subscriptions"]

    assert of_name == of_one
    assert every["summary"] == "'Acme' has 3 alert subscriptions."
    assert [row["trigger"] for row in every["subscriptions"]] == ["digest", "anomaly", "budget"]
    assert [(row["id"], row["thresholds"], row["measure"]) for row in of_one] == [
        (subscription.pk, [80, 100], "actual")
    ]
    assert of_one[0]["about"] == "Budget 'Cloud' at 80% and 100% of the actual cost, to 'Ops'"
    row = next(each for each in every["subscriptions"] if each["id"] == anomalies.pk)
    assert (row["minimum_impact"], row["currency"]) == (50, "USD")
    assert [each["id"] for each in second] == [subscription.pk]
    assert "channel: '99' does not exist" in writer.problem("listAlertSubscriptions", channel=99)
    assert "budget: " in writer.problem("listAlertSubscriptions", budget=2**70)
    assert bare_amounts_of_answer(every) == []


def test_paused_subscriptions_are_counted_in_the_first_sentence(cast: Cast, writer: McpClient) -> None:
    with account_scope(cast.account):
        paused = subscribe(cast.account)
        subscribe_to_anomalies(cast.account, 50)
    services.pause_alert_subscription(subscription=paused, actor=ACTOR)

    summary = writer.ask("listAlertSubscriptions")["summary"]

    assert summary == "'Acme' has 2 alert subscriptions; 1 of those listed paused."


def test_deliveries_are_listed_by_page_and_filtered(cast: Cast, ops: AlertChannel, writer: McpClient) -> None:
    with account_scope(cast.account):
        ids = [delivery(cast.account, ops) for _ in range(3)]
        delivered = delivery(cast.account, ops, "delivered", is_test=True)
        other = delivery(cast.account, None)

    every = writer.ask("listAlertDeliveries")
    is_error = writer.ask(
        "listAlertDeliveries", statuses="failed", channel=ops.pk, include_tests=False, limit=2
    )
    last = writer.ask(
        "listAlertDeliveries",
        statuses="failed",
        channel="ops",
        include_tests=False,
        limit=2,
        cursor=is_error["cursor"],
    )

    assert every["summary"] == "'Acme' has 5 alert deliveries; of the 5 listed: 1 delivered and 4 failed."
    assert [row["id"] for row in every["deliveries"]] == [other, delivered, *reversed(ids)]
    assert [row["id"] for row in is_error["deliveries"] + last["deliveries"]] == ids[::-1]
    row = is_error["deliveries"][0]
    assert (row["status"], row["attempts"], row["status_code"]) == ("failed", 1, 503)
    assert len(row["answer"]) <= 160
    assert every["deliveries"][1]["is_test"]
    assert is_error["console_url"].endswith(f"/a/acme/alerts/deliveries/?status=failed&channel={ops.pk}")
    path = is_error["console_url"].removeprefix("http://127.0.0.1:8000")
    assert signed_in(cast.viewer).get(path).status_code == 200
    assert bare_amounts_of_answer(every) == []


def test_the_largest_lists_fit(cast: Cast, ops: AlertChannel) -> None:
    long = message_dict() | {"title": "A title that goes on and on " * 20}
    with account_scope(cast.account):
        for number in range(50):
            AlertChannel.objects.create(
                account=cast.account,
                name=f"Channel {number} {'long ' * 16}".strip(),
                kind="webhook",
                target="x",
                shown_target=f"https://{'host.' * 50}example",
            )
            delivery(cast.account, ops, message=long)
        names = [f"Channel {number} {'long ' * 16}".strip() for number in range(50)]
        for name in names:
            subscribe(cast.account, channel=name)
    mcp_client = McpClient(mint(cast))

    for tool, rows in (
        ("listAlertChannels", "channels"),
        ("listAlertSubscriptions", "subscriptions"),
        ("listAlertDeliveries", "deliveries"),
    ):
        answer = mcp_client.ask(tool, limit=50)
        assert len(answer[rows]) >= 12
        assert bool(answer["cursor"]) == bool(answer["truncated"])


def test_another_accounts_alerts_are_not_there(cast: Cast, writer: McpClient) -> None:
    with account_scope(cast.other_account):
        foreign_channel = create_channel(cast.other_account, "Theirs")
        subscribe(cast.other_account, channel="Theirs")
        delivery(cast.other_account, foreign_channel, channel_name="Theirs")

    for tool in ("listAlertChannels", "listAlertSubscriptions", "listAlertDeliveries"):
        assert "Theirs" not in json.dumps(writer.ask(tool))
    for tool in ("listAlertSubscriptions", "listAlertDeliveries"):
        problems = [
            writer.problem(tool, channel=pk).replace(str(pk), "N") for pk in (foreign_channel.pk, 999_999)
        ]
        assert problems[0] == problems[1]
