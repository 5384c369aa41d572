"""Whatever is sent to /api/events, the endpoint answers in JSON, with 200 or 4xx, and counts every event once.

1,000 requests in the suite; SOAK_INPUTS says how many otherwise.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from finops.change_events.views.push import push
from tests.cast import Cast
from tests.finops.change_events.event_client import (
    PATH,
    EventClient,
    create_event_client,
    event,
    stored_events,
)
from tests.ingestion.event_strategies import as_json
from tests.ingestion.test_any_push import anything, cut, headers, nested, swapped, with_examples

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

texts = st.text(max_size=12) | st.sampled_from(
    ["deployment", "2026-11-20", "\0", "\ud800", "https://x.example", "https://[", "http://a:b@c", "t" * 300]
)
scopes = st.dictionaries(
    st.sampled_from(["service", "tag:team", "cost_tag:Env", "tag:", "x_", "x_Model", "Account", ":", "nope"])
    | texts,
    texts | st.lists(texts, max_size=3) | anything,
    max_size=4,
)
any_event = st.fixed_dictionaries(
    {"kind": st.just("change") | texts, "title": texts},
    optional={
        "occurred_at": texts | anything,
        "actor": texts | anything,
        "url": texts | anything,
        "scope": scopes | anything,
        "event_id": texts | anything,
        "more": anything,
    },
)
batches = st.lists(any_event | anything, max_size=6)
bodies = cut | swapped | nested | st.binary(max_size=80) | anything.map(lambda value: as_json(value).encode())


@pytest.fixture
def create_client(cast: Cast, settings: Any) -> EventClient:
    settings.EVENT_RATE_LIMIT_PER_MINUTE = 10**9
    return create_event_client(cast)


def send(event_client: EventClient, body: bytes, **given: str) -> Any:
    request = RequestFactory().generic("POST", PATH, body, content_type="application/json")
    request.META.update({"HTTP_AUTHORIZATION": f"Bearer {event_client.key}", **given})
    if "CONTENT_LENGTH" in given:
        request.META.update({"wsgi.input": BytesIO(body), "wsgi.input_terminated": True})
    answer = push(request)
    assert answer["Content-Type"] == "application/json"
    return answer


def test_any_body_is_answered(create_client: EventClient) -> None:
    @with_examples(0.4)
    @given(body=bodies)
    def any_body(body: bytes) -> None:
        assert send(create_client, body).status_code in (200, 400)

    any_body()


@pytest.mark.slow
def test_each_event_of_any_batch_is_counted_once(create_client: EventClient) -> None:
    @with_examples(0.4)
    @given(events=batches)
    def any_batch(events: list[Any]) -> None:
        answer = send(create_client, as_json({"events": events}).encode())
        receipt = json.loads(answer.content)
        if answer.status_code == 400:  # NaN is no JSON
            assert receipt["error"]["code"] == "invalid_json"
            return
        assert receipt["accepted"] + receipt["rejected"] == len(events)
        assert [each["index"] for each in receipt["errors"]] == sorted(
            {e["index"] for e in receipt["errors"]}
        )

    any_batch()


def test_any_header_is_answered(create_client: EventClient) -> None:
    body = json.dumps({"events": [event(event_id="1")]}).encode()

    @with_examples(0.2)
    @given(given=headers)
    def any_headers(given: dict[str, str]) -> None:
        assert send(create_client, body, **given).status_code in (200, 400, 413, 415, 422)

    any_headers()
    assert len(stored_events()) <= 1
