"""A channel that is deleted while a delivery is sent: the later transaction waits, without a deadlock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR
from tests.factories.alerts import evaluate, subscribe
from tests.factories.days import NOON
from tests.waiting import is_blocking_others, threads, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

NEXT_WEEK = NOON + timedelta(days=7)


def evaluate_next_week(account: Account) -> str:
    with account_scope(account), clock.frozen(NEXT_WEEK):
        return str(evaluate(account))


def resend(account: Account) -> str:
    with account_scope(account):
        try:
            services.resend(delivery=AlertDelivery.objects.get(), actor=ACTOR)
        except UserError as problem:
            return problem.message
        return "The channel was deleted, so this delivery cannot be resent."


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (evaluate_next_week, "[]"),
        (resend, "The channel was deleted, so this delivery cannot be resent."),
    ],
    ids=["evaluating", "sending again"],
)
def test_a_sender_waits_for_a_deletion_without_locking_its_rows(
    acme: Account, action: Callable[[Account], Any], message: str
) -> None:
    subscribe(acme)
    if action is resend:
        with clock.frozen(NEXT_WEEK):
            evaluate_next_week(acme)
        AlertDelivery.objects.update(status="failed", next_attempt_at=None)
    with threads(1) as call:
        with transaction.atomic():
            channel = AlertChannel.objects.select_for_update().get()
            sending = call(action, acme)
            wait_until(is_blocking_others)
            AlertSubscription.objects.select_for_update(nowait=True).get()
            list(AlertDelivery.objects.select_for_update(nowait=True))
            services.delete_channel(channel=channel, actor=ACTOR)
        assert sending.result() == message
    assert not AlertSubscription.objects.exists()


def test_a_week_later_there_is_something_to_send(acme: Account) -> None:
    """Or the test above would say nothing."""
    subscribe(acme)
    assert evaluate_next_week(acme) != "[]"
