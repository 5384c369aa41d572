"""POST /api/events: each event is validated separately and stored once, by the rules of the usage endpoint."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import override_settings

from accounts.services.suspension import suspend_account
from finops.change_events.models import EventMonth
from finops.change_events.services.keys import revoke_event_key
from finops.change_events.services.sources import delete_event_source
from finops.lib import clock
from ingestion.queries import metered_events
from tests.cast import ACTOR, Cast
from tests.finops.change_events.event_client import (
    EventClient,
    create_event_client,
    event,
    reasons,
    stored_events,
)

DIMENSIONS = {f"tag:{place}": "x" for place in range(21)}


def test_an_event_is_stored_as_it_was_sent(event_client: EventClient) -> None:
    answer = event_client.push(
        event(
            occurred_at="2026-11-20T13:00:00+01:00",
            kind="release",
            title="  checkout  v142 ",
            actor="ana@example.com",
            url="https://ci.example/runs/1",
            scope={"Service": "Amazon EC2", "tag:team": ["payments", "core"], "cloud": "AWS"},
            event_id="run-1",
            more="ignored",
        )
    )

    assert reasons(answer, submitted=1) == {}
    (row,) = stored_events()
    assert row.occurred_at == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert (row.kind, row.title, row.actor) == ("release", "checkout v142", "ana@example.com")
    assert row.url == "https://ci.example/runs/1"
    assert row.scope == {"service": ["Amazon EC2"], "tag:team": ["payments", "core"], "provider": ["AWS"]}
    assert (row.source_id, row.external_id, row.origin) == (event_client.source.pk, "run-1", "source")


@pytest.mark.parametrize("name", ["occurred_at", "timestamp"])
def test_the_time_is_read_under_the_name_of_usage_events_too(event_client: EventClient, name: str) -> None:
    assert (
        reasons(event_client.push(event(**{"occurred_at": ..., name: "2026-03-02T10:00:00Z"})), submitted=1)
        == {}
    )

    (row,) = stored_events()
    assert row.occurred_at == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_a_time_that_cannot_be_read_is_refused_under_either_name(event_client: EventClient) -> None:
    answer = event_client.push(event(occurred_at=..., timestamp="soon"))

    assert reasons(answer, submitted=1)[0].startswith("occurred_at must be a parseable date")


def test_without_a_time_it_happened_when_it_was_received(
    event_client: EventClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: now)

    event_client.push(event(occurred_at=...), event(occurred_at=None))

    assert [row.occurred_at for row in stored_events()] == [now, now]


@pytest.mark.parametrize("field", ["transaction_id", "idempotency_key", "messageId", "eventId", "uuid"])
def test_unknown_fields_and_unlikely_times_are_counted_and_named_in_a_dry_run(
    event_client: EventClient, field: str
) -> None:
    batch = [
        event(**{field: "a"}, occurred_at="1970-01-01"),
        event(occurred_at=..., timestamp="2999-01-01"),
        event(kind="x", other=1),
        5,
    ]

    dry, answer = event_client.push(*batch, path="?dry_run=true"), event_client.push(*batch)

    for each in (dry, answer):
        assert (each.headers["Events-Unlikely-Times"], each.headers["Events-Ignored-Fields"]) == ("2", "1")
    times, fields = dry.json()["warnings"]
    assert ("2 events are dated before 2000" in times, field in fields) == (True, True)
    assert "warnings" not in answer.json()


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"occurred_at": "soon"}, "occurred_at must be a parseable date"),
        ({"occurred_at": 1763640000}, 'occurred_at must be a parseable date: a string, such as "2026-11-02T10:00:00Z"'),
        ({"kind": "deploy"}, "kind must be one of deployment, release, change, purchase, incident, note"),
        ({"kind": ...}, "kind must be one of deployment, release, change, purchase, incident, note"),
        ({"title": ...}, "title must be a non-empty string up to 200 characters"),
        ({"title": " \u200b"}, "title must be a non-empty string up to 200 characters"),
        ({"title": "t" * 201}, "title must be a non-empty string up to 200 characters"),
        ({"title": "a\0b"}, "title must be a non-empty string up to 200 characters"),
        ({"title": "a\ud800b"}, "title must be a non-empty string up to 200 characters"),
        ({"actor": 1}, "actor must be a string up to 200 characters"),
        ({"url": "javascript:alert(1)"}, "url must be an http or https address up to 2,000 characters, without a password"),
        ({"url": "https://ana:" + "x@example.com"}, "url must be an http or https address up to 2,000 characters, without a password"),
        ({"url": "https://[::1"}, "url must be an http or https address up to 2,000 characters, without a password"),
        ({"scope": []}, "scope must be an object of strings, or arrays of strings"),
        ({"scope": {"service": 1}}, "scope must be an object of strings, or arrays of strings"),
        ({"scope": {"servise": "x"}}, "scope must name dimensions of cost, and 'servise' is none. Nearest: service"),
        ({"scope": {"tag:": "x"}}, "scope must name dimensions of cost, and 'tag:' is none. Nearest: tag:<key>"),
        ({"scope": {"service": []}}, "scope must have 1 to 50 values a dimension"),
        ({"scope": {"service": ["x"] * 51}}, "scope must have 1 to 50 values a dimension"),
        ({"scope": {"service": " "}}, "scope must have non-empty values up to 255 characters"),
        ({"scope": DIMENSIONS}, "scope must have up to 20 dimensions"),
        ({"event_id": ""}, "event_id must be a non-empty string up to 255 characters"),
        ({"event_id": 7}, "event_id must be a non-empty string up to 255 characters"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_and_the_others_are_stored(
    event_client: EventClient, fields: dict[str, Any], error: str
) -> None:
    answer = event_client.push(event(title="before"), event(**fields), event(title="after"))

    errors = reasons(answer, submitted=3)
    assert list(errors) == [1]
    assert errors[1].startswith(error)
    assert [row.title for row in stored_events()] == ["before", "after"]


def test_an_invalid_event_is_rejected_alone(event_client: EventClient) -> None:
    answer = event_client.push("x", [], 1, None, event())

    assert reasons(answer, submitted=5) == dict.fromkeys(range(4), "event must be an object")
    assert len(stored_events()) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"no json", "invalid_json"),
        (b"[]", "invalid_body"),
        (b"{}", "invalid_body"),
        (json.dumps({"events": [0] * 1001}).encode(), "too_many_events"),
        (b'{"events": ' + b"[" * 5000, "invalid_json"),
    ],
)
def test_a_body_without_events_is_refused_as_a_whole(
    event_client: EventClient, body: bytes, code: str
) -> None:
    answer = event_client.send(body)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert stored_events() == []


def test_the_limits_and_statuses_equal_those_of_the_usage_endpoint(
    cast: Cast, event_client: EventClient
) -> None:
    small = json.dumps({"events": [event()]}).encode()
    statuses = {
        200: event_client.send(gzip.compress(small), content_encoding="gzip"),
        405: event_client.send(b"", method="GET"),
        413: event_client.send(b" " * (16 * 2**20 + 1)),
        415: event_client.send(small, content_encoding="br"),
    }
    with override_settings(EVENT_RATE_LIMIT_PER_MINUTE=4):
        statuses[429] = event_client.push(event())
    suspend_account(account=cast.account, actor=ACTOR)
    statuses[403] = event_client.push(event())

    assert {status: answer.status_code for status, answer in statuses.items()} == {s: s for s in statuses}
    assert statuses[429].headers["Retry-After"]
    assert statuses[200].headers["RateLimit-Limit"] == "1000"


def test_an_event_id_is_stored_once_and_other_content_is_rejected(event_client: EventClient) -> None:
    event_client.push(event(event_id="run-1"), event(event_id="run-1"))

    answer = event_client.push(
        event(event_id="run-1", occurred_at=...), event(event_id="run-1", title="other")
    )

    assert reasons(answer, submitted=2) == {1: "event_id must not be that of an event with other content"}
    assert answer.headers["Events-Duplicates"] == "1"
    assert len(stored_events()) == 1


def test_two_sources_may_use_the_same_event_id(cast: Cast, event_client: EventClient) -> None:
    other = create_event_client(cast, "Cluster")

    for each in (event_client, other):
        assert reasons(each.push(event(event_id="1")), submitted=1) == {}

    assert [row.source_id for row in stored_events()] == [event_client.source.pk, other.source.pk]


def test_a_retry_under_its_idempotency_key_gets_the_same_answer(event_client: EventClient) -> None:
    first = event_client.push(event(), event(kind="x"), idempotency_key="k")
    again = event_client.push(event(), event(kind="x"), idempotency_key="k")
    other = event_client.push(event(), idempotency_key="k")

    assert again.content == first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status_code == 422
    assert len(stored_events()) == 1


def test_a_dry_run_answers_the_same_and_stores_nothing(event_client: EventClient) -> None:
    event_client.push(event(event_id="1"))
    dry = event_client.push(event(event_id="1"), event(event_id="2"), event(kind="x"), path="?dry_run=true")

    assert dry.json()["accepted"] == 2
    assert dry.headers["Events-Duplicates"] == "1"
    assert len(stored_events()) == 1
    assert event_client.push(event(), path="?dry_run=maybe").status_code == 400


def test_stored_events_are_metered_once_and_stay_so_when_the_source_is_deleted(
    cast: Cast, event_client: EventClient
) -> None:
    event_client.push(event(event_id="1"), event(), event(kind="x"))
    event_client.push(event(event_id="1"))

    month = EventMonth.objects.unscoped().get()
    assert (month.events, month.duplicates, month.rejected) == (2, 1, 1)
    delete_event_source(source=event_client.source, actor=cast.actor)

    assert stored_events() == []
    assert event_client.push(event()).status_code == 401
    assert metered_events(cast.account, clock.today()) == 2
    assert metered_events(cast.other_account, clock.today()) == 0


def test_a_revoked_key_is_refused(cast: Cast, event_client: EventClient) -> None:
    revoke_event_key(source=event_client.source, actor=cast.actor)

    answer = event_client.push(event())

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert stored_events() == []
