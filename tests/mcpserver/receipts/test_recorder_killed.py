"""kill -9 of a process that stores receipts: what is stored is whole and proves its answer, and can be stored again."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.receipts import queries, records
from finops.receipts.models import AnswerReceipt, AnswerState
from tests.cast import Cast
from tests.mcpserver.receipts.many_receipts import numbered_record
from tests.servers import process_environment

pytestmark = pytest.mark.slow

AT = datetime(2026, 10, 3, 12, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("receipts", [25, 90, 333])
def test_each_receipt_of_a_killed_process_is_whole_or_absent(
    cast: Cast, settings: Settings, receipts: int
) -> None:
    program = [sys.executable, "-m", "tests.mcpserver.receipts.killed_recorder", str(cast.account.pk)]
    environment = process_environment(SECRET_KEY=settings.SECRET_KEY)
    with subprocess.Popen(
        program, env=environment, cwd=settings.BASE_DIR, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        codes = [process.stdout.readline().strip() for _ in range(receipts)]
        process.send_signal(signal.SIGKILL)
        codes += process.stdout.read().split()
    assert process.returncode == -signal.SIGKILL

    with account_scope(cast.account):
        stored = list(AnswerReceipt.objects.select_related("state"))
        # All that was flushed before the kill is there; nothing is that was never noted.
        assert len(stored) >= receipts - 20
        assert all(queries.is_intact(each) for each in stored)
        assert AnswerState.objects.count() == len({each.state_id for each in stored})
        again = [numbered_record(cast.account.pk, number, AT) for number in range(len(codes))]
        for record in again:
            records.note(record, record.code())
        assert records.recorder.flush()
        assert {each.code for each in AnswerReceipt.objects.all()} >= {record.code() for record in again}
        assert AnswerReceipt.objects.count() <= len(codes) + 1
