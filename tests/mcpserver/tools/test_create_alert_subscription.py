"""create_alert_subscription at the endpoint: what it makes, what it refuses and how, for whom, and two calls at once."""

from __future__ import annotations

import json
import logging
from concurrent.futures import Future
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection, transaction

from accounts.models import Account, AuditEntry, MCPKey
from accounts.scoping import account_scope
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.allocation.models import CostTag, Team
from finops.costs.models import CostSource
from finops.insights.anomalies.services import change_anomaly_settings
from mcpserver.registry import registry
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast, make_cast, signed_in
from tests.factories.alerts import create_channel
from tests.factories.budgets import create_budget
from tests.mcpserver.mcp_client import McpClient, mint
from tests.mcpserver.tools.row_numbers import replace_row_number
from tests.waiting import threads, wait_until, waiting

TOOL = "create_alert_subscription"
DIGEST: dict[str, Any] = {"channel": "Ops", "trigger": "digest", "frequency": "weekly"}


@pytest.fixture
def ops(cast: Cast) -> AlertChannel:
    with account_scope(cast.account):
        return create_channel(cast.account)


@pytest.fixture
def writer(ops: AlertChannel, writer: McpClient) -> McpClient:
    """Of an account that has the channel Ops."""
    return writer


@pytest.mark.parametrize(
    ("options", "about"),
    [
        (
            {"trigger": "budget", "budget": "cloud"},
            "Budget 'Cloud' at 80% and 100% of the actual cost, to 'Ops'",
        ),
        (
            {"trigger": "budget", "budget": "Cloud", "thresholds": "[50, 120]", "measure": "forecast"},
            "Budget 'Cloud' at 50% and 120% by the forecast, to 'Ops'",
        ),
        ({"trigger": "anomaly"}, "Anomalies of the whole account, to 'Ops'"),
        (
            {"trigger": "anomaly", "cost_source": "Bills", "minimum_impact": "12.50", "currency": "eur"},
            "Anomalies of cost source 'Bills' from 12.50 EUR on, to 'Ops'",
        ),
        ({"trigger": "anomaly", "scope": "team", "team": "Core"}, "Anomalies of team 'Core', to 'Ops'"),
        (
            {"trigger": "anomaly", "cost_tag": "Unit", "cost_tag_value": "web"},
            "Anomalies of cost tag value 'Unit: web', to 'Ops'",
        ),
        ({"trigger": "digest", "frequency": "Monthly"}, "Monthly digest, to 'Ops'"),
    ],
    ids=["budget", "forecast", "anomaly", "source", "team", "cost tag", "digest"],
)
def test_a_channel_is_subscribed_and_answered_as_the_list_shows_it(
    cast: Cast, writer: McpClient, options: dict[str, Any], about: str
) -> None:
    with account_scope(cast.account):
        create_budget(cast.account, "Cloud")
        CostSource.objects.create(name="Bills")
        Team.objects.create(name="Core")
        CostTag.objects.create(key="Unit")

    answer = writer.ask(TOOL, channel="ops", **options)

    (listing,) = writer.ask("listAlertSubscriptions")["subscriptions"]
    assert answer["subscription"] == listing
    assert listing["about"] == about
    assert answer["summary"] == f"Created alert subscription {listing['id']}: {about}."
    path = answer["console_url"].removeprefix("http://127.0.0.1:8000")
    assert path == f"/a/acme/alerts/subscriptions/{listing['id']}/"
    assert signed_in(cast.viewer).get(path).status_code == 200


