"""Many workers, and workers that die, with real processes and threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from django.conf import settings
from django.db import connection

from accounts.scoping import account_scope
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.factories.deliveries import (
    attempt_answers,
    create_channel_to,
    create_mail_channel,
    deliver,
    reload,
    run_deliveries,
)
from tests.receivers import Receiver, hang
from tests.servers import process_environment
from tests.waiting import threads

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = """
import sys
import django
django.setup()
from accounts.models import Account
from finops.alerts import services
services.send_delivery(account=Account.objects.get(pk=int(sys.argv[1])), delivery_id=int(sys.argv[2]))
"""


@contextmanager
def worker(row: AlertDelivery) -> Iterator[subprocess.Popen[bytes]]:
    environment = process_environment(
        SECRET_KEY=settings.SECRET_KEY, ALERT_ALLOWED_NETWORKS="127.0.0.1/32", ALERT_SEND_SECONDS="60"
    )
    command = [sys.executable, "-c", WORKER, str(row.account_id), str(row.pk)]
    process = subprocess.Popen(command, env=environment, cwd=settings.BASE_DIR)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_one_of_many_workers_sends_a_delivery(cast: Cast, receiver: Receiver) -> None:
    with account_scope(cast.account):
        rows = [deliver(create_channel_to(cast.account, receiver, name=f"C{number}")) for number in range(3)]

    with threads(4) as call:
        tries = [
            call(services.send_delivery, account=cast.account, delivery_id=row.pk)
            for row in rows
            for _ in range(4)
        ]
        sent = [each.result() for each in tries]

    assert sent.count(True) == 3
    assert len(receiver.requests) == 3
    assert [attempt_answers(row) for row in rows] == [[(200, "ok")]] * 3


def test_a_worker_killed_while_it_sends_is_followed_by_another_with_the_same_id(
    cast: Cast, receiver: Receiver
) -> None:
    """kill -9 after the receiver had the message and before its answer."""
    receiver.behave = hang
    with account_scope(cast.account):
        row = deliver(create_channel_to(cast.account, receiver, "webhook"))
    with worker(row) as process:
        while not receiver.requests:
            assert process.poll() is None, "the worker ended before it sent"
            receiver.over.wait(0.01)
        assert reload(row).status == "waiting"
        assert not services.send_delivery(account=cast.account, delivery_id=row.pk)

    receiver.answer(200, "ok")
    assert run_deliveries(at=clock.now() + timedelta(minutes=6)) == 1

    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert reload(row).status == "delivered"
    assert attempt_answers(row) == [(None, "The server stopped while sending."), (200, "ok")]


def test_one_of_two_people_who_use_a_name_at_once_gets_it(cast: Cast) -> None:
    def create() -> bool:
        try:
            create_mail_channel(cast.account, "a@example.com", name="On call")
        except UserError:
            return False
        return True

    with threads(2) as call:
        outcomes = sorted(each.result() for each in [call(create), call(create)])

    assert outcomes == [False, True]
    with account_scope(cast.account):
        assert AlertChannel.objects.count() == 1


def test_a_channel_deleted_while_its_test_is_sent_leaves_the_delivery(cast: Cast, receiver: Receiver) -> None:
    with account_scope(cast.account):
        channel = create_channel_to(cast.account, receiver)

    def delete(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
        try:
            services.delete_channel(channel=channel, actor=ACTOR)
        finally:
            connection.close()

    receiver.behave = delete
    with pytest.raises(UserError, match="deleted while"):
        services.test_channel(channel=channel, actor=ACTOR)

    with account_scope(cast.account):
        row = AlertDelivery.objects.get()
    assert (row.status, row.channel_id) == ("failed", None)
