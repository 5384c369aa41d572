"""The worker's programs as they run: what one tenant makes them wait for, the others do not."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
from django.conf import settings as project
from django.db import connection
from pytest_django import Settings

from accounts.models import Account
from finops.lake.models import LakeSegment
from finops.worker.programs import worker_commands
from ingestion.models import UsageUpload
from ingestion.tasks import flush_usage
from tests.broker import messages_in_redis
from tests.cast import Cast
from tests.ingestion.push_client import create_push_client, event
from tests.ingestion.upload_client import csv, line, send
from tests.servers import database_url
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@contextmanager
def program(name: str, redis: str) -> Iterator[None]:
    """A program of the worker on the test's own database, ended with the block."""
    command = dict(worker_commands())[name]
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
        "DATABASE_URL": database_url(),
        "VAR_DIR": str(project.VAR_DIR),
        "LAKE_URL": str(project.LAKE_URL),
        "REDIS_URL": redis,
    }
    # Without beat: what is due is what the test asks for.
    process = subprocess.Popen(
        [part for part in command if part != "--beat"], cwd=project.BASE_DIR, env=environment
    )
    try:
        yield
        assert process.poll() is None, f"{name} ended with {process.returncode}"
    finally:
        # What it had in hand the database still knows; an orderly end takes seconds.
        process.kill()
        process.wait()


def age_inbox(account: Account) -> None:
    """What waits in an account's inbox has waited so long that it is due."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE lake_usageinbox SET received_at = received_at - interval '1 hour' WHERE account_id = %s",
            [account.pk],
        )


def has_segments(account: Account) -> bool:
    return LakeSegment.objects.unscoped().filter(account=account).exists()


def status(job: UsageUpload) -> str:
    return UsageUpload.objects.unscoped().get(pk=job.pk).status


@pytest.mark.django_db(transaction=True)
def test_two_uploads_of_a_tenant_that_hang_hold_neither_a_flush_nor_an_upload_of_another(
    cast: Cast, settings: Settings
) -> None:
    own_client, other_client = create_push_client(cast), create_push_client(cast, cast.other_account)
    with ExitStack() as running:
        redis = running.enter_context(messages_in_redis(settings))
        holding = running.enter_context(psycopg.connect(database_url()))
        uploads = [send(own_client, csv(line(number)), cast, f"{number}.csv") for number in range(2)]
        for job in uploads:
            holding.execute("SELECT 1 FROM ingestion_usageupload WHERE id = %s FOR UPDATE", [job.pk])
        for name in ("worker", "import worker"):
            running.enter_context(program(name, redis))
        after = send(other_client, csv(line(3)), cast)
        assert other_client.push(event()).status_code == 200
        age_inbox(cast.other_account)
        flush_usage.delay(cast.other_account.pk)

        wait_until(lambda: has_segments(cast.other_account) and status(after) == "done")
        assert [status(job) for job in uploads] == ["queued", "queued"]

        holding.rollback()
        wait_until(lambda: [status(job) for job in uploads] == ["done", "done"])


@pytest.mark.parametrize("program", ["worker", "beat"])
def test_without_redis_a_program_of_the_worker_says_what_is_missing(program: str) -> None:
    ended = subprocess.run(
        dict(worker_commands())[program],
        cwd=project.BASE_DIR,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "finops.settings"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ended.returncode == 1
    assert "REDIS_URL is not set" in ended.stderr
