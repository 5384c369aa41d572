"""*Test connection* of an endpoint that never ends its answer holds a place of the real web server for its time and no longer."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from django.conf import settings

from tests.finops.connections.syncs.endless_sources import endless_server
from tests.servers import LiveServer, serve

pytestmark = pytest.mark.slow

SECONDS = 4
NEW = "/a/acme/connections/new/?connector=bucket_focus"


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[LiveServer]:
    with serve(CONNECTION_TEST_SECONDS=f"{SECONDS}") as server:
        server.run("tests.browser.people:cast")
        yield server


@pytest.fixture
def client(server: LiveServer) -> Iterator[httpx.Client]:
    key = server.run("tests.browser.people:session", "member")
    with httpx.Client(base_url=server.url, cookies={settings.SESSION_COOKIE_NAME: key}, timeout=60) as client:
        yield client


def test_an_endpoint_that_hangs_is_ended_and_other_pages_answer_meanwhile(
    server: LiveServer, client: httpx.Client
) -> None:
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', client.get(NEW).text)
    assert token
    fields = {
        "csrfmiddlewaretoken": token.group(1),
        "bucket": "bills",
        "pattern": "**/*",
        "region": "eu-west-1",
        "addressing": "path",
        "access": "access_key",
        "access_key_id": "AKIAEXAMPLE",
        "secret_access_key": "secret",
        "interval_minutes": "60",
    }
    with endless_server("drip") as url, ThreadPoolExecutor(1) as pool:
        begin = time.monotonic()
        test = pool.submit(
            client.post,
            "/a/acme/connections/new/test/?connector=bucket_focus",
            data={**fields, "endpoint": url},
            headers={"Referer": server.url + NEW},
        )
        while not test.done():
            assert client.get("/a/acme/connections/").status_code == 200
        seconds = time.monotonic() - begin
    page = test.result()
    assert page.status_code == 200, page.text
    assert f"The test took longer than {SECONDS} seconds and was stopped." in page.text
    assert (
        seconds < SECONDS + 40
    )  # 6 s and the start of the first child, on a machine that has nothing else to do
