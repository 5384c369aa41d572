"""A lake that cannot be written stops flushing, never accepting; health says so, and it mends by itself."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
import s3fs
from django.db import connection
from django.test import Client
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops import health
from finops.insights.data_health import data_health
from finops.lake.models import LakeSegment
from finops.lake.storage import segments
from finops.lake.usage import flush, flush_scheduler
from finops.lib import clock
from ingestion import tasks
from tests.cast import Cast
from tests.finops.lake.events import quantity_by
from tests.ingestion.push_client import PushClient, event
from tests.s3 import variables
from tests.servers import free_port

pytestmark = pytest.mark.django_db
PUSHES = 3


def assert_pushes_succeed(push_client: PushClient) -> None:
    for number in range(PUSHES):
        answer = push_client.push(
            event(quantity=2**number), event(customer_id=f"c-{number}", dimensions={"k": "v"})
        )
        assert (answer.status_code, answer.json()["accepted"]) == (200, 2)


def quantity(account: Account) -> Decimal:
    return quantity_by(account, "metric")["requests"]


def beat(account: Account, **later: float) -> None:
    """What beat and a worker do at a time from now; a message is as good as the worker's call."""
    with clock.frozen(datetime.now(UTC) + timedelta(**later)):
        if account.pk in flush_scheduler.due_accounts():
            tasks.flush_usage(account.pk)


def health_says(account: Account, client: Client, reason: str) -> None:
    with account_scope(account):
        warnings = [each for each in data_health(account).warnings if each.startswith("Usage events")]
    assert len(warnings) == 1
    assert reason in warnings[0]
    with clock.frozen(datetime.now(UTC) + timedelta(minutes=61)):
        health._usage_is_behind.cache_clear()
        assert health._usage_is_behind(0)


def assert_healthy(account: Account, client: Client) -> None:
    with account_scope(account):
        assert not [each for each in data_health(account).warnings if each.startswith("Usage")]
    health._usage_is_behind.cache_clear()
    assert "behind" not in client.get("/readyz").json()


@contextmanager
def disk_full() -> Iterator[None]:
    """No file may grow beyond this: writing to it fails as on a full disk (EFBIG for ENOSPC)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fail_flush_and_recover(
    cast: Cast,
    push_client: PushClient,
    client: Client,
    reason: str,
    break_it: Callable[[], None],
    mend: Callable[[], None],
) -> None:
    """Twice as many events as one outage lets in, each once, before, during and after."""
    one_round = Decimal(2**PUSHES - 1 + PUSHES)
    assert_pushes_succeed(push_client)
    beat(cast.account, minutes=15)
    assert flush.count_pending(cast.account) == 0
    break_it()
    assert_pushes_succeed(push_client)
    beat(cast.account, minutes=15)
    assert_pushes_succeed(push_client)
    assert flush.count_pending(cast.account) == 4 * PUSHES
    health_says(cast.account, client, reason)
    mend()
    assert quantity(cast.account) == 3 * one_round
    beat(cast.account, minutes=15)
    assert flush.count_pending(cast.account) == 4 * PUSHES, "it waits a little before it tries again"
    beat(cast.account, minutes=16)
    assert flush.count_pending(cast.account) == 0
    assert quantity(cast.account) == 3 * one_round
    assert_healthy(cast.account, client)


def test_a_full_disk(
    cast: Cast, push_client: PushClient, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is this process's, so it holds while the file is written and no longer."""
    write = segments._write

    def onto_full_disk(*args: object) -> None:
        with disk_full():
            write(*args)  # type: ignore[arg-type]

    def fill() -> None:
        monkeypatch.setattr(segments, "_write", onto_full_disk)

    def empty() -> None:
        monkeypatch.setattr(segments, "_write", write)

    fail_flush_and_recover(cast, push_client, client, "File too large", fill, empty)


def test_a_lake_whose_directory_is_gone(
    cast: Cast, push_client: PushClient, client: Client, settings: Settings, tmp_path: Path
) -> None:
    lake, mounted = str(settings.LAKE_URL), tmp_path / "not-mounted"
    mounted.write_text("")

    def unmount() -> None:
        settings.LAKE_URL = str(mounted)

    def mount() -> None:
        settings.LAKE_URL = lake

    fail_flush_and_recover(cast, push_client, client, "Not a directory", unmount, mount)


def test_s3_that_is_down(
    cast: Cast,
    push_client: PushClient,
    client: Client,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port = free_port()
    servers = [ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)]
    servers[0].start()
    for name, value in variables(f"http://127.0.0.1:{port}").items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    boto3.client("s3").create_bucket(Bucket="outage")
    settings.LAKE_URL, settings.VAR_DIR = "s3://outage/lake", tmp_path

    def stop() -> None:
        servers.pop().stop()

    def start() -> None:
        servers.append(ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False))
        servers[0].start()

    try:
        fail_flush_and_recover(cast, push_client, client, "Error", stop, start)
    finally:
        servers[0].stop()
        s3fs.S3FileSystem.clear_instance_cache()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM lake_usageinbox WHERE account_id = %s", [cast.account.pk])
        assert cursor.fetchone() == (0,)
    assert LakeSegment.objects.unscoped().filter(account=cast.account).count() == 2
