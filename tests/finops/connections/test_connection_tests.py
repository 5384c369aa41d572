"""*Test connection* in a process of its own: an endpoint that hangs, or answers without end, is ended, and the page says what to do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from finops.connections import services
from finops.connections.connector import CheckFinding
from finops.connections.connectors import connectors
from finops.connections.connectors.bucket_focus import BucketFocus, BucketFocusConfig
from finops.connections.services import interactive_calls
from finops.connections.transports.s3 import S3Bucket
from tests.cast import ACTOR, Cast, signed_in
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.syncs.endless_sources import endless_server
from tests.finops.connections.syncs.sync_steps import month_rows
from tests.pages import text_of
from tests.s3 import KEY, REGION
from tests.waiting import threads, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LOOPBACK = ["127.0.0.0/8"]


class LoopbackBucket(BucketFocus):
    """Servers of this machine, also in a child, which has not the settings of a test."""

    def _open(self, config: BucketFocusConfig) -> S3Bucket:
        django_settings.ALERT_ALLOWED_NETWORKS = LOOPBACK
        return super()._open(config)


class StuckBucket(BucketFocus):
    """As a library that waits and looks at no clock of ours."""

    def check(self, config: BucketFocusConfig) -> list[CheckFinding]:
        Event().wait(600)
        return []


@pytest.fixture(autouse=True)
def loopback(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setitem(connectors(), "bucket_focus", LoopbackBucket())
    # The first child waits for its server to start, and the machine may be busy.
    monkeypatch.setattr(interactive_calls, "ANSWER_SECONDS", 60.0)


def form(endpoint: str, bucket: str = "bills") -> dict[str, str]:
    return {
        "name": "Bills",
        "bucket": bucket,
        "pattern": "**/*",
        "endpoint": endpoint,
        "region": REGION,
        "addressing": "path",
        "access": "access_key",
        "access_key_id": KEY,
        "secret_access_key": KEY,
        "interval_minutes": "60",
    }


def ask(cast: Cast, values: dict[str, str], connector: str = "bucket_focus") -> str:
    return text_of(
        signed_in(cast.member).post(f"/a/acme/connections/new/test/?connector={connector}", values)
    )


@pytest.fixture
def endless_url() -> Iterator[str]:
    with endless_server("drip") as url:
        yield url


def test_an_endpoint_that_never_ends_its_answer_is_ended_and_the_page_says_what_to_do(
    cast: Cast, settings: Settings, endless_url: str
) -> None:
    settings.CONNECTION_TEST_SECONDS = 2.0
    begin = time.monotonic()
    page = ask(cast, form(endless_url))
    assert time.monotonic() - begin < 60  # 2 s, on a machine that has nothing else to do
    assert "Passed: Read the pattern" in page
    assert (
        "Failed: List s3://bills The test took longer than 2 seconds and was stopped. Check the address, and that a firewall lets "
        "this server reach it. For a place with many files, enter a longer prefix." in page
    )


def test_a_test_that_does_not_see_its_time_is_ended_from_outside(
    cast: Cast, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CONNECTION_TEST_SECONDS = 1.0
    monkeypatch.setattr(interactive_calls, "ANSWER_SECONDS", 1.0)
    monkeypatch.setitem(connectors(), "bucket_focus", StuckBucket())
    begin = time.monotonic()
    page = ask(cast, form("https://s3.example.com"))
    assert time.monotonic() - begin < 30
    assert "1 of 1 checks failed" in page
    assert "Failed: Connect The test took longer than 1 seconds and was stopped. Check the address" in page


def test_an_endpoint_that_answers_without_end_is_ended_by_its_memory(cast: Cast, settings: Settings) -> None:
    settings.IMPORT_MEMORY_BYTES = 400 << 20
    with endless_server("flood") as url:
        page = ask(cast, form(url))
    assert "The test took more than 400 MB of memory and was stopped. Enter a longer prefix" in page


def test_a_bucket_that_works_is_tested_to_its_newest_file(cast: Cast, s3: S3TestBucket) -> None:
    s3.put("may.csv", month_rows("2026-05", "1"))
    page = ask(cast, form(s3.endpoint, s3.name))
    assert page.startswith("Connection works Passed: Read the pattern Passed: Sign in")
    assert "Passed: Read may.csv" in page
    assert not list((Path(django_settings.VAR_DIR) / "uploads").glob("test-*"))


@pytest.mark.slow
def test_one_account_has_one_test_at_a_time(cast: Cast, settings: Settings, endless_url: str) -> None:
    settings.CONNECTION_TEST_SECONDS = 5.0
    with threads(1) as call:
        first = call(ask, cast, form(endless_url))
        wait_until(lambda: bool(interactive_calls._running), "the test did not begin", pause=0.05)
        page = ask(cast, form(endless_url))
        assert page == "Another test of this account is in progress. Try again when it has finished."
        assert "was stopped" in first.result(60)
    assert not interactive_calls._running


def test_a_file_to_map_columns_by_is_fetched_within_the_same_time(
    cast: Cast, settings: Settings, endless_url: str
) -> None:
    settings.CONNECTION_TEST_SECONDS = 1.0
    values = {
        key: value for key, value in form(endless_url).items() if key not in ("name", "interval_minutes")
    }
    row = services.create_connection(
        account=cast.account, actor=ACTOR, name="Bills", connector="bucket_focus", values=values
    )
    client = signed_in(cast.member)
    answer = client.post(f"/a/acme/connections/{row.source_id}/mapping/newest/", follow=True)
    page = text_of(answer)
    assert "Fetching the file took longer than 1 seconds and was stopped." in page
    assert "If the file is large, upload a smaller one with the same columns." in page
