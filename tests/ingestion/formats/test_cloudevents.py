"""CloudEvents at the push endpoint: what each attribute becomes, what is refused, once by source and id."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client, override_settings
from hypothesis import given
from hypothesis import strategies as st

from finops.lib import clock
from ingestion import services
from ingestion.formats.cloudevents import Reading, check_binary_cloudevent, check_cloudevents
from ingestion.models import UsageBatch
from ingestion.parsing import MalformedBody
from ingestion.views.cloudevents import OPENMETER_PATH, PATH
from tests.cast import Cast
from tests.ingestion.event_strategies import as_json, moments, numbers, texts
from tests.ingestion.push_client import MOMENT, PushClient, inbox
from tests.ingestion.test_any_push import with_examples

pytestmark = pytest.mark.django_db


def cloudevent(**attributes: Any) -> dict[str, Any]:
    """A valid event; an attribute given as ... is left out."""
    whole = {
        "specversion": "1.0",
        "id": "1",
        "source": "/gateway",
        "type": "api_requests",
        "subject": "cust-1",
        "time": MOMENT,
        "data": {"value": 5},
        **attributes,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def post(
    push_client: PushClient,
    body: Any,
    path: str = PATH,
    content_type: str = "application/json",
    **headers: str,
) -> Any:
    content = body if isinstance(body, bytes | str) else json.dumps(body)
    all_headers = {
        "authorization": f"Bearer {push_client.key}",
        **{k.replace("_", "-"): headers[k] for k in headers},
    }
    return Client().generic("POST", path, content, content_type, headers=all_headers)


def error(push_client: PushClient, **attributes: Any) -> str:
    answer = post(push_client, cloudevent(**attributes))
    assert answer.status_code == 200, answer.content
    return "".join(each["error"] for each in answer.json()["errors"])


def test_an_event_becomes_usage_with_its_texts_as_dimensions(push_client: PushClient) -> None:
    data = {"value": 2.5, "region": "eu", "nested": {"a": 1}, "flag": True, "nothing": None}

    answer = post(push_client, cloudevent(data=data), content_type="application/cloudevents+json")

    assert answer.json() == {"accepted": 1, "rejected": 0, "errors": []}
    [row] = inbox()
    assert (row.customer_id, row.metric, row.quantity) == ("cust-1", "api_requests", Decimal("2.5"))
    assert row.event_time.isoformat() == "2026-11-20T12:00:00+00:00"
    assert row.dimensions == {"region": "eu", "source": "/gateway"}


@pytest.mark.parametrize(
    ("data", "metrics"),
    [
        (..., {"t": 1}),
        (None, {"t": 1}),
        ({"model": "m"}, {"t": 1}),
        ({"value": 3, "tokens": 9}, {"t": 3, "t.tokens": 9}),
        ({"quantity": 4}, {"t": 4}),
        ({"value": None, "quantity": 4}, {"t": 4}),
        ({"quantity": None, "value": 4}, {"t": 4}),
        ({"tokens": 4, "cost": None, "usage": {"tokens": 5}}, {"t.tokens": 4}),
        ({}, {"t": 1}),
        ({"model": "m", "cached": True}, {"t": 1}),
        ({"version": "1.2.3", "day": "2026-11-20", "phone": "+49 30 12"}, {"t": 1}),
        ({"value": 1, "order": "12", "extra": None, "nested": {}, "many": [1]}, {"t": 1}),
        ({"value": 1, "quantity": 4}, {"t": 1, "t.quantity": 4}),
        ({"prompt_tokens": 7, "completion_tokens": 2}, {"t.prompt_tokens": 7, "t.completion_tokens": 2}),
    ],
)
def test_numbers_of_data_become_metrics(push_client: PushClient, data: Any, metrics: dict[str, int]) -> None:
    assert error(push_client, type="t", data=data) == ""

    assert {row.metric: row.quantity for row in inbox()} == metrics


def test_the_digits_that_are_sent_are_the_digits_that_count(push_client: PushClient) -> None:
    body = json.dumps(cloudevent(data={"value": 0})).replace('"value": 0', '"value": 99999999999999999999.25')

    assert post(push_client, body).json()["accepted"] == 1
    assert [row.quantity for row in inbox()] == [Decimal("99999999999999999999.25")]


@pytest.mark.parametrize("path", [PATH, OPENMETER_PATH])
@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"value": None}, "data.value"),
        ({"value": None, "tokens": 5}, "data.value"),
        ({"value": {"tokens": 5}}, "data.value"),
        ({"value": "soon", "tokens": 5}, "data.value"),
        ({"value": True}, "data.value"),
        ({"value": [12]}, "data.value"),
        ({"value": ""}, "data.value"),
        ({"value": "1,5"}, "data.value"),
        ({"tokens": None}, "data.tokens"),
        ({"model": "m", "tokens": None}, "data.tokens"),
        ({"usage": {"tokens": 55}}, "data.usage"),
        ({"counts": [1, 2]}, "data.counts"),
        ({"tokens": ""}, "data.tokens"),
        ({"tokens": "1,5"}, "data.tokens"),
        ({"tokens": "1,000.50"}, "data.tokens"),
        ({"tokens": "1.000,50"}, "data.tokens"),
        ({"tokens": "1 000"}, "data.tokens"),
        ({"tokens": "NaN"}, "data.tokens"),
        ({"tokens": "-Infinity"}, "data.tokens"),
        ({"a\0" + "b" * 70: None}, "data.a" + "b" * 58),
        (12, "data"),
        ("12", "data"),
        ([{"value": 12}], "data"),
        (True, "data"),
    ],
    ids=str,
)
def test_data_with_something_in_the_place_of_a_number_is_refused_and_named(
    push_client: PushClient, path: str, data: Any, field: str
) -> None:
    answer = post(push_client, [cloudevent(id="1"), cloudevent(id="2", data=data)], path)

    [refused] = answer.json()["errors"]
    assert (refused["index"], refused["error"].split(" must be ")[0]) == (1, field)
    assert [row.quantity for row in inbox()] == [5]


def test_numeric_text_is_a_number_for_openmeter_and_named_elsewhere(push_client: PushClient) -> None:
    data = {"duration_seconds": "12"}

    assert post(push_client, cloudevent(data=data), OPENMETER_PATH).status_code == 204
    assert "data.duration_seconds must be a number" in error(push_client, id="2", data=data)

    [row] = inbox()
    assert (row.metric, row.quantity) == ("api_requests.duration_seconds", Decimal(12))
    assert row.dimensions == {"source": "/gateway"}


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("12", "12"),
        (" 12\n", "12"),
        ("-1.50", "-1.5"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("007", "7"),
        ("1.2e3", "1200"),
        ("1E-3", "0.001"),
        ("0", "0"),
        ("99999999999999999999.25", "99999999999999999999.25"),
    ],
)
def test_a_number_as_text_keeps_its_digits_for_openmeter(
    push_client: PushClient, text: str, quantity: str
) -> None:
    data = {"value": text, "model": "m-1"}

    assert post(push_client, cloudevent(data=data), OPENMETER_PATH).status_code == 204

    [row] = inbox()
    assert (row.metric, row.quantity) == ("api_requests", Decimal(quantity))
    assert row.dimensions == {"source": "/gateway", "model": "m-1"}


@pytest.mark.parametrize("text", ["1e20", "-1e400", "9" * 5_000, "1e99999999999999999999"])
def test_a_number_as_text_has_the_limits_of_a_number(push_client: PushClient, text: str) -> None:
    answer = post(push_client, cloudevent(data={"value": text}), OPENMETER_PATH)

    assert answer.status_code == 400
    assert "the number in data must be below 10^20" in answer.json()["errors"][0]["error"]


def test_text_that_is_almost_a_number_takes_no_time(push_client: PushClient) -> None:
    texts = {f"n{at}": "0" * 100_000 + "x" for at in range(20)}

    assert post(push_client, cloudevent(data={"value": 1, **texts}), OPENMETER_PATH).status_code == 204


@pytest.mark.parametrize("absent", [..., None], ids=["none", "null"])
def test_an_event_without_a_time_has_the_time_of_receipt_and_counts_once(
    push_client: PushClient, absent: Any
) -> None:
    batch = [
        cloudevent(id="1", time=absent, data={"a": 1, "b": 2}),
        cloudevent(id="2"),
        cloudevent(id="3", time=absent),
        cloudevent(id="4", time=absent, subject=...),
    ]
    received_at = datetime(2026, 11, 21, 9, tzinfo=UTC)
    with clock.frozen(received_at):
        first = post(push_client, batch)
    dry = post(push_client, batch, f"{PATH}?dry_run=true")
    again = post(push_client, batch, OPENMETER_PATH)
    other = post(push_client, cloudevent(id="3", time=absent, data={"value": 6}))

    assert [each.headers["Usage-Without-Time"] for each in (first, dry, again, other)] == ["2", "2", "2", "0"]
    assert [each.headers["Usage-Duplicates"] for each in (first, dry, again)] == ["0", "4", "4"]
    assert (
        "source and id must not be that of an event with other content" in other.json()["errors"][0]["error"]
    )
    times = {row.event_time for row in inbox()}
    assert times == {received_at, datetime.fromisoformat(MOMENT)}
    assert len(inbox()) == 4


def test_an_event_without_a_time_in_binary_mode_is_the_same_event(push_client: PushClient) -> None:
    names = ("specversion", "id", "source", "type", "subject")
    headers = {f"ce_{name}": cloudevent()[name] for name in names}

    structured = post(push_client, cloudevent(time=...), content_type="application/cloudevents+json")
    binary = post(push_client, {"value": 5}, **headers)

    assert [each.headers["Usage-Without-Time"] for each in (structured, binary)] == ["1", "1"]
    assert binary.headers["Usage-Duplicates"] == "1"
    assert error(push_client, time="") == "time must be a parseable date"


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"specversion": "0.3"}, 'specversion must be "1.0"'),
        ({"id": ...}, "id must be a non-empty string"),
        ({"source": 1}, "source must be a non-empty string"),
        ({"type": ""}, "type must be a non-empty string"),
        ({"time": "soon"}, "time must be a parseable date"),
        ({"subject": ...}, "subject must be a non-empty string up to 255 characters"),
        ({"data": [1]}, "data must be an object"),
        ({"data": {"value": "5"}}, "data.value must be a number"),
        ({"data": {"quantity": True}}, "data.quantity must be a number"),
        (
            {"data": {"value": 10**20}},
            "the number in data must be below 10^20 in size, rounded to 12 decimal places",
        ),
        ({"data": {f"n{at}": at for at in range(101)}}, "data must have at most 100 numbers"),
        ({"data": ..., "data_base64": "AA=="}, "data_base64 must not be sent; send data as a JSON object"),
        ({"datacontenttype": "text/xml"}, "datacontenttype must be JSON"),
        (
            {"data": {"x" * 100: 1}},
            "type (with the name of the number in data) must be a non-empty string up to 100 characters",
        ),
        ({"data": {"a": "b\0"}}, "data and source must be an object of string values"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_event_is_refused_with_a_message_of_cloudevents(
    push_client: PushClient, attributes: dict[str, Any], reason: str
) -> None:
    assert error(push_client, **attributes) == reason
    assert inbox() == []


def test_each_event_of_a_batch_is_validated_separately(push_client: PushClient) -> None:
    batch = [
        cloudevent(id="1", data={"a": 1, "b": 2}),
        cloudevent(id="2", data={"a": 1, "b": 10**20}),
        "no event",
        cloudevent(id="3"),
    ]

    answer = post(push_client, batch, content_type="application/cloudevents-batch+json")

    assert (answer.json()["accepted"], answer.json()["rejected"]) == (2, 2)
    assert [each["index"] for each in answer.json()["errors"]] == [1, 2]
    assert answer.headers["Usage-Rejected"] == "2"
    assert [row.metric for row in inbox()] == ["api_requests.a", "api_requests.b", "api_requests"]
    batch_row = UsageBatch.objects.unscoped().get()
    assert (batch_row.accepted, batch_row.rejected) == (3, 2)


def test_binary_mode_has_the_attributes_in_headers(push_client: PushClient) -> None:
    answer = post(
        push_client,
        {"value": 3, "plan": "pro"},
        ce_specversion="1.0",
        ce_id="1",
        ce_source="/gateway",
        ce_type="api_requests",
        ce_subject="K%C3%B6ln%20GmbH",
        ce_time=MOMENT,
    )

    assert answer.json()["accepted"] == 1
    [row] = inbox()
    assert (row.customer_id, row.quantity) == ("Köln GmbH", Decimal(3))
    assert row.dimensions == {"plan": "pro", "source": "/gateway"}


def test_the_same_event_in_either_mode_at_either_path_counts_once(push_client: PushClient) -> None:
    headers = {
        f"ce_{name}": cloudevent()[name]
        for name in ("specversion", "id", "source", "type", "subject", "time")
    }

    first = post(push_client, cloudevent())
    again = post(push_client, [cloudevent(), cloudevent()])
    binary = post(push_client, {"value": 5}, **headers)
    openmeter = post(push_client, cloudevent(), OPENMETER_PATH)

    assert [answer.json()["accepted"] for answer in (first, again, binary)] == [1, 2, 1]
    assert [answer.headers["Usage-Duplicates"] for answer in (first, again, binary, openmeter)] == [
        "0",
        "2",
        "1",
        "1",
    ]
    assert openmeter.status_code == 204
    assert len(inbox()) == 1


def test_the_same_id_of_another_source_is_another_event_and_with_other_data_refused(
    push_client: PushClient,
) -> None:
    assert error(push_client) == ""
    assert error(push_client, source="/other") == ""
    assert (
        error(push_client, data={"value": 6})
        == "source and id must not be that of an event with other content"
    )
    assert len(inbox()) == 2


def test_a_source_longer_than_an_event_id_is_known_again(push_client: PushClient) -> None:
    for _ in range(2):
        assert error(push_client, source="/s" * 200) == ""

    assert len(inbox()) == 1


def test_openmeter_gets_204_or_a_problem_that_names_the_event(push_client: PushClient) -> None:
    fine = post(push_client, [cloudevent()], OPENMETER_PATH, "application/cloudevents-batch+json")
    mixed = post(push_client, [cloudevent(id="2"), cloudevent(id="3", subject=...)], OPENMETER_PATH)

    assert (fine.status_code, fine.content) == (204, b"")
    assert mixed.status_code == 400
    assert mixed.headers["Content-Type"] == "application/problem+json"
    assert mixed.json() == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": "1 of 2 events rejected, the other 1 are accepted. event 1: subject must be a non-empty string up to 255 characters.",
        "accepted": 1,
        "rejected": 1,
        "errors": [{"index": 1, "error": "subject must be a non-empty string up to 255 characters"}],
    }
    assert len(inbox()) == 2


def test_an_event_of_litellm_counts_its_tokens_and_cost(push_client: PushClient) -> None:
    data = {"model": "m-1", "cost": 1.2e-05, "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    event = cloudevent(
        id="chatcmpl-1", source="litellm-proxy", type="litellm_tokens", subject="alice", data=data
    )

    answer = post(push_client, event, OPENMETER_PATH, "application/cloudevents+json")

    assert answer.status_code == 204
    assert {row.metric: row.quantity for row in inbox()} == {
        "litellm_tokens.cost": Decimal("0.000012"),
        "litellm_tokens.prompt_tokens": 7,
        "litellm_tokens.completion_tokens": 2,
        "litellm_tokens.total_tokens": 9,
    }
    assert [row.dimensions for row in inbox()] == [{"model": "m-1", "source": "litellm-proxy"}] * 4


@pytest.mark.parametrize("path", [PATH, OPENMETER_PATH])
def test_requests_that_are_refused_entirely(push_client: PushClient, path: str, cast: Cast) -> None:
    def status(body: Any, **given: Any) -> int:
        answer = post(push_client, body, path, **given)
        kind = "application/problem+json" if path == OPENMETER_PATH else "application/json"
        assert answer.headers["Content-Type"] == kind
        code: int = answer.status_code
        return code

    assert status(b"no json") == 400
    assert status(b"[" * 100_000) == 400
    assert status([cloudevent()] * 1_001) == 400
    assert status([cloudevent(data={f"n{at}": 1 for at in range(100)})] * 11) == 400
    assert status(b" " * (4 * 2**20 + 1)) == 413
    assert status(b"<a/>", content_type="application/cloudevents+xml") == 415
    assert status(cloudevent(), content_encoding="br") == 415
    assert status(cloudevent(), authorization="Bearer fuse_nobody") == 401
    with override_settings(USAGE_RATE_LIMIT_PER_MINUTE=1):
        assert status(cloudevent()) == 429
    services.revoke_usage_key(source=push_client.source, actor=cast.actor)
    assert status(cloudevent()) == 401
    assert inbox() == []


def test_a_retry_with_its_idempotency_key_gets_the_same_answer(push_client: PushClient) -> None:
    batch = [cloudevent(), cloudevent(id="2", subject=...)]
    first, again = (post(push_client, batch, idempotency_key="k") for _ in range(2))
    other = post(push_client, cloudevent(id="9"), idempotency_key="k")

    assert first.json() == again.json()
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.status_code == 422


def test_a_dry_run_stores_nothing(push_client: PushClient) -> None:
    assert post(push_client, cloudevent(), f"{PATH}?dry_run=true").json()["accepted"] == 1
    assert inbox() == []


# Whatever is sent

numeric_texts = st.from_regex(r"\A[+-]?[0-9]{0,4}[.,]?[0-9]{0,4}([eE]-?[0-9]{1,3})?\Z")
values = texts | numeric_texts | numbers | st.none() | st.booleans() | st.lists(st.integers(), max_size=2)
datas = st.dictionaries(st.sampled_from(["value", "quantity", "a", "", "\0", "x" * 99]), values, max_size=4)
readings = st.builds(Reading, st.just(datetime(2026, 11, 20, tzinfo=UTC)), st.booleans())
events = st.fixed_dictionaries(
    {},
    optional={
        "specversion": st.just("1.0") | values,
        "id": texts | values,
        "source": texts | values,
        "type": texts | values,
        "subject": texts | values,
        "time": moments | values,
        "datacontenttype": st.sampled_from(["application/json", "text/xml", "a/b+json; c"]) | values,
        "data": datas | values,
        "data_base64": values,
    },
)
bodies = (
    st.lists(events | values, max_size=4).map(lambda batch: as_json(batch).encode())
    | (events | values).map(lambda value: as_json(value).encode())
    | st.binary(max_size=60)
    | st.integers(1, 3_000).map(lambda deep: b'{"data":' * deep)
)


@with_examples(0.5)
@given(body=bodies, reading=readings)
def test_any_body_is_validated_or_refused(body: bytes, reading: Reading) -> None:
    try:
        translation = check_cloudevents(body, reading)
    except MalformedBody:
        return
    batch = translation.batch
    assert batch.event_count == len(translation.items)
    assert set(translation.items) == set(range(translation.item_count))
    wrong = {translation.items[each.index] for each in batch.rejected}
    assert wrong.isdisjoint(translation.items[event.position] for event in batch.events)
    assert all(each.error for each in batch.rejected)


@with_examples(0.5)
@given(
    headers=st.dictionaries(
        st.sampled_from(["specversion", "id", "source", "type", "subject", "time", "x"]),
        st.text(st.characters(codec="latin-1"), max_size=12)
        | st.sampled_from(["1.0", MOMENT, '"q\\', "%ff", "%"]),
    ),
    content_type=st.none() | st.sampled_from(["", "application/json", "text/plain", "a/b+json;c"]),
    body=bodies,
    reading=readings,
)
def test_any_headers_are_validated_or_refused(
    headers: dict[str, str], content_type: str | None, body: bytes, reading: Reading
) -> None:
    try:
        translation = check_binary_cloudevent(headers, content_type, body, reading)
    except MalformedBody:
        return
    assert translation.item_count == 1
    assert translation.batch.event_count >= 1
