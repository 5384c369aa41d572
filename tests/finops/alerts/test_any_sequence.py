"""Any sequence of cost, restatements, changes and evaluations: each threshold of a period fires once, when it is
reached."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.alerts.models import AlertFiring
from finops.alerts.services import change_alert_subscription
from finops.budgets.services import change_budget
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.factories.alerts import create_channel, evaluate, subscribe_to_budget
from tests.factories.alerts import subscription_draft as subscription_draft
from tests.factories.budgets import budget_draft, create_budget
from tests.factories.costs import add_source, cost, store_lines

SOAK = int(os.environ.get("SOAK", "1"))
THRESHOLDS = ((50, 80, 100, 120), (80,), (50, 100), (49, 80, 150))

Steps = list[tuple[str, int]]
"""`spend`: this month's cost so far, in all; `amount`: the budget's; `thresholds`: others of these; `month`: the next one begins."""

steps = st.lists(
    st.one_of(
        st.tuples(st.just("spend"), st.sampled_from([0, 1, 49, 50, 79, 80, 99, 100, 119, 120, 500])),
        st.tuples(st.just("amount"), st.sampled_from([50, 100, 200])),
        st.tuples(st.just("thresholds"), st.sampled_from(range(len(THRESHOLDS)))),
        st.tuples(st.just("month"), st.just(0)),
        st.tuples(st.just("evaluate"), st.just(0)),
    ),
    min_size=3,
    max_size=9,
)


class BudgetModel:
    """An account with one budget, and what should have fired by the rules, reckoned plainly."""

    def __init__(self, account: Account) -> None:
        self.account, self.month = account, 3
        self.spent, self.amount = 0, 100
        self.fired: set[tuple[int, int]] = set()
        create_channel(account)
        self.source = add_source(account, [cost(date(2026, 2, 14), 1)])
        self.budget = create_budget(account, "Cloud", self.amount)
        self.thresholds: tuple[int, ...] = THRESHOLDS[0]
        self.subscription = subscribe_to_budget(account, "Cloud", *self.thresholds)

    @contextmanager
    def now(self) -> Iterator[None]:
        with account_scope(self.account), clock.frozen(datetime(2026, self.month, 15, 12, tzinfo=UTC)):
            yield

    def do(self, what: str, number: int) -> None:
        if what == "month":
            self.month, self.spent = self.month + 1, 0
            # Its bill begins, so that the month before is complete, and no news any more.
            store_lines(self.account, self.source, [cost(date(2026, self.month, 14), 0)])
        elif what == "spend":
            self.spent = number
            store_lines(self.account, self.source, [cost(date(2026, self.month, 14), number)])
        elif what == "amount":
            self.amount = number
            change_budget(budget=self.budget, actor=ACTOR, draft=budget_draft("Cloud", number))
        elif what == "thresholds":
            self.thresholds = THRESHOLDS[number]
            new_draft = subscription_draft("budget", budget="Cloud", thresholds=self.thresholds)
            change_alert_subscription(subscription=self.subscription, actor=ACTOR, draft=new_draft)

    def expected_alerts(self) -> list[str]:
        """What an evaluation should tell now."""
        reached = {(self.month, each) for each in self.thresholds if self.spent * 100 >= self.amount * each}
        new, self.fired = reached - self.fired, self.fired | reached
        percent = Decimal(self.spent * 100) / self.amount
        return [f"budget 'Cloud' is at {percent:.1f}".removesuffix(".0") + "%"] if new else []


@pytest.mark.django_db
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=10 * SOAK,
    deadline=None,
    derandomize=SOAK == 1,
)
@given(steps=steps)
def test_each_threshold_of_a_period_fires_once_and_exactly_when_it_is_reached(
    cast: Cast, steps: Steps
) -> None:
    account = create_account(name="Acme", owner=cast.owner)
    with account_scope(account), clock.frozen(datetime(2026, 3, 15, 12, tzinfo=UTC)):
        model = BudgetModel(account)

    for step, number in [*steps, ("evaluate", 0)]:
        with model.now():
            model.do(step, number)
            if step == "evaluate":
                assert evaluate(account) == model.expected_alerts()

    with account_scope(account):
        told_of = AlertFiring.objects.exclude(message={}).values_list("key", flat=True)
        keys = [key.split(":") for key in told_of]
        assert sorted((int(key[3][5:7]), int(key[5])) for key in keys) == sorted(model.fired)
