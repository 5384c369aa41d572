"""Whatever is pushed, the endpoint answers in JSON, with 200 or 4xx, and counts every event once.

1,000 requests in the suite; `make soak` sends 200,000 (SOAK=1), or as many as SOAK_INPUTS says.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as sized_by
from hypothesis import strategies as st

from ingestion.views.push import push
from tests.cast import Cast
from tests.ingestion.event_strategies import as_json, body_of, events, other_values
from tests.ingestion.push_client import PATH, PushClient, create_push_client, event

SOAK = bool(os.environ.get("SOAK"))
INPUTS = int(os.environ.get("SOAK_INPUTS", "200000" if SOAK else "1000"))

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

batches = st.lists(events, max_size=6)
anything = st.recursive(
    other_values | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
around = st.dictionaries(st.sampled_from(["events", "Events", "x", "\ud800"]), anything, max_size=3)
whole = batches.map(body_of)
cut = st.tuples(whole, st.integers(1, 80)).map(lambda pair: pair[0][: -pair[1]])
nested = st.tuples(
    st.sampled_from([b"[", b'{"events":[', b'{"events":[{"x":[', b'{"a":']), st.integers(1, 3_000)
).map(lambda pair: pair[0] * pair[1])
swapped = st.tuples(whole, st.integers(0, 10**6), st.binary(min_size=1, max_size=3)).map(
    lambda three: three[0][: three[1] % len(three[0])] + three[2] + three[0][three[1] % len(three[0]) + 1 :]
)
bodies = (
    whole
    | cut
    | swapped
    | nested
    | st.binary(max_size=80)
    | (anything | around).map(lambda value: as_json(value).encode())
)
headers = st.dictionaries(
    st.sampled_from(["HTTP_CONTENT_ENCODING", "CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_ACCEPT", "HTTP_TRANSFER_ENCODING",
                     "HTTP_EXPECT", "HTTP_HOST", "HTTP_IDEMPOTENCY_KEY", "HTTP_X_FORWARDED_FOR", "HTTP_COOKIE", "QUERY_STRING"]),
    st.text(st.characters(codec="latin-1", exclude_categories=()), max_size=20)
    | st.sampled_from(["", "0", "-1", "7", "9" * 30, "gzip", "GZIP", "identity", "br", "chunked", "text/html", "multipart/form-data",
                       "dry_run=true", "dry_run=1", "dry_run=x", "dry_run=%ff", "k"]),
    max_size=4,
)  # fmt: skip


def with_examples(share: float) -> Callable[[Any], Any]:
    return sized_by(
        max_examples=max(1, int(INPUTS * share)),
        deadline=None,
        database=None,
        derandomize=not SOAK,  # the suite is the same every time; the soak explores
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture
def push_client(cast: Cast, settings: Any) -> PushClient:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 10**9
    return create_push_client(cast)


def send(push_client: PushClient, body: bytes, **given: str) -> Any:
    """The answer. Its status is `status_code`, and what it says `said`."""
    request = RequestFactory().generic("POST", PATH, body, content_type="application/json")
    request.META.update({"HTTP_AUTHORIZATION": f"Bearer {push_client.key}", **given})
    if "CONTENT_LENGTH" in given:
        request.META.update({"wsgi.input": BytesIO(body), "wsgi.input_terminated": True})
    answer = push(request)
    assert answer["Content-Type"] == "application/json"
    answer.said = json.loads(answer.content)  # type: ignore[attr-defined]
    return answer


def count_events() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(events), 0) FROM lake_usageinbox")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def check(answer: Any, added: int, submitted: int | None = None) -> None:
    status, shown = answer.status_code, answer.said
    assert status == 200 or 400 <= status < 500
    if status != 200:
        assert shown.keys() == {"error"}
        assert shown["error"].keys() == {"code", "message"}
        assert added == 0
        return
    assert shown.keys() == {"accepted", "rejected", "errors"}
    indexes = [error["index"] for error in shown["errors"]]
    assert indexes == sorted(set(indexes))
    assert len(indexes) == shown["rejected"]
    assert added == (shown["accepted"] - int(answer["Usage-Duplicates"]) if "Usage-Batch-Id" in answer else 0)
    assert int(answer["Usage-Rejected"]) == shown["rejected"]
    if submitted is not None:
        assert shown["accepted"] + shown["rejected"] == submitted
        assert all(0 <= index < submitted for index in indexes)


@pytest.mark.slow
@with_examples(0.4)
@given(body=bodies, given_headers=headers)
def test_any_bytes_and_headers_get_a_proper_answer(
    push_client: PushClient, body: bytes, given_headers: dict[str, str]
) -> None:
    before = count_events()

    answer = send(push_client, body, **given_headers)

    if "Idempotent-Replayed" in answer:
        assert count_events() == before
    else:
        check(answer, count_events() - before)


@with_examples(0.4)
@given(batch=batches)
def test_any_batch_is_counted_whole(push_client: PushClient, batch: list[Any]) -> None:
    before = count_events()

    answer = send(push_client, body_of(batch))

    assert answer.status_code == 200
    check(answer, count_events() - before, submitted=len(batch))


@with_examples(0.1)
@given(body=whole | swapped, damage=st.tuples(st.integers(0, 10**6), st.binary(max_size=3)) | st.none())
def test_any_gzip_gets_a_proper_answer(
    push_client: PushClient, body: bytes, damage: tuple[int, bytes] | None
) -> None:
    packed = gzip.compress(body)
    if damage:
        place = damage[0] % len(packed)
        packed = packed[:place] + damage[1] + packed[place + 1 :]
    before = count_events()

    answer = send(push_client, packed, HTTP_CONTENT_ENCODING="gzip")

    check(answer, count_events() - before)


@with_examples(0.1)
@given(
    wrong=st.integers(0, 7),
    field=st.sampled_from(
        ["customer_id", "metric", "quantity", "dimensions", "timestamp", "unit", "customer_name", "event_id"]
    ),
    value=anything,
)
def test_a_wrong_value_anywhere_keeps_its_index_and_the_others(
    push_client: PushClient, wrong: int, field: str, value: Any
) -> None:
    batch = [event() for _ in range(8)]
    batch[wrong] = event(**{field: value})
    before = count_events()

    answer = send(push_client, ('{"events":[' + ",".join(as_json(each) for each in batch) + "]}").encode())

    if answer.status_code == 400:  # NaN and Infinity are no JSON
        return
    check(answer, count_events() - before, submitted=8)
    assert [error["index"] for error in answer.said["errors"]] in ([], [wrong])
