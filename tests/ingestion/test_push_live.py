"""The push endpoint behind the real web server, as HTTP clients of all kinds reach it."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import httpx
import pytest

from accounts.audit import Actor
from accounts.models import User
from accounts.services import create_account
from ingestion import services
from tests.ingestion.push_client import PATH, event
from tests.servers import LiveServer

BATCH = {"events": [event(customer_id=f"c-{number}", quantity=number) for number in range(1_000)]}
ALL = {"accepted": 1_000, "rejected": 0, "errors": []}


def usage_key() -> str:
    """In the server's process: the key of a source of a fresh account."""
    owner = User.objects.create_user("push-live@example.com", "a long enough secret")
    account = create_account(name="Push live", owner=owner, slug="push-live")
    source = services.create_usage_source(account=account, actor=Actor.of_user(owner), name="Backend")
    return services.generate_usage_key(source=source, actor=Actor.of_user(owner))[1]


@pytest.fixture(scope="module")
def key(live_server_process: LiveServer) -> str:
    plaintext: str = live_server_process.run("tests.ingestion.test_push_live:usage_key")
    return plaintext


def post(server: LiveServer, key: str, content: Any, **headers: str) -> httpx.Response:
    all_headers = {
        "Authorization": f"Bearer {key}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return httpx.post(server.url + PATH, content=content, headers=all_headers, timeout=60)


def test_a_thousand_events_plain_gzipped_and_chunked(live_server_process: LiveServer, key: str) -> None:
    body = json.dumps(BATCH).encode()

    def chunks() -> Iterator[bytes]:
        for start in range(0, len(body), 10_000):
            yield body[start : start + 10_000]

    plain = post(live_server_process, key, body)
    packed = post(live_server_process, key, gzip.compress(body), Content_Encoding="gzip")
    chunked = post(live_server_process, key, chunks())

    assert [answer.json() for answer in (plain, packed, chunked)] == [ALL, ALL, ALL]
    assert int(plain.headers["Content-Length"]) == len(plain.content)


def test_curl_sends_a_file_of_megabytes_as_a_form(live_server_process: LiveServer, key: str) -> None:
    """curl -d names the body a form, and waits for 100 Continue before a large one."""
    padded = json.dumps({**BATCH, "padding": " " * 3_000_000})
    command = [
        "curl",
        "-sS",
        live_server_process.url + PATH,
        "-H",
        f"Authorization: Bearer {key}",
        "-d",
        "@-",
    ]

    output = subprocess.run(command, input=padded, capture_output=True, text=True, check=True, timeout=60)

    assert json.loads(output.stdout) == ALL


def test_a_body_over_16_mib_is_refused_whether_its_length_is_announced_or_not(
    live_server_process: LiveServer, key: str
) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(17):
            yield b" " * 2**20

    announced = post(live_server_process, key, b" " * (16 * 2**20 + 1))
    unannounced = post(live_server_process, key, endless())

    for answer in (announced, unannounced):
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "body_too_large"


@pytest.mark.parametrize("announced", [True, False], ids=["announced", "chunked"])
def test_urllib_reads_the_refusal_of_a_body_over_the_limit(
    live_server_process: LiveServer, key: str, announced: bool
) -> None:
    """It sends everything before it looks: what is answered and closed before that is a broken pipe to it."""
    whole = b" " * (40 * 2**20)
    content: Any = (
        whole if announced else iter([whole[at : at + 2**20] for at in range(0, len(whole), 2**20)])
    )
    request = Request(live_server_process.url + PATH, content, {"Authorization": f"Bearer {key}"})  # noqa: S310 our own server

    with pytest.raises(HTTPError) as error:
        urlopen(request, timeout=60)  # noqa: S310 our own server

    assert error.value.code == 413
    assert json.load(error.value)["error"]["code"] == "body_too_large"


def test_a_body_that_is_far_too_long_is_refused_before_it_is_sent(
    live_server_process: LiveServer, key: str
) -> None:
    lines = [f"POST {PATH} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}"]
    head = "\r\n".join([*lines, f"Content-Length: {10**10}", "", ""]).encode()
    where = urlsplit(live_server_process.url)
    with socket.create_connection((where.hostname, where.port), timeout=5) as connection:
        connection.sendall(head)

        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_connection_is_kept_over_refusals(live_server_process: LiveServer, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=live_server_process.url, headers=headers, timeout=60) as client:
        answers = [
            client.post(PATH, content=b"no json"),
            client.get(PATH),
            client.post(PATH, content=b"{}", headers={"Authorization": "Bearer nothing"}),
            client.post(PATH, json={"events": [event()]}),
        ]

    assert [answer.status_code for answer in answers] == [400, 405, 401, 200]
    assert {answer.headers["Content-Type"] for answer in answers} == {"application/json"}
