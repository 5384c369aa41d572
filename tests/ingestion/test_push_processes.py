"""The push endpoint in two web processes at once: one limit, and a key that ends in both at the same moment."""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from accounts.audit import Actor
from accounts.models import User
from finops.web.admission import SMALL_BODY
from ingestion import services
from ingestion.models import UsageSource
from tests.deployment import Deployment, Web, deployment, redis_server
from tests.ingestion.push_client import PATH, event

LIMIT = 60
BODY = json.dumps({"events": [event()]}).encode()
KEY = "tests.ingestion.test_push_killed:usage_key"
REGENERATE = "tests.ingestion.test_push_processes:regenerate"

pytestmark = [pytest.mark.xdist_group("processes"), pytest.mark.slow]


def regenerate(email: str) -> str:
    """In the server's process: another key for the only source of this person's account."""
    owner = User.objects.get(email=email)
    source = UsageSource.objects.unscoped().get(account__memberships__user=owner)
    return services.regenerate_usage_key(source=source, actor=Actor.of_user(owner))[1]


@pytest.fixture(scope="module")
def web_processes(django_db_setup: None) -> Iterator[Deployment]:
    with (
        redis_server() as url,
        deployment(REDIS_URL=url, USAGE_RATE_LIMIT_PER_MINUTE=str(LIMIT)) as new_deployment,
    ):
        yield new_deployment


@pytest.fixture(scope="module")
def webs(web_processes: Deployment) -> Iterator[tuple[Web, Web]]:
    second = web_processes.second_web()
    second.start()
    yield web_processes.web, second
    second.kill()


def push(web: Web, key: str, **headers: str) -> httpx.Response:
    all_headers = {"Authorization": f"Bearer {key}", **headers}
    return httpx.post(web.server.url + PATH, content=BODY, headers=all_headers, timeout=60)


def test_the_limit_of_an_account_is_exact_over_two_processes(
    web_processes: Deployment, webs: tuple[Web, Web]
) -> None:
    key = web_processes.call(KEY, "limited")

    def push_in_turn(turn: int) -> list[httpx.Response]:
        return [
            push(webs[(turn + at) % 2], key, **{"X-Forwarded-For": f"10.0.{turn}.{at}"})
            for at in range(LIMIT // 3)
        ]

    with ThreadPoolExecutor(4) as pool:
        answers = [answer for statuses in pool.map(push_in_turn, range(4)) for answer in statuses]

    assert Counter(answer.status_code for answer in answers) == {200: LIMIT, 429: LIMIT // 3}
    assert all(1 <= int(answer.headers["RateLimit-Reset"]) <= 60 for answer in answers)
    assert {answer.headers["RateLimit-Limit"] for answer in answers} == {str(LIMIT)}
    assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 429)
    assert web_processes.rows("SELECT count(*) FROM ingestion_usagebatch") == [(LIMIT,)]


def test_a_replaced_key_is_dead_at_once_in_every_process(
    web_processes: Deployment, webs: tuple[Web, Web]
) -> None:
    old = web_processes.call(KEY, "replaced")
    assert [push(web, old).status_code for web in webs] == [200, 200]

    fresh = web_processes.call(REGENERATE, "replaced@example.com")

    assert [push(web, old).status_code for web in webs] == [401, 401]
    assert [push(web, fresh).status_code for web in webs] == [200, 200]


def test_half_a_body_then_the_key_is_replaced_then_the_rest_is_401_and_nothing_is_stored_or_metered(
    web_processes: Deployment, webs: tuple[Web, Web]
) -> None:
    name = "halfway"
    old = web_processes.call(KEY, name)
    # Longer than what is read before the key is looked at.
    body = BODY + b" " * 2 * SMALL_BODY
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {old}\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", webs[1].port), timeout=60) as wire:
        wire.sendall(head.encode() + body[: len(BODY) // 2])
        assert_key_was_used(web_processes, name)
        web_processes.call(REGENERATE, f"{name}@example.com")
        wire.sendall(body[len(BODY) // 2 :])
        answer = b"".join(iter(lambda: wire.recv(65_536), b""))

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"nothing was stored" in answer
    of_source = f"""SELECT count(*) FROM {{}} WHERE account_id =
                    (SELECT id FROM accounts_account WHERE slug = '{name}')"""
    for table in ("lake_usageinbox", "ingestion_usagebatch", "ingestion_customer", "ingestion_usagemeter"):
        assert web_processes.rows(of_source.format(table)) == [(0,)], table


def assert_key_was_used(web_processes: Deployment, name: str) -> None:
    """The server has looked at the key: the request is under way."""
    used = f"""SELECT count(*) FROM ingestion_usagekey k JOIN accounts_account a ON a.id = k.account_id
                WHERE a.slug = '{name}' AND k.last_used_at IS NOT NULL"""
    for _ in range(2_000):
        if web_processes.rows(used) == [(1,)]:
            return
    raise AssertionError("the server did not begin to read")
