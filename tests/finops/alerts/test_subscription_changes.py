"""Changes of a subscription: earlier alerts are not sent again, and a change to another object is refused."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.alerts import services, tasks
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.alerts.triggers.digest import due_digest
from finops.allocation.models import CostTag, Team
from finops.insights.anomalies.services import detect_if_due
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, make_cast, signed_in
from tests.factories.alerts import (
    create_channel,
    delivery_titles,
    evaluate,
    subscribe,
    subscribe_to_anomalies,
    subscribe_to_budget,
    subscription_draft,
)
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.days import NOON
from tests.waiting import is_blocking_others, threads, wait_until

ONE = pytest.mark.django_db
YESTERDAY = date(2026, 3, 19)


def change(row: AlertSubscription, **more_fields: Any) -> AlertSubscription:
    """As it is, but for what is said."""
    row.refresh_from_db()
    names = ("budget", "cost_source", "team", "cost_tag")
    is_of: dict[str, Any] = {name: getattr(row, f"{name}_id") for name in names}
    settings = ("scope", "cost_tag_value", "thresholds", "measure", "minimum_impact", "currency", "frequency")
    has = {name: getattr(row, name) for name in settings}
    options = {"channel": row.channel_id, **is_of, **has, **more_fields}
    new_draft = subscription_draft(str(options.pop("trigger", row.trigger)), **options)
    return services.change_alert_subscription(subscription=row, actor=ACTOR, draft=new_draft)


@pytest.fixture
def at_85(acme: Account) -> AlertSubscription:
    """Of the budget Cloud, which is at 85%; 80% is told."""
    add_source(acme, [cost(YESTERDAY, 85)])
    create_budget(acme, "Cloud", 100)
    row = subscribe_to_budget(acme, "Cloud", 80, 100)
    assert evaluate(acme) == ["budget 'Cloud' is at 85%"]
    return row


# A budget's thresholds


@ONE
def test_a_threshold_that_was_sent_is_not_sent_again(acme: Account, at_85: AlertSubscription) -> None:
    change(at_85, thresholds=[100])
    assert evaluate(acme) == []
    change(at_85, thresholds=[80, 120])
    assert evaluate(acme) == []


@ONE
def test_a_new_threshold_that_is_reached_is_sent_once_to_the_current_channel(
    acme: Account, at_85: AlertSubscription
) -> None:
    chat = create_channel(acme, "Chat")

    change(at_85, thresholds=[50, 80, 100], channel="Chat")

    (delivery,) = services.evaluate(acme)
    assert delivery.channel_id == chat.pk
    assert evaluate(acme) == []
    assert at_85.firings.exclude(message={}).count() == 2


@ONE
def test_by_the_forecast_what_the_cost_has_reached_is_no_news(
    acme: Account, at_85: AlertSubscription
) -> None:
    change(at_85, measure="forecast", thresholds=[80, 1000])

    assert evaluate(acme) == []
    # There is no forecast of one day of cost: a period costs at least what is spent.
    change(at_85, thresholds=[70, 80])
    assert evaluate(acme) == ["budget 'Cloud' is at 85%"]


@ONE
def test_cost_that_reaches_the_forecast_is_alerted(acme: Account) -> None:
    source = add_source(acme, daily_cost(date(2026, 2, 1), YESTERDAY, 4))
    create_budget(acme, "Cloud", 100)
    row = subscribe_to_budget(acme, "Cloud", 100, measure="forecast")
    assert len(evaluate(acme)) == 1

    change(row, measure="actual")
    assert evaluate(acme) == []
    store_lines(acme, source, [*daily_cost(date(2026, 3, 1), date(2026, 3, 18), 4), cost(YESTERDAY, 40)])
    assert evaluate(acme) == ["budget 'Cloud' is at 112%"]


@ONE
def test_a_new_threshold_says_nothing_of_the_period_that_is_over(acme: Account) -> None:
    """A new subscription would not either; what was asked for before is still told while the bill comes in."""
    with clock.frozen(NOON - timedelta(days=30)):
        create_budget(acme, "Cloud", 100)
        row = subscribe_to_budget(acme, "Cloud", 100)
    source = add_source(acme, [cost(date(2026, 2, 20), 90)])
    with clock.frozen(NOON.replace(month=3, day=2)):
        change(row, thresholds=[80, 100])
        assert evaluate(acme) == []
        store_lines(acme, source, [cost(date(2026, 2, 20), 130)])
        assert len(evaluate(acme)) == 1
    assert sorted(row.firings.exclude(message={}).values_list("key", flat=True))[0].endswith(":100")


@ONE
def test_a_paused_subscription_stays_paused(acme: Account, at_85: AlertSubscription) -> None:
    services.pause_alert_subscription(subscription=at_85, actor=ACTOR)

    assert change(at_85, thresholds=[50]).paused_at is not None
    assert evaluate(acme) == []
    services.resume_alert_subscription(subscription=at_85, actor=ACTOR)
    assert evaluate(acme) == ["budget 'Cloud' is at 85%"]


# Anomalies


@ONE
def test_a_lower_impact_sends_no_anomaly_that_is_known_but_those_to_come(acme: Account) -> None:
    source = add_source(acme, daily_cost(date(2025, 9, 1), YESTERDAY, 10))
    row = subscribe_to_anomalies(acme, 100_000)
    store_lines(acme, source, [*daily_cost(date(2026, 3, 1), date(2026, 3, 18), 10), cost(YESTERDAY, 999)])
    detect_if_due(acme)
    assert evaluate(acme) == []

    change(row, minimum_impact=Decimal(50))

    assert evaluate(acme) == []
    change(row, minimum_impact=None, currency="")
    assert evaluate(acme) == []
    with clock.frozen(NOON + timedelta(days=8)):
        store_lines(
            acme, source, [*daily_cost(date(2026, 3, 1), date(2026, 3, 26), 10), cost(date(2026, 3, 27), 999)]
        )
        detect_if_due(acme)
        assert len(evaluate(acme)) == 1


@ONE
def test_an_anomaly_that_was_not_sent_yet_is_sent_after_the_change(acme: Account) -> None:
    source = add_source(acme, daily_cost(date(2025, 9, 1), YESTERDAY, 10))
    row = subscribe_to_anomalies(acme, 100)
    store_lines(acme, source, [*daily_cost(date(2026, 3, 1), date(2026, 3, 18), 10), cost(YESTERDAY, 999)])
    detect_if_due(acme)

    change(row, minimum_impact=Decimal(50))

    assert len(evaluate(acme)) == 1


# A digest


@ONE
def test_another_frequency_passes_over_the_digest_of_days_that_are_over(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    row = subscribe(acme)

    change(row, frequency="monthly")

    assert evaluate(acme) == []
    assert row.firings.filter(key=due_digest("monthly", clock.today()).key).exists()
    with clock.frozen(NOON.replace(month=4, day=6)):
        assert len(evaluate(acme)) == 1


# What is refused


@ONE
def test_the_object_of_a_subscription_cannot_change(acme: Account) -> None:
    create_budget(acme, "Cloud")
    create_budget(acme, "Other")
    Team.objects.create(account=acme, name="Core")
    CostTag.objects.create(account=acme, key="ring")
    budget = subscribe_to_budget(acme, "Cloud", 80)
    ring = subscribe_to_anomalies(acme, 100, scope="cost_tag", cost_tag="ring", cost_tag_value="Inner")
    nothing = {"scope": "", "cost_tag": None, "cost_tag_value": "", "minimum_impact": None, "currency": ""}

    for row, other in (
        (budget, {"budget": "Other"}),
        (
            budget,
            {"trigger": "digest", "budget": None, "thresholds": [], "measure": "", "frequency": "weekly"},
        ),
        (ring, {"cost_tag_value": "Outer"}),
        (ring, {**nothing, "scope": "team", "team": "Core"}),
        (ring, {**nothing, "scope": "account"}),
    ):
        with pytest.raises(UserError, match=r"cannot be changed\. Create another subscription instead"):
            change(row, **other)
    change(ring, cost_tag_value="INNER", minimum_impact=Decimal(5))
    ring.refresh_from_db()
    assert (ring.cost_tag_value, ring.minimum_impact) == ("Inner", Decimal(5))


@ONE
def test_a_duplicate_of_another_subscription_is_refused_with_its_name(acme: Account) -> None:
    create_budget(acme, "Cloud")
    create_channel(acme, "Chat")
    first, second = subscribe_to_budget(acme, "Cloud", 80), subscribe_to_budget(acme, "Cloud", 100)
    weekly, monthly = subscribe(acme), subscribe(acme, frequency="monthly")
    of_chat, of_ops = subscribe_to_anomalies(acme, 5, channel="Chat"), subscribe_to_anomalies(acme, 5)

    for row, other, values in (
        (second, first, {"thresholds": [80, 100]}),
        (monthly, weekly, {"frequency": "weekly"}),
        (of_chat, of_ops, {"channel": "Ops", "minimum_impact": Decimal(9)}),
    ):
        with pytest.raises(UserError, match=f"Subscription {other.pk} already sends this to the channel"):
            change(row, **values)
    assert change(second, channel="Chat", thresholds=[80, 100]).thresholds == [80, 100]


@ONE
def test_without_a_difference_nothing_is_written(acme: Account, task_arguments: list[list[int]]) -> None:
    create_budget(acme, "Cloud")
    before = len(task_arguments)
    row = subscribe_to_budget(acme, "Cloud", 80, 100)

    change(row, thresholds=[100, 80, 100])

    assert not AuditEntry.objects.filter(action="alert_subscription.change").exists()
    assert len(task_arguments) == before


@ONE
def test_the_audit_log_has_both_settings(acme: Account) -> None:
    create_budget(acme, "Cloud")
    create_channel(acme, "Chat")
    budget, anomalies, digest = (
        subscribe_to_budget(acme, "Cloud", 80),
        subscribe_to_anomalies(acme, "99.50"),
        subscribe(acme),
    )

    change(budget, thresholds=[90, 100], measure="forecast", channel="Chat")
    change(anomalies, minimum_impact=None, currency="")
    change(digest, frequency="monthly")

    entries = list(AuditEntry.objects.filter(action="alert_subscription.change").order_by("pk"))
    assert [(entry.detail["from"], entry.detail["to"]) for entry in entries] == [
        (
            {"channel": "Ops", "thresholds": [80], "measure": "actual"},
            {"channel": "Chat", "thresholds": [90, 100], "measure": "forecast"},
        ),
        (
            {"channel": "Ops", "minimum_impact": "99.50 USD"},
            {"channel": "Ops", "minimum_impact": ""},
        ),
        ({"channel": "Ops", "frequency": "weekly"}, {"channel": "Ops", "frequency": "monthly"}),
    ]
    assert entries[0].target == "Budget Cloud at 90% and 100% by the forecast, to Chat"


# At once


@pytest.mark.django_db(transaction=True)
def test_the_later_of_two_concurrent_changes_wins() -> None:
    account = make_cast().account
    with account_scope(account), clock.frozen(NOON):
        create_channel(account)
        create_budget(account, "Cloud")
        row = subscribe_to_budget(account, "Cloud", 80)
        first, second = (subscription_draft("budget", budget="Cloud", thresholds=[each]) for each in (90, 95))

    def save(asked: Any) -> AlertSubscription:
        return services.change_alert_subscription(subscription=row, actor=ACTOR, draft=asked)

    with threads(1) as call:
        with transaction.atomic():
            save(first)
            later = call(save, second)
            wait_until(is_blocking_others)
        assert later.result().thresholds == [95]

    with account_scope(account):
        assert AlertSubscription.objects.get().thresholds == [95]
        changes = AuditEntry.objects.filter(action="alert_subscription.change").order_by("pk")
        assert [entry.detail["from"]["thresholds"] for entry in changes] == [[80], [90]]


@pytest.mark.django_db(transaction=True)
def test_a_subscription_changed_during_an_evaluation_sends_nothing_by_its_old_settings() -> None:
    account = make_cast().account
    with account_scope(account), clock.frozen(NOON):
        create_channel(account)
        add_source(account, [cost(YESTERDAY, 85)])
        create_budget(account, "Cloud", 100)
        row = subscribe_to_budget(account, "Cloud", 80)

    def evaluate_at_noon() -> list[AlertDelivery]:
        """A thread's clock is its own."""
        with clock.frozen(NOON):
            return services.evaluate(account)

    with threads(1) as call:
        with transaction.atomic(), account_scope(account):
            change(row, thresholds=[100])
            worker = call(evaluate_at_noon)
            wait_until(is_blocking_others)
        assert worker.result() == []


