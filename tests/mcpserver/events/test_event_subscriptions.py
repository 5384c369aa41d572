"""Who may subscribe to events, the verification of a callback, and the end of a subscription."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from accounts.keys import mint_mcp_key, revoke_mcp_key
from accounts.models import Account, AuditEntry, MCPKey
from accounts.oauth.services import disconnect_member
from finops.alerts import services
from finops.alerts.models import AlertDelivery, EventSubscription
from finops.lib import clock
from tests.accounts.oauth.flow import OAuthClient
from tests.cast import Cast
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON
from tests.mcpserver.events.callback import (
    EXTENSION,
    OTHER_SECRET,
    Callback,
    send_all,
    subscribe,
    subscription,
)
from tests.mcpserver.mcp_client import McpClient, mint

YESTERDAY = date(2026, 3, 19)
NAMES = [
    "anomaly.opened",
    "budget.threshold_reached",
    "connection.problem",
    "import.finished",
    "forecast.changed",
]


def reach_budget(account: Account) -> None:
    """A budget that is over its amount."""
    add_source(account, [cost(YESTERDAY, 500)])
    create_budget(account, "Cloud", 400)


def evaluate_baseline(account: Account) -> None:
    """The first evaluation, whose state is the baseline."""
    assert services.evaluate(account) == []


def test_the_capability_is_there_in_both_spellings(mcp_client: McpClient) -> None:
    capabilities = mcp_client.result("server/discover")["capabilities"]

    assert capabilities["events"] == {}
    assert capabilities["extensions"]["io.modelcontextprotocol/events"] == {}


def test_the_events_are_listed_with_the_schemas_of_both_directions(mcp_client: McpClient) -> None:
    events = mcp_client.result("events/list")["events"]

    assert [each["name"] for each in events] == NAMES
    for each in events:
        assert each["delivery"] == ["webhook"]
        assert each["inputSchema"]["type"] == each["payloadSchema"]["type"] == "object"


def test_earlier_revisions_have_no_events(mcp_client: McpClient) -> None:
    assert mcp_client.error("events/list", revision="2025-11-25")["code"] == -32601
    assert (
        "events"
        not in mcp_client.result(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
            revision="2025-11-25",
        )["capabilities"]
    )


def test_a_callback_gives_back_its_challenge_before_anything_is_stored(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    answer = subscribe(mcp_client, "import.finished", callback)

    row = EventSubscription.objects.get()
    assert answer["id"] == row.public_id
    assert answer["refreshBefore"] == (NOON + timedelta(hours=24)).isoformat(timespec="milliseconds")
    assert (answer["cursor"], answer["truncated"]) == (None, False)
    (challenge,) = callback.challenges
    assert callback.check(challenge)["type"] == "verification"
    assert challenge.headers["x-mcp-subscription-id"] == row.public_id
    assert challenge.headers["webhook-id"].startswith("msg_verification_")


@pytest.mark.parametrize(("meta", "code"), [({}, -32015), (EXTENSION, -32027)])
def test_a_callback_that_cannot_is_refused_with_the_code_of_its_dialect(
    acme: Account, mcp_client: McpClient, callback: Callback, meta: dict[str, Any], code: int
) -> None:
    callback.gives_back = False

    error = mcp_client.error("events/subscribe", subscription("import.finished", callback, _meta=meta))

    assert (error["code"], error["data"]) == (code, {"reason": "challenge_failed"})
    assert not EventSubscription.objects.exists()


def test_the_address_guard_holds_for_callbacks(
    acme: Account, mcp_client: McpClient, callback: Callback, settings: Settings
) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []

    error = mcp_client.error("events/subscribe", subscription("import.finished", callback))

    assert error["code"] == -32602
    assert "is in a private or reserved network" in error["message"]
    assert callback.receiver.requests == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "budget.thresholds"}, -32011),
        ({"arguments": {"provider": "aws"}}, -32602),
        ({"delivery": {"mode": "poll"}}, -32014),
        ({"delivery": {"mode": "webhook", "url": "https://hooks.example.com/x", "secret": "short"}}, -32602),
        ({"ttlMs": "long"}, -32602),
    ],
)
def test_an_invalid_value_is_refused(
    acme: Account, mcp_client: McpClient, callback: Callback, change: dict[str, Any], code: int
) -> None:
    assert (
        mcp_client.error("events/subscribe", {**subscription("import.finished", callback), **change})["code"]
        == code
    )
    assert not EventSubscription.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"budget": "Cluod"}, "budget: 'Cluod' does not exist. Nearest: 'Cloud'"),
        ({"budget_id": 1}, 'no argument "budget_id". It is called "budget".'),
    ],
)
def test_an_unknown_budget_and_the_old_name_of_its_argument_are_refused(
    acme: Account, mcp_client: McpClient, callback: Callback, arguments: dict[str, Any], problem: str
) -> None:
    create_budget(acme, "Cloud", 400)

    error = mcp_client.error(
        "events/subscribe", subscription("budget.threshold_reached", callback, arguments)
    )

    assert error["code"] == -32602
    assert problem in error["message"]


def test_a_budget_by_name_and_by_id_is_one_subscription_which_ends_by_id_after_its_deletion(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    budget = create_budget(acme, "Cloud", 400)
    by_name = subscribe(mcp_client, "budget.threshold_reached", callback, budget="cloud")
    by_id = subscribe(mcp_client, "budget.threshold_reached", callback, budget=budget.pk)
    pk = budget.pk
    budget.delete()

    params = subscription("budget.threshold_reached", callback, {"budget": pk})
    mcp_client.result("events/unsubscribe", params)

    assert by_name["id"] == by_id["id"]
    assert not EventSubscription.objects.exists()


def test_subscribing_again_renews_the_one_subscription(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    first = subscribe(mcp_client, "budget.threshold_reached", callback, thresholds=[80, 100])

    with clock.frozen(NOON + timedelta(hours=5)):
        again = mcp_client.result(
            "events/subscribe", subscription("budget.threshold_reached", callback, ttlMs=60_000)
        )

    assert again["id"] == first["id"]
    # As short as it is granted.
    assert again["refreshBefore"] == (NOON + timedelta(hours=5, minutes=10)).isoformat(
        timespec="milliseconds"
    )
    assert EventSubscription.objects.count() == len(callback.challenges) == 1


def test_a_secret_is_replaced_and_both_sign_for_a_while(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    reach_budget(acme)
    subscribe(mcp_client, "budget.threshold_reached", callback)
    evaluate_baseline(acme)
    before, callback.secret = callback.secret, OTHER_SECRET
    subscribe(mcp_client, "budget.threshold_reached", callback)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)

    send_all()

    (request,) = (each for each in callback.receiver.requests if "eventId" in each.json)
    assert callback.check(request) == callback.check(request, before)
    assert len(callback.challenges) == 2


def test_secrets_are_sealed_and_shown_nowhere(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback
) -> None:
    subscribe(mcp_client, "import.finished", callback)

    row = EventSubscription.objects.get()
    entry = AuditEntry.objects.get(action="event_subscription.create")
    for text in (row.target, row.shown_target, str(entry.detail), str(mcp_client.result("events/list"))):
        assert callback.secret not in text
        assert "xXsecretpathXx" not in text


def test_a_stranger_neither_ends_nor_sees_it(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback
) -> None:
    subscribe(mcp_client, "import.finished", callback)
    _key, foreign_key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="theirs")
    strange, params = McpClient(foreign_key), subscription("import.finished", callback)

    assert strange.result("events/unsubscribe", params) == {"resultType": "complete"} | {
        "_meta": strange.result("events/unsubscribe", params)["_meta"]
    }
    subscribe(strange, "import.finished", callback)

    assert EventSubscription.objects.count() == 1
    assert EventSubscription.objects.unscoped().count() == 2
    assert McpClient(None).http(b"{}").status_code == 401


def test_a_subscription_ends_when_its_client_unsubscribes(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    reach_budget(acme)
    subscribe(mcp_client, "budget.threshold_reached", callback)
    evaluate_baseline(acme)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)

    mcp_client.result("events/unsubscribe", subscription("budget.threshold_reached", callback))

    (delivery,) = send_all()
    assert delivery.attempts[-1]["answer"] == "The client unsubscribed."
    assert callback.events == []
    params = subscription("budget.threshold_reached", callback, _meta=EXTENSION)
    assert mcp_client.error("events/unsubscribe", params)["code"] == -32023


def test_a_subscription_ends_with_its_key_and_its_callback_is_notified(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback
) -> None:
    reach_budget(acme)
    subscribe(mcp_client, "budget.threshold_reached", callback)
    evaluate_baseline(acme)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)
    revoke_mcp_key(key=MCPKey.objects.get(), actor=cast.actor)

    send_all()  # no event leaves, whoever looks first
    assert callback.events == []
    services.end_dead()
    send_all()

    (end,) = callback.ends
    assert end["error"]["code"] == -32024
    assert callback.events == []
    assert EventSubscription.objects.get().ended_at == NOON
    services.end_dead()
    assert AlertDelivery.objects.filter(message__kind="end").count() == 1


def test_a_subscription_ends_when_the_person_of_its_connection_leaves(cast: Cast, callback: Callback) -> None:
    viewer = McpClient(OAuthClient().connect(cast.viewer).access)
    subscribe(viewer, "import.finished", callback)
    disconnect_member(account=cast.account, user=cast.viewer, actor=cast.actor)

    assert services.end_dead() == 1
    send_all()
    assert len(callback.ends) == 1


def test_a_subscription_ends_by_time(acme: Account, mcp_client: McpClient, callback: Callback) -> None:
    reach_budget(acme)
    subscribe(mcp_client, "budget.threshold_reached", callback)
    evaluate_baseline(acme)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)

    with clock.frozen(NOON + timedelta(hours=24, seconds=1)):
        (delivery,) = send_all()
        assert delivery.attempts[-1]["answer"] == "The event subscription expired."
        assert services.evaluate(acme) == []
    assert callback.events == []
    with clock.frozen(NOON + timedelta(days=3)):
        assert services.sweep_events() == 1
    assert not EventSubscription.objects.exists()


@pytest.mark.parametrize(("meta", "lives"), [({}, False), (EXTENSION, True)])
def test_410_ends_it_unless_its_client_follows_the_extension(
    acme: Account, mcp_client: McpClient, callback: Callback, meta: dict[str, Any], lives: bool
) -> None:
    reach_budget(acme)
    mcp_client.result("events/subscribe", subscription("budget.threshold_reached", callback, _meta=meta))
    evaluate_baseline(acme)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)
    callback.status = 410

    (delivery,) = send_all()

    assert (delivery.status, len(delivery.attempts)) == ("failed", 1)
    assert (EventSubscription.objects.get().ended_at is None) is lives


def test_a_callback_that_is_down_is_tried_four_times(
    acme: Account, mcp_client: McpClient, callback: Callback
) -> None:
    reach_budget(acme)
    subscribe(mcp_client, "budget.threshold_reached", callback)
    evaluate_baseline(acme)
    create_budget(acme, "Second", 300)
    services.evaluate(acme)
    callback.status = 503

    for minutes in (0, 1, 5, 20, 60):
        with clock.frozen(NOON + timedelta(minutes=minutes)):
            (delivery,) = send_all()

    assert (delivery.status, len(delivery.attempts)) == ("failed", 4)
    assert len({event["eventId"] for event in callback.events}) == 1


def test_a_credential_has_so_many_subscriptions(
    acme: Account, cast: Cast, mcp_client: McpClient, callback: Callback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.alerts.services.event_subscriptions.MAX_OF_CREDENTIAL", 1)
    subscribe(mcp_client, "import.finished", callback)

    error = mcp_client.error("events/subscribe", subscription("connection.problem", callback))

    assert (error["code"], error["data"]) == (-32013, {"limit": "subscriptions", "max": 1})
    other = McpClient(mint(cast, "read_write"))
    subscribe(other, "connection.problem", callback)
