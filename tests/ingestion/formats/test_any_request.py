"""Whatever is sent to the endpoints of other formats, they answer with 2xx or 4xx, in their own form, and store all that they
accept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import resolve
from hypothesis import given
from hypothesis import strategies as st

from ingestion.views import cloudevents, otlp
from tests.cast import Cast
from tests.ingestion.formats import test_cloudevents as of_cloudevents
from tests.ingestion.formats import test_otlp as of_otlp
from tests.ingestion.push_client import PushClient, create_push_client
from tests.ingestion.test_any_push import count_events, with_examples

pytestmark = [pytest.mark.soak, pytest.mark.django_db]

TYPES = [
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
    "application/cloudevents+xml",
    "application/json; charset=utf-8",
    otlp.JSON,
    otlp.PROTOBUF,
    "text/plain",
    "",
]
bodies = (
    of_cloudevents.bodies
    | of_otlp.any_requests
    | of_otlp.broken_protobuf
    | st.binary(max_size=60)
    | st.sampled_from([b"", b"{}", b"[]", b"null", b"\xef\xbb\xbf[]", b'"\\ud800"'])
)
headers = st.dictionaries(
    st.sampled_from(["HTTP_CE_SPECVERSION", "HTTP_CE_ID", "HTTP_CE_SOURCE", "HTTP_CE_TYPE", "HTTP_CE_SUBJECT", "HTTP_CE_TIME",
                     "HTTP_CONTENT_ENCODING", "HTTP_IDEMPOTENCY_KEY", "HTTP_ACCEPT", "QUERY_STRING"]),
    st.text(st.characters(codec="latin-1", exclude_categories=()), max_size=12)
    | st.sampled_from(["1.0", "2026-11-20T12:00:00Z", "gzip", "identity", "%ff", "dry_run=true", "k"]),
    max_size=7,
)  # fmt: skip


@pytest.fixture
def push_client(cast: Cast, settings: Any) -> PushClient:
    settings.USAGE_RATE_LIMIT_PER_MINUTE = 10**9
    return create_push_client(cast)


def is_in_form(path: str, answer: Any) -> bool:
    """Whether an answer has the form of its path."""
    kind: str | None = answer.get("Content-Type")
    status: int = answer.status_code
    if path == cloudevents.OPENMETER_PATH:
        is_problem = kind == "application/problem+json"
        return status == 204 or (is_problem and bool(json.loads(answer.content)["status"] == status))
    if path == otlp.PATH and kind == otlp.PROTOBUF:
        return True
    return kind == "application/json" and isinstance(json.loads(answer.content), dict)


@pytest.mark.parametrize("path", [cloudevents.PATH, cloudevents.OPENMETER_PATH, otlp.PATH])
@with_examples(0.5)
@given(body=bodies, content_type=st.sampled_from(TYPES), given_headers=headers)
def test_any_request_gets_a_proper_answer(
    push_client: PushClient, path: str, body: bytes, content_type: str, given_headers: dict[str, str]
) -> None:
    before = count_events()
    request = RequestFactory().generic("POST", path, body, content_type=content_type)
    request.META.update({"HTTP_AUTHORIZATION": f"Bearer {push_client.key}", **given_headers})

    answer = resolve(path).func(request)

    assert answer.status_code in (200, 204) or 400 <= answer.status_code < 500, answer.content
    assert is_in_form(path, answer), answer.content
    if "Usage-Batch-Id" not in answer or "Idempotent-Replayed" in answer:
        assert count_events() == before
