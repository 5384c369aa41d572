"""The rate limit of the push endpoint: by account, every request with a valid key, whatever its answer."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion import services
from tests.cast import Cast
from tests.ingestion.push_client import PushClient, create_push_client, event, inbox


@pytest.fixture
def push_client(cast: Cast, settings: Any) -> PushClient:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 5
    return create_push_client(cast)


def limit_headers(answer: Any) -> dict[str, str]:
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After")
    return {name: answer.headers[name] for name in names if name in answer.headers}


def test_the_limit_is_a_thousand_a_minute(cast: Cast) -> None:
    answer = create_push_client(cast).push(event())

    assert limit_headers(answer) == {
        "RateLimit-Limit": "1000",
        "RateLimit-Remaining": "999",
        "RateLimit-Reset": "60",
    }


def test_over_the_limit_is_429_with_the_seconds_to_wait_and_nothing_is_stored(
    push_client: PushClient,
) -> None:
    answers = [push_client.push(event()) for _ in range(6)]

    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert [limit_headers(answer)["RateLimit-Remaining"] for answer in answers] == [
        "4",
        "3",
        "2",
        "1",
        "0",
        "0",
    ]
    refusal = answers[-1]
    assert refusal.json()["error"]["code"] == "rate_limited"
    assert 59 <= int(refusal.headers["Retry-After"]) <= 60
    assert limit_headers(refusal)["RateLimit-Reset"] == refusal.headers["Retry-After"]
    assert len(inbox()) == 5


def test_every_request_with_a_valid_key_counts_whatever_its_answer(push_client: PushClient) -> None:
    answers = [
        push_client.send(b"no json"),
        push_client.send(b"", method="GET"),
        push_client.send(b"", content_encoding="br"),
        push_client.push(event(), idempotency_key="é"),
        push_client.push(event(quantity="x")),
    ]

    assert [answer.status_code for answer in answers] == [400, 405, 415, 400, 200]
    assert [limit_headers(answer)["RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0"]
    assert push_client.push(event()).status_code == 429
    assert push_client.send(b"", method="GET").status_code == 429


def test_a_request_without_a_valid_key_counts_for_nobody_and_learns_no_limit(push_client: PushClient) -> None:
    for _ in range(6):
        answer = push_client.push(event(), authorization=f"Bearer {push_client.key}x")
        assert (answer.status_code, limit_headers(answer)) == (401, {})

    assert limit_headers(push_client.push(event()))["RateLimit-Remaining"] == "4"


def test_sources_and_keys_of_an_account_share_its_limit_and_accounts_do_not(
    cast: Cast, push_client: PushClient
) -> None:
    second, elsewhere = create_push_client(cast, name="Second"), create_push_client(cast, cast.other_account)
    for _ in range(3):
        push_client.push(event())
    _key, fresh = services.regenerate_usage_key(source=push_client.source, actor=cast.actor)
    for _ in range(2):
        PushClient(push_client.source, fresh).push(event())

    assert second.push(event()).status_code == 429
    assert elsewhere.push(event()).status_code == 200


def test_the_address_does_not_matter_whatever_x_forwarded_for_says(push_client: PushClient) -> None:
    statuses = [
        push_client.push(event(), x_forwarded_for=f"10.0.0.{number}, 192.0.2.{number}").status_code
        for number in range(6)
    ]

    assert statuses == [200] * 5 + [429]


def test_a_dry_run_counts_too(push_client: PushClient) -> None:
    for _ in range(5):
        push_client.push(event(), path="?dry_run=true")

    assert push_client.push(event()).status_code == 429
