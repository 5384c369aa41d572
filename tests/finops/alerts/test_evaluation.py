"""When accounts are evaluated, the number of queries, and that a firing and its delivery are one transaction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import services, tasks
from finops.alerts.models import AlertDelivery, AlertEvaluation, AlertFiring, AlertSubscription
from finops.alerts.services import evaluation_runs
from finops.allocation.models import CostTag, Team, TeamKey
from finops.budgets.queries import list_budgets
from finops.budgets.schemas import BudgetsQuery
from finops.insights.anomalies.services import detect_if_due
from finops.lake.engine import engine
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.alerts import (
    create_channel,
    evaluate,
    subscribe,
    subscribe_to_anomalies,
    subscribe_to_budget,
)
from tests.factories.budgets import cost_tag_scope, create_budget, daily_cost, source_scope, team_scope
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.days import NOON
from tests.waiting import is_blocking_others, threads, wait_until

ONE = pytest.mark.django_db
COMMITTED = pytest.mark.django_db(transaction=True)
YESTERDAY = date(2026, 3, 19)


def at_noon(function: Callable[..., Any], *args: Any) -> Any:
    """A thread's clock is its own."""
    with clock.frozen(NOON):
        return function(*args)


@pytest.fixture
def account_over_budget() -> Account:
    """Acme, committed, with a budget that is spent and the channel Ops subscribed to it."""
    account = make_cast().account
    with account_scope(account), clock.frozen(NOON):
        create_channel(account)
        add_source(account, [cost(YESTERDAY, 500)])
        create_budget(account, "Cloud", 400)
        subscribe_to_budget(account, "Cloud", 80, 100)
    return account


def counts(account: Account) -> tuple[int, int]:
    """Firings and deliveries."""
    with account_scope(account):
        return AlertFiring.objects.count(), AlertDelivery.objects.count()


@COMMITTED
def test_the_second_of_two_concurrent_workers_waits_and_finds_the_work_done(
    account_over_budget: Account,
) -> None:
    with threads(1) as call:
        with transaction.atomic():
            first = at_noon(services.evaluate, account_over_budget)
            second = call(at_noon, services.evaluate, account_over_budget)
            wait_until(is_blocking_others)
        assert (len(first), second.result()) == (1, [])

    assert counts(account_over_budget) == (2, 1)


@COMMITTED
def test_one_of_many_concurrent_workers_sends_the_alert(account_over_budget: Account) -> None:
    with threads(4) as call:
        futures = [call(at_noon, services.evaluate, account_over_budget) for _ in range(8)]
        sent_counts = [len(each.result()) for each in futures]

    assert sum(sent_counts) == 1
    assert counts(account_over_budget) == (2, 1)


@COMMITTED
def test_a_worker_that_is_killed_between_firing_and_delivery_has_done_neither(
    account_over_budget: Account,
) -> None:
    with threads(1) as call:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE alerts_alertdelivery IN EXCLUSIVE MODE")
            worker = call(at_noon, services.evaluate, account_over_budget)
            wait_until(is_blocking_others)
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = "
                "ANY(pg_blocking_pids(pid))"
            )
            with pytest.raises(DatabaseError):
                worker.result()
        assert counts(account_over_budget) == (0, 0)

        assert len(call(at_noon, services.evaluate, account_over_budget).result()) == 1

    assert counts(account_over_budget) == (2, 1)


@COMMITTED
def test_a_subscription_paused_during_the_evaluation_is_not_notified(account_over_budget: Account) -> None:
    with account_scope(account_over_budget):
        subscription = AlertSubscription.objects.get()
    with threads(1) as call:
        with transaction.atomic():
            services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
            worker = call(at_noon, services.evaluate, account_over_budget)
            wait_until(is_blocking_others)
        assert worker.result() == []

    assert counts(account_over_budget) == (0, 0)


@ONE
def test_a_delivery_that_cannot_be_recorded_takes_its_firing_back(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 500)])
    create_budget(acme, "Cloud", 400)
    subscribe_to_budget(acme, "Cloud", 80, 100)
    refuse = "ALTER TABLE alerts_alertdelivery ADD CONSTRAINT refuses CHECK (false) NOT VALID"

    with connection.cursor() as cursor:
        cursor.execute(refuse)
        with pytest.raises(IntegrityError):
            services.evaluate(acme)
        assert not AlertFiring.objects.exists()
        cursor.execute("ALTER TABLE alerts_alertdelivery DROP CONSTRAINT refuses")

    assert evaluate(acme) == ["budget 'Cloud' is at 125%"]


def subscribed_budgets(account: Account, count: int) -> None:
    """Budgets of every kind of scope and period, each with a subscription."""
    TeamKey.objects.create(account=account, dimension="tag:squad")
    Team.objects.create(account=account, name="Core")
    CostTag.objects.create(account=account, key="ring", rules=[], default_value="All")
    scopes = [
        {},
        {"scope": source_scope("Bill")},
        {"scope": team_scope("Core")},
        {"scope": cost_tag_scope("ring", "All")},
    ]
    for number in range(count):
        period = ("monthly", "quarterly", "yearly")[number % 3]
        create_budget(account, f"Budget {number}", 10**7, period=period, **scopes[number % 4])
        subscribe_to_budget(account, f"Budget {number}", 80, 100, measure=("actual", "forecast")[number % 2])


