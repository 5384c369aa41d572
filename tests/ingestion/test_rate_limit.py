"""The rate limit of the push door: by account, every request with a valid key, whatever its answer."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion import services
from tests.cast import Cast
from tests.ingestion.push_client import Door, event, inbox, open_door


@pytest.fixture
def door(cast: Cast, settings: Any) -> Door:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 5
    return open_door(cast)


def limit_headers(answer: Any) -> dict[str, str]:
    names = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After")
    return {name: answer.headers[name] for name in names if name in answer.headers}


def test_the_limit_is_a_thousand_a_minute(cast: Cast) -> None:
    answer = open_door(cast).push(event())

    assert limit_headers(answer) == {
        "RateLimit-Limit": "1000",
        "RateLimit-Remaining": "999",
        "RateLimit-Reset": "60",
    }


def test_over_the_limit_is_429_with_the_seconds_to_wait_and_nothing_is_stored(door: Door) -> None:
    answers = [door.push(event()) for _ in range(6)]

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


def test_every_request_with_a_valid_key_counts_whatever_its_answer(door: Door) -> None:
    answers = [
        door.send(b"no json"),
        door.send(b"", method="GET"),
        door.send(b"", content_encoding="br"),
        door.push(event(), idempotency_key="é"),
        door.push(event(quantity="x")),
    ]

    assert [answer.status_code for answer in answers] == [400, 405, 415, 400, 200]
    assert [limit_headers(answer)["RateLimit-Remaining"] for answer in answers] == ["4", "3", "2", "1", "0"]
    assert door.push(event()).status_code == 429
    assert door.send(b"", method="GET").status_code == 429


def test_a_request_without_a_valid_key_counts_for_nobody_and_learns_no_limit(door: Door) -> None:
    for _ in range(6):
        answer = door.push(event(), authorization=f"Bearer {door.key}x")
        assert (answer.status_code, limit_headers(answer)) == (401, {})

    assert limit_headers(door.push(event()))["RateLimit-Remaining"] == "4"


def test_sources_and_keys_of_an_account_share_its_limit_and_accounts_do_not(cast: Cast, door: Door) -> None:
    second, elsewhere = open_door(cast, name="Second"), open_door(cast, cast.other_account)
    for _ in range(3):
        door.push(event())
    _key, fresh = services.regenerate_usage_key(source=door.source, actor=cast.actor)
    for _ in range(2):
        Door(door.source, fresh).push(event())

    assert second.push(event()).status_code == 429
    assert elsewhere.push(event()).status_code == 200


def test_the_address_does_not_matter_whatever_x_forwarded_for_says(door: Door) -> None:
    statuses = [
        door.push(event(), x_forwarded_for=f"10.0.0.{number}, 192.0.2.{number}").status_code
        for number in range(6)
    ]

    assert statuses == [200] * 5 + [429]


def test_a_dry_run_counts_too(door: Door) -> None:
    for _ in range(5):
        door.push(event(), path="?dry_run=true")

    assert door.push(event()).status_code == 429