@ONE
def test_a_change_is_evaluated_at_once(acme: Account, at_85: AlertSubscription, task_arguments: Any) -> None:
    tasks.evaluate(acme.pk)
    assert acme.pk not in services.due_accounts()

    change(at_85, thresholds=[50, 80, 100])

    assert acme.pk in services.due_accounts()
    tasks.evaluate(acme.pk)
    assert delivery_titles(acme) == ["budget 'Cloud' is at 85%"] * 2


# The page


def test_the_page_shows_the_settings_and_changes_them(acme: Account, cast: Cast) -> None:
    member, budget = signed_in(cast.member), create_budget(acme, "Cloud")
    chat, row = create_channel(acme, "Chat"), subscribe_to_budget(acme, "Cloud", 80, 100)
    url = f"/a/acme/alerts/subscriptions/{row.pk}/"

    assert f'href="{url}edit/"' in member.get(url).content.decode()
    page = member.get(f"{url}edit/").content.decode()
    assert 'value="80, 100"' in page
    assert 'name="budget"' not in page
    assert 'name="trigger"' not in page
    form = {"channel": chat.pk, "thresholds": "75; 110 %", "measure": "forecast"}
    # What the form does not offer is not heard.
    answer = member.post(f"{url}edit/", {**form, "trigger": "digest", "budget": budget.pk + 1}, follow=True)

    assert answer.redirect_chain == [(url, 302)]
    assert "Subscription updated." in answer.content.decode()
    row.refresh_from_db()
    assert (row.channel_id, row.thresholds, row.measure) == (chat.pk, [75, 110], "forecast")