@ONE
def test_fifty_budgets_cost_the_lake_queries_of_their_list(acme: Account) -> None:
    add_source(acme, daily_cost(date(2025, 11, 1), YESTERDAY, 10, tags={"squad": "core"}))
    subscribed_budgets(acme, 50)
    spies = [patch.object(engine, "run", wraps=engine.run) for _ in range(2)]

    with spies[0] as listing:
        list_budgets(acme, BudgetsQuery())
    with spies[1] as evaluation, CaptureQueriesContext(connection) as queries:
        assert evaluate(acme) == []

    assert (evaluation.call_count, listing.call_count) == (3, 3)
    assert len(queries) <= 15


@ONE
def test_queries_do_not_grow_with_subscriptions(acme: Account) -> None:
    source = add_source(acme, daily_cost(date(2025, 11, 1), YESTERDAY, 10))
    create_budget(acme, "Cloud", 10**7)

    def count() -> int:
        store_lines(acme, source, daily_cost(date(2026, 3, 1), YESTERDAY, 10))
        with CaptureQueriesContext(connection) as queries:
            assert evaluate(acme) == []
        return len(queries)

    subscribe_to_budget(acme, "Cloud", 1000)
    subscribe_to_anomalies(acme)
    before = count()
    for percent in range(500, 540):
        subscribe_to_budget(acme, "Cloud", percent)
    for number in range(10):
        add_source(acme, [], name=f"Source {number}")
        subscribe_to_anomalies(acme, scope="cost_source", cost_source=f"Source {number}")

    assert count() == before


@ONE
def test_budgets_that_nobody_subscribed_to_are_not_read(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 10)])
    create_budget(acme, "Cloud", 1)
    subscribe_to_anomalies(acme)
    subscribe(acme)

    with patch.object(engine, "run", wraps=engine.run) as run_spy:
        evaluate(acme)

    assert run_spy.call_count == 0


def is_due(account: Account) -> bool:
    """Evaluates when it is."""
    is_listed = account.pk in services.due_accounts()
    assert services.evaluate_if_due(account) == is_listed
    return is_listed


@ONE
def test_an_account_without_subscriptions_is_never_due(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 10)])

    assert not is_due(acme)


@ONE
def test_an_account_is_due_after_each_change_and_every_hour(acme: Account) -> None:
    source = add_source(acme, [cost(YESTERDAY, 10)])
    subscription = subscribe(acme)
    assert is_due(acme)
    assert not is_due(acme)

    store_lines(acme, source, [cost(YESTERDAY, 11)])
    assert is_due(acme)
    detect_if_due(acme)
    assert is_due(acme)
    subscribe_to_anomalies(acme)
    assert is_due(acme)
    assert not is_due(acme)
    with clock.frozen(NOON + timedelta(minutes=59)):
        assert not is_due(acme)
    with clock.frozen(NOON + timedelta(minutes=60)):
        assert is_due(acme)
        assert not is_due(acme)
        services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
        is_due(acme)
        services.resume_alert_subscription(subscription=subscription, actor=ACTOR)
        assert is_due(acme)


@ONE
def test_cost_of_another_account_makes_no_account_due(acme: Account, cast: Cast) -> None:
    subscribe(acme)
    is_due(acme)
    with account_scope(cast.other_account):
        add_source(cast.other_account, [cost(YESTERDAY, 10)])

    assert not is_due(acme)
    assert services.due_accounts() == []


@ONE
def test_a_failed_lake_query_is_retried_ten_minutes_later(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anomalies need no lake: they are told meanwhile."""
    source = add_source(acme, daily_cost(date(2025, 9, 1), YESTERDAY, 10))
    create_budget(acme, "Cloud", 100)
    subscribe_to_budget(acme, "Cloud", 100)
    subscribe_to_anomalies(acme)
    store_lines(acme, source, [*daily_cost(date(2026, 3, 1), date(2026, 3, 18), 10), cost(YESTERDAY, 999)])
    detect_if_due(acme)
    monkeypatch.setattr(evaluation_runs, "DEADLINE", -1.0)

    assert is_due(acme)
    assert "The query timed out." in AlertEvaluation.objects.get().error
    assert AlertDelivery.objects.count() == 1
    monkeypatch.setattr(evaluation_runs, "DEADLINE", 60.0)
    assert not is_due(acme)
    with clock.frozen(NOON + timedelta(minutes=11)):
        assert is_due(acme)

    assert AlertEvaluation.objects.get().error == ""
    assert AlertDelivery.objects.count() == 2


@ONE
def test_the_worker_evaluates_what_is_due(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 500)])
    create_budget(acme, "Cloud", 400)
    subscribe_to_budget(acme, "Cloud", 100)

    tasks.evaluate(acme.pk)
    tasks.evaluate(acme.pk)

    assert AlertDelivery.objects.count() == 1


@COMMITTED
def test_while_one_worker_evaluates_another_leaves_the_account_alone(account_over_budget: Account) -> None:
    with advisory_lock(f"alerts {account_over_budget.pk}") as has_lock, threads(1) as call:
        assert has_lock
        assert call(at_noon, services.evaluate_if_due, account_over_budget).result() is False

    assert at_noon(services.evaluate_if_due, account_over_budget) is True


@ONE
def test_a_message_keeps_its_place_beside_firing_and_subscription(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 500)])
    create_budget(acme, "Cloud", 400)
    subscription = subscribe_to_budget(acme, "Cloud", 80, 100)

    (delivery,) = services.evaluate(acme)

    firings = list(AlertFiring.objects.order_by("key"))
    assert {firing.subscription_id for firing in firings} == {subscription.pk}
    assert all(firing.message == delivery.message for firing in firings)
    assert delivery.firing is not None
    assert delivery.firing.key.endswith(":100")
    assert delivery.channel_name == "Ops"