def test_additional_changes_are_reported(cast: Cast, writer: McpClient) -> None:
    with account_scope(cast.account):
        Team.objects.create(name="Core")

    answer = writer.ask(TOOL, channel="Ops", trigger="anomaly", team="Core")

    assert "Anomalies by team are now monitored" in answer["warnings"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"channel": "Opps"}, ("channel: 'Opps' does not exist. Nearest: 'Ops'. Use listAlertChannels.")),
        (
            {"channel": ""},
            (
                "channel is missing: set the alert channel. Use listAlertChannels; "
                "members create channels on the Alerts page."
            ),
        ),
        ({"channel": "a\x00b"}, "channel: "),
        ({"channel": 2**70}, "channel: "),
        ({"channel": None}, "channel is required"),
        ({"trigger": "cost"}, "Valid: anomaly, budget, digest"),
        ({"frequency": "daily"}, "Valid: monthly, weekly"),
        ({"frequency": None}, "frequency is missing: weekly or monthly."),
        ({"thresholds": [80]}, "thresholds is not allowed with trigger digest. Remove it"),
        ({"trigger": "budget"}, "frequency is not allowed with trigger budget"),
        ({"trigger": "budget", "frequency": None}, ("budget is missing: set the budget. Use listBudgets.")),
        (
            {"trigger": "budget", "frequency": None, "budget": "Clod"},
            "Nearest: 'Cloud'. Use listBudgets.",
        ),
        (
            {"trigger": "budget", "frequency": None, "budget": "Cloud", "thresholds": [0]},
            "thresholds: 0 is not a whole percentage from 1 to 1000",
        ),
        (
            {"trigger": "budget", "frequency": None, "budget": "Cloud", "thresholds": ["eighty"]},
            'thresholds[0]: "eighty" is not a whole number',
        ),
        ({"trigger": "anomaly", "frequency": None, "team": "None"}, "Use listTeams."),
        (
            {"trigger": "anomaly", "frequency": None, "minimum_impact": 5},
            "currency is missing: set the currency of the minimum_impact of 5",
        ),
        (
            {"trigger": "anomaly", "frequency": None, "minimum_impact": "1e400", "currency": "USD"},
            "minimum_impact: ",
        ),
        (
            {"trigger": "anomaly", "frequency": None, "minimum_impact": -1, "currency": "USD"},
            "minimum_impact: -1 USD is not an amount of 0 or more",
        ),
        (
            {"trigger": "anomaly", "frequency": None, "cost_tag": "Unit", "cost_tag_value": "x" * 300},
            "cost_tag_value has 300 characters; the maximum is 255.",
        ),
        ({"kind": "slack"}, "create_alert_subscription has no argument"),
    ],
    ids=str,
)
def test_an_invalid_subscription_is_refused_with_a_correction(
    cast: Cast, writer: McpClient, caplog: pytest.LogCaptureFixture, options: dict[str, Any], message: str
) -> None:
    with account_scope(cast.account):
        create_budget(cast.account, "Cloud")
        CostTag.objects.create(key="Unit")

    with caplog.at_level(logging.ERROR):
        problem = writer.problem(TOOL, **{**DIGEST, **options})

    assert message in problem
    assert "incident" not in problem
    assert not caplog.records
    with account_scope(cast.account):
        assert not AlertSubscription.objects.exists()


@pytest.mark.parametrize("name", ["channel", "budget", "cost_source", "team", "cost_tag"])
def test_objects_of_another_account_are_answered_like_objects_that_do_not_exist(
    cast: Cast, writer: McpClient, name: str
) -> None:
    with account_scope(cast.other_account):
        foreign_values = {
            "channel": create_channel(cast.other_account, "Theirs"),
            "budget": create_budget(cast.other_account, "Theirs"),
            "cost_source": CostSource.objects.create(name="Theirs"),
            "team": Team.objects.create(name="Theirs"),
            "cost_tag": CostTag.objects.create(key="Theirs"),
        }[name].pk
    trigger = {"channel": "digest", "budget": "budget"}.get(name, "anomaly")
    extra = {"frequency": "weekly"} if trigger == "digest" else {}
    extra |= {"cost_tag_value": "x"} if name == "cost_tag" else {}

    def refusal(reference: int | str) -> bytes:
        arguments = {"channel": "Ops", "trigger": trigger, **extra, name: reference}
        answer = writer.http(_request_body(arguments))
        return bytes(answer.content).replace(str(reference).encode(), b"N")

    by_id, by_name = [
        [refusal(each) for each in pair] for pair in ((foreign_values, 10**9), ("Theirs", "Nobody"))
    ]

    assert by_id[0] == by_id[1]
    assert by_name[0] == by_name[1]
    assert f"{name}: 'N' does not exist.".encode() in by_id[0]


def test_a_cost_tag_value_of_another_account_answers_exactly_as_one_that_nobody_has(
    cast: Cast, writer: McpClient
) -> None:
    for account in (cast.account, cast.other_account):
        with account_scope(account):
            CostTag.objects.create(key="Unit", rules=[{"copy": {"keys": ["env"]}}])
            change_anomaly_settings(
                account=account, actor=cast.actor, watches=["cost_tag:Unit"], minimum_impacts={}
            )

    answers = []
    for value in ("theirs", "nobody"):
        answer = writer.ask(TOOL, channel="Ops", trigger="anomaly", cost_tag="Unit", cost_tag_value=value)
        answers.append(
            json.dumps(replace_row_number(answer, answer["subscription"]["id"])).replace(value, "V")
        )

    assert answers[0] == answers[1]