@pytest.mark.parametrize(
    ("trigger", "fields", "message"),
    [
        ("budget", {"thresholds": "none"}, "“none” is not a whole number"),
        ("budget", {"channel": ""}, "Choose a channel."),
        ("anomaly", {"minimum_impact": "5"}, "currency is missing"),
        ("digest", {"frequency": "daily"}, "Select a valid choice"),
        ("digest", {"frequency": "monthly"}, "Delete one of the two instead."),
    ],
)
def test_a_change_that_cannot_be_says_why(
    acme: Account, cast: Cast, trigger: str, fields: dict[str, str], message: str
) -> None:
    create_budget(acme, "Cloud")
    row = {
        "budget": lambda: subscribe_to_budget(acme, "Cloud", 80),
        "anomaly": lambda: subscribe_to_anomalies(acme),
    }.get(trigger, lambda: subscribe(acme))()
    subscribe(acme, frequency="monthly")
    form = {"channel": AlertChannel.objects.get().pk, "thresholds": "80", "measure": "actual", **fields}

    answer = signed_in(cast.member).post(f"/a/acme/alerts/subscriptions/{row.pk}/edit/", form)

    assert answer.status_code == 422
    assert message in answer.content.decode()


def test_a_viewer_does_not_change_it_and_a_stranger_does_not_find_it(acme: Account, cast: Cast) -> None:
    row = subscribe(acme)
    url = f"/a/acme/alerts/subscriptions/{row.pk}/edit/"

    viewer: Client = signed_in(cast.viewer)
    assert [viewer.get(url).status_code, viewer.post(url, {}).status_code] == [403, 403]
    assert signed_in(cast.stranger).get(url).status_code == 404
    assert "edit/" not in viewer.get(url.removesuffix("edit/")).content.decode()
    assert not AlertDelivery.objects.exists()
