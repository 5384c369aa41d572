"""Making, pausing and deleting subscriptions: the checks, the cap, the audit log."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import transaction

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts import queries, services
from finops.alerts.models import AlertSubscription
from finops.alerts.schemas import SubscriptionsQuery
from finops.allocation.models import CostTag, Team
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.alerts import (
    create_channel,
    evaluate,
    subscribe,
    subscribe_to_anomalies,
    subscribe_to_budget,
)
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.waiting import is_blocking_others, threads, wait_until

ONE = pytest.mark.django_db


def refusal(account: Account, trigger: str = "digest", /, **options: Any) -> UserError:
    with pytest.raises(UserError) as problem:
        subscribe(account, trigger, **options)
    return problem.value


@ONE
def test_a_subscription_to_a_budget_is_listed_in_words(acme: Account) -> None:
    budget = create_budget(acme, "Cloud")
    subscribe_to_budget(acme, "cloud", 100, 50, 100, channel="OPS")

    (row,) = queries.every_subscription(acme)

    assert row.about == "Budget Cloud at 50% and 100% of the actual cost, to Ops"
    assert (row.budget_id, row.thresholds, row.measure) == (budget.pk, [50, 100], "actual")
    assert (row.channel_name, row.paused, row.last_fired_at, row.warning) == ("Ops", False, None, "")


@ONE
def test_thresholds_that_are_left_out_are_80_and_100(acme: Account) -> None:
    create_budget(acme, "Cloud")

    assert subscribe_to_budget(acme, "Cloud", measure="forecast").thresholds == [80, 100]


@ONE
def test_alerts_of_anomalies_and_digests_have_a_text_too(acme: Account) -> None:
    add_source(acme, [], name="AWS")
    subscribe_to_anomalies(acme, "99.50", scope="cost_source", cost_source="aws")
    subscribe_to_anomalies(acme)
    subscribe(acme, "digest", frequency="monthly")

    assert [row.about for row in reversed(queries.every_subscription(acme))] == [
        "Anomalies of cost source AWS from 99.50 USD on, to Ops",
        "Anomalies of the whole account, to Ops",
        "Monthly digest, to Ops",
    ]


@ONE
def test_ids_name_rows_as_well_as_names_do(acme: Account) -> None:
    budget, ops = create_budget(acme, "Cloud"), create_channel(acme, "Chat")

    row = subscribe_to_budget(acme, budget.pk, channel=ops.pk)

    assert (row.budget_id, row.channel_id) == (budget.pk, ops.pk)


@ONE
def test_a_subscription_is_written_into_the_audit_log(acme: Account) -> None:
    subscription = subscribe(acme)
    services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
    services.resume_alert_subscription(subscription=subscription, actor=ACTOR)
    services.delete_alert_subscription(subscription=subscription, actor=ACTOR)

    entries = AuditEntry.objects.filter(action__startswith="alert_subscription").order_by("pk")
    assert [(entry.action, entry.target) for entry in entries] == [
        (f"alert_subscription.{verb}", "Weekly digest, to Ops")
        for verb in ("create", "pause", "resume", "delete")
    ]
    assert entries[0].detail == {
        "id": subscription.pk,
        "channel": "Ops",
        "trigger": "digest",
    }


@ONE
def test_pausing_and_resuming_twice_change_nothing(acme: Account) -> None:
    subscription = subscribe(acme)
    first = services.pause_alert_subscription(subscription=subscription, actor=ACTOR)

    again = services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
    assert again.paused_at == first.paused_at
    for _ in range(2):
        assert services.resume_alert_subscription(subscription=subscription, actor=ACTOR).paused_at is None

    assert AuditEntry.objects.filter(action__startswith="alert_subscription").count() == 3


@ONE
@pytest.mark.parametrize("verb", ["pause", "resume", "delete"])
def test_a_subscription_that_is_gone_says_so(acme: Account, verb: str) -> None:
    subscription = subscribe(acme)
    services.delete_alert_subscription(subscription=subscription, actor=ACTOR)

    with pytest.raises(UserError, match="That alert subscription was already deleted"):
        getattr(services, f"{verb}_alert_subscription")(subscription=subscription, actor=ACTOR)


@ONE
@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ({"trigger": "weather"}, "trigger", "Valid: budget, anomaly, digest"),
        (
            {"trigger": "digest", "channel": None},
            "channel",
            (
                "channel is missing: set the alert channel. Use "
                "listAlertChannels; members create channels on "
                "the Alerts page."
            ),
        ),
        ({"trigger": "digest", "channel": "Opps"}, "channel", "Nearest: 'Ops'"),
        ({"trigger": "digest", "channel": "O\x00ps"}, "channel", "does not exist. Nearest: 'Ops'"),
        ({"trigger": "digest", "frequency": ""}, "frequency", "weekly or monthly"),
        ({"trigger": "digest", "frequency": "daily"}, "frequency", "Valid: weekly, monthly"),
        ({"trigger": "digest", "budget": "Cloud"}, "budget", "is not allowed with trigger digest"),
        ({"trigger": "budget"}, "budget", "budget is missing: set the budget. Use listBudgets."),
        ({"trigger": "budget", "budget": "Clout"}, "budget", "Nearest: 'Cloud'"),
        ({"trigger": "budget", "budget": 10**30}, "budget", "does not exist. Valid: 'Cloud'"),
        (
            {"trigger": "budget", "budget": "Cloud", "thresholds": [0]},
            "thresholds",
            "0 is not a whole percentage",
        ),
        ({"trigger": "budget", "budget": "Cloud", "thresholds": [1001]}, "thresholds", "from 1 to 1000"),
        (
            {"trigger": "budget", "budget": "Cloud", "thresholds": range(1, 12)},
            "thresholds",
            "11 given; the maximum is 10",
        ),
        ({"trigger": "budget", "budget": "Cloud", "measure": "guess"}, "measure", "Valid: actual, forecast"),
        (
            {"trigger": "budget", "budget": "Cloud", "scope": "team"},
            "scope",
            "allowed: budget, thresholds, measure",
        ),
        ({"trigger": "anomaly", "scope": "planet"}, "scope", "Valid: account, cost_source, team, cost_tag"),
        ({"trigger": "anomaly", "scope": "team"}, "team", "required for an alert of scope team"),
        ({"trigger": "anomaly", "team": "Core"}, "team", "is not allowed with scope account"),
        ({"trigger": "anomaly", "scope": "team", "team": "Cor"}, "team", "Nearest: 'Core'"),
        ({"trigger": "anomaly", "scope": "cost_tag", "cost_tag": "ring"}, "cost_tag_value", "is missing"),
        (
            {"trigger": "anomaly", "scope": "cost_tag", "cost_tag": "ring", "cost_tag_value": "a\x00b"},
            "cost_tag_value",
            "cost_tag_value contains NUL (U+0000)",
        ),
        (
            {"trigger": "anomaly", "scope": "cost_tag", "cost_tag": "ring", "cost_tag_value": "\ud800"},
            "cost_tag_value",
            "cost_tag_value contains a lone surrogate",
        ),
        (
            {"trigger": "anomaly", "scope": "cost_tag", "cost_tag": "ring", "cost_tag_value": "x" * 256},
            "cost_tag_value",
            "256 characters; the maximum is 255",
        ),
        ({"trigger": "anomaly", "minimum_impact": Decimal(5)}, "currency", "currency is missing"),
        ({"trigger": "anomaly", "currency": "USD"}, "minimum_impact", "minimum_impact is missing"),
        ({"trigger": "anomaly", "minimum_impact": Decimal(5), "currency": "Dollar"}, "currency", "ISO 4217"),
        *(
            (
                {"trigger": "anomaly", "minimum_impact": Decimal(wrong), "currency": "USD"},
                "minimum_impact",
                "is not an amount of 0 or more",
            )
            for wrong in ("-1", "0.001", "NaN", "Infinity", "1e20")
        ),
    ],
    ids=lambda value: "-".join(f"{each}" for each in value) if isinstance(value, dict) else "",
)
def test_an_impossible_value_is_refused_with_instructions(
    acme: Account, arguments: dict[str, Any], field: str, message: str
) -> None:
    create_budget(acme, "Cloud")
    Team.objects.create(account=acme, name="Core")
    CostTag.objects.create(account=acme, key="ring")
    trigger, values = (
        arguments["trigger"],
        {key: value for key, value in arguments.items() if key != "trigger"},
    )

    problem = refusal(acme, trigger, **values)

    assert message in problem.message
    assert problem.field == field
    assert not AlertSubscription.objects.exists()


@ONE
def test_rows_of_another_account_are_answered_as_ones_that_are_not_there(acme: Account, cast: Cast) -> None:
    other = cast.other_account
    with account_scope(other):
        foreign_values = {
            "channel": create_channel(other, "Theirs").pk,
            "budget": create_budget(other, "Theirs").pk,
            "cost_source": add_source(other, [], name="Theirs").pk,
            "team": Team.objects.create(account=other, name="Theirs").pk,
            "cost_tag": CostTag.objects.create(account=other, key="theirs").pk,
        }
    nowhere = 10**9

    def create_error(field: str, number: int) -> str:
        scope = {"cost_tag_value": "x"} if field == "cost_tag" else {}
        draft: dict[str, dict[str, Any]] = {
            "channel": {"trigger": "digest", "channel": number},
            "budget": {"trigger": "budget", "budget": number},
        }
        fields = draft.get(field, {"trigger": "anomaly", "scope": field, field: number, **scope})
        return refusal(acme, fields.pop("trigger"), **fields).message.replace(str(number), "N")

    for field, number in foreign_values.items():
        assert create_error(field, number) == create_error(field, nowhere)


@ONE
def test_the_same_again_names_the_subscription_that_is_there(acme: Account) -> None:
    create_budget(acme, "Cloud")
    first = subscribe_to_budget(acme, "Cloud", 80, 100)

    problem = refusal(acme, "budget", budget="Cloud", thresholds=(100, 80))

    assert problem.message == (
        f"Subscription {first.pk} already sends this to the channel: Budget 'Cloud' at 80% and "
        "100% of the actual cost, to 'Ops'. No new subscription is needed."
    )
    assert problem.value == first.pk


@ONE
def test_a_threshold_that_was_sent_is_not_sent_twice(acme: Account) -> None:
    create_budget(acme, "Cloud")
    first = subscribe_to_budget(acme, "Cloud", 80)

    problem = refusal(acme, "budget", budget="Cloud", thresholds=(80, 100, 120))

    assert problem.message.startswith(f"Subscription {first.pk} ")
    assert problem.message.endswith("Request only the other thresholds: 100, 120.")
    assert subscribe_to_budget(acme, "Cloud", 100, 120).pk
    assert subscribe_to_budget(acme, "Cloud", 80, measure="forecast").pk
    create_channel(acme, "Chat")
    assert subscribe_to_budget(acme, "Cloud", 80, channel="Chat").pk


@ONE
def test_anomalies_of_one_scope_are_sent_once_to_a_channel(acme: Account) -> None:
    CostTag.objects.create(account=acme, key="ring")
    first = subscribe_to_anomalies(acme, 100)
    services.pause_alert_subscription(subscription=first, actor=ACTOR)

    assert refusal(acme, "anomaly", minimum_impact=Decimal(500), currency="USD").message == (
        f"Subscription {first.pk}, which is paused, already sends this to the channel: Anomalies "
        "of the whole account from 100.00 USD on, to 'Ops'. Edit its minimum_impact on its page."
    )
    assert "already sends this to the channel:" in refusal(acme, "anomaly").message
    assert subscribe(acme, "anomaly", minimum_impact=Decimal(500), currency="EUR").pk
    ring = {"scope": "cost_tag", "cost_tag": "ring"}
    assert subscribe_to_anomalies(acme, 100, **ring, cost_tag_value="Inner").pk
    assert subscribe_to_anomalies(acme, 100, **ring, cost_tag_value="Outer").pk
    assert (
        "already sends this to the channel:"
        in refusal(acme, "anomaly", **ring, cost_tag_value="inner").message
    )


@ONE
def test_the_cap_is_by_account_and_the_error_names_it_and_the_count(
    acme: Account, cast: Cast, settings: LazySettings
) -> None:
    settings.ALERT_SUBSCRIPTIONS_PER_ACCOUNT = 2
    with account_scope(cast.other_account):
        create_channel(cast.other_account)
        subscribe(cast.other_account)
    first = subscribe(acme)
    subscribe_to_anomalies(acme)

    problem = refusal(acme, "digest", frequency="monthly")

    assert problem.message == (
        "The account has 2 alert subscriptions; the maximum is 2. Delete a subscription first."
    )
    assert f"Subscription {first.pk} " in refusal(acme).message
    services.delete_alert_subscription(subscription=first, actor=ACTOR)
    assert subscribe(acme, "digest", frequency="monthly").pk


@ONE
def test_the_cap_is_two_hundred(settings: LazySettings) -> None:
    assert settings.ALERT_SUBSCRIPTIONS_PER_ACCOUNT == 200


@pytest.mark.django_db(transaction=True)
def test_one_of_two_concurrent_creates_at_the_limit_succeeds(settings: LazySettings) -> None:
    settings.ALERT_SUBSCRIPTIONS_PER_ACCOUNT = 1
    account = make_cast().account
    with account_scope(account):
        create_channel(account)

    with threads(1) as call:
        with transaction.atomic():
            subscribe(account)
            second = call(subscribe, account, "digest", frequency="monthly")
            wait_until(is_blocking_others)
        with pytest.raises(UserError, match="1 alert subscriptions; the maximum is 1"):
            second.result()


@pytest.mark.django_db(transaction=True)
def test_the_second_of_two_equal_concurrent_creates_names_the_first() -> None:
    account = make_cast().account
    with account_scope(account):
        create_channel(account)

    with threads(1) as call:
        with transaction.atomic():
            first = subscribe(account)
            second = call(subscribe, account)
            wait_until(is_blocking_others)
        with pytest.raises(UserError, match=f"Subscription {first.pk} already sends this to the channel"):
            second.result()


@ONE
def test_the_list_pages_and_filters(acme: Account) -> None:
    budget = create_budget(acme, "Cloud")
    chat = create_channel(acme, "Chat")
    for percent in range(1, 6):
        subscribe_to_budget(acme, "Cloud", percent)
    subscribe(acme, channel="Chat")

    first = queries.alert_subscriptions(acme, SubscriptionsQuery(triggers=["budget"], limit=3))
    second = queries.alert_subscriptions(
        acme, SubscriptionsQuery(triggers=["budget"], limit=3, cursor=first.cursor)
    )

    assert [row.thresholds for row in first.subscriptions + second.subscriptions] == [
        [5],
        [4],
        [3],
        [2],
        [1],
    ]
    assert (first.total, second.cursor) == (5, "")
    of_chat = queries.alert_subscriptions(acme, SubscriptionsQuery(channel=chat.pk)).subscriptions
    assert [row.trigger for row in of_chat] == ["digest"]
    assert queries.alert_subscriptions(acme, SubscriptionsQuery(budget=budget.pk)).total == 5
    with pytest.raises(
        UserError, match=r"cursor does not belong to these arguments\. Remove it to start again"
    ):
        queries.alert_subscriptions(acme, SubscriptionsQuery(cursor=first.cursor))


@ONE
def test_the_list_says_when_a_subscription_fired_last(acme: Account) -> None:
    create_budget(acme, "Cloud", 10)
    subscribe_to_budget(acme, "Cloud", 100)
    subscribe(acme)
    add_source(acme, [cost(clock.today() - timedelta(days=1), 10)])

    evaluate(acme)

    assert [row.last_fired_at for row in queries.every_subscription(acme)] == [None, clock.now()]