def test_a_retried_create_names_the_subscription_that_exists(writer: McpClient) -> None:
    pk = writer.ask(TOOL, **DIGEST)["subscription"]["id"]

    assert f"Subscription {pk} already sends this to the channel" in writer.problem(TOOL, **DIGEST)


def test_the_cap_filled_in_the_app_refuses_in_the_tool_and_the_reverse(
    cast: Cast, ops: AlertChannel, writer: McpClient, settings: LazySettings
) -> None:
    settings.ALERT_SUBSCRIPTIONS_PER_ACCOUNT = 1
    full = "The account has 1 alert subscriptions; the maximum is 1."
    member, new = signed_in(cast.member), "/a/acme/alerts/subscriptions/new/"
    form = {"channel": ops.pk, "trigger": "digest", "frequency": "monthly"}

    assert member.post(new, form).status_code == 302
    assert full in writer.problem(TOOL, **DIGEST)
    with account_scope(cast.account):
        AlertSubscription.objects.all().delete()

    writer.ask(TOOL, **DIGEST)
    page = member.post(new, form)
    assert (page.status_code, full in page.content.decode()) == (422, True)


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_calls_at_the_limit_succeeds(settings: LazySettings) -> None:
    settings.ALERT_SUBSCRIPTIONS_PER_ACCOUNT = 1
    cast = make_cast()
    with account_scope(cast.account):
        create_channel(cast.account)
    clients = [McpClient(mint(cast, "read_write")) for _ in range(2)]

    with threads(2) as call:
        with transaction.atomic():
            Account.objects.select_for_update(no_key=True).get(pk=cast.account.pk)
            bodies: list[Future[dict[str, Any]]] = []
            for mcp_client, frequency in zip(clients, ("weekly", "monthly"), strict=True):
                bodies.append(call(mcp_client.call, TOOL, **{**DIGEST, "frequency": frequency}))
                wait_until(lambda: waiting() == len(bodies) or any(each.done() for each in bodies))
        results = [each.result() for each in bodies]
    connection.close()

    texts = [each["content"][0]["text"] for each in results if each["isError"]]
    assert len(texts) == 1, results
    assert texts[0].startswith("The account has 1 alert subscriptions; the maximum is 1.")


def test_the_audit_log_names_the_key_or_the_person_and_the_app(cast: Cast, writer: McpClient) -> None:
    token = OAuthClient(client_name="Helper").connect(cast.member, access="read_write").access

    writer.ask(TOOL, **DIGEST)
    McpClient(token).ask(TOOL, **{**DIGEST, "frequency": "monthly"})

    key = MCPKey.objects.unscoped().get()
    entries = AuditEntry.objects.unscoped().filter(action="alert_subscription.create").order_by("pk")
    assert [(entry.actor_label, entry.target) for entry in entries] == [
        (f"MCP key {key.name} ({key.masked_key})", "Weekly digest, to Ops"),
        ("member@example.com by Helper", "Monthly digest, to Ops"),
    ]


def test_a_credential_that_may_only_read_makes_none(cast: Cast, ops: AlertChannel) -> None:
    token = OAuthClient().connect(cast.member).access

    problem = McpClient(mint(cast)).problem(TOOL, **DIGEST)
    answer = McpClient(token).http(_request_body(DIGEST))

    assert ", is read-only. Nothing was changed. Members can create a Read/write key at" in problem
    assert "create a Read/write key at http://127.0.0.1:8000/a/acme/settings/mcp-keys/." in problem
    assert (answer.status_code, "insufficient_scope" in answer["WWW-Authenticate"]) == (403, True)
    with account_scope(cast.account):
        assert not AlertSubscription.objects.exists()


def _request_body(arguments: dict[str, Any]) -> bytes:
    params = {"name": TOOL, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def test_no_tool_makes_or_changes_a_channel_and_none_of_these_destroys() -> None:
    alerts = {tool.name: tool for tool in registry if "lert" in tool.name}

    assert sorted(alerts) == [
        "create_alert_subscription",
        "listAlertChannels",
        "listAlertDeliveries",
        "listAlertSubscriptions",
    ]
    assert [tool.hints["destructiveHint"] for tool in alerts.values()] == [False] * 4
    for tool in alerts.values():
        shape = {"description": tool.description, "input": tool.input_schema}
        assert len(json.dumps(shape, separators=(",", ":"))) <= 1_900
