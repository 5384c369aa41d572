"""Events that are accepted although their sender should check them: dates that are unlikely, fields that are ignored."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.scoping import account_scope
from finops.insights.data_health import data_health
from finops.lib import clock
from finops.lib.errors import UserError
from ingestion import services
from ingestion.models import UsageBatch
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PushClient, event, inbox, reasons
from tests.ingestion.upload_client import HEADER, csv, run_new_upload, send
from tests.pages import text_of

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
DRY = "?dry_run=true"
EVENTS_PATH = "/api/usage/cloudevents"
RETRY_IDS = ["transaction_id", "idempotency_key", "messageId", "eventId", "uuid"]
each = pytest.mark.parametrize


def page_of(push_client: PushClient, cast: Cast) -> str:
    return text_of(signed_in(cast.viewer).get(push_client.page))


def warnings_of(cast: Cast) -> list[str]:
    with account_scope(cast.account):
        return data_health(cast.account).warnings


def cloudevent(**attributes: Any) -> bytes:
    event_ = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "subject": "c", **attributes}
    return json.dumps(event_).encode()


def post(push_client: PushClient, path: str, body: bytes) -> Any:
    headers = {"authorization": f"Bearer {push_client.key}"}
    return Client().generic("POST", path, body, "application/json", headers=headers)


@each("few", [1, 40], ids=["one", "many"])
@each(
    ("timestamp", "is_unlikely"),
    [
        ("0001-01-01", True),
        ("1970-01-01", True),
        ("1970-01-21T09:54:00Z", True),
        ("1999-12-31T23:59:59.999999Z", True),
        ("2000-01-01", False),
        ("2026-11-30T12:00:00Z", False),
        ("2026-11-30T12:00:00.000001Z", True),
        ("9999-12-31", True),
    ],
)
def test_unlikely_times_are_accepted_metered_and_counted(
    push_client: PushClient, cast: Cast, timestamp: str, is_unlikely: bool, few: int
) -> None:
    batch = [event(timestamp=timestamp), *[event(timestamp="2026-11-29T12:00:00Z")] * (few - 1)]
    with clock.frozen(NOW):
        dry = push_client.push(*batch, path=DRY)
        answer = push_client.push(*batch)
        warnings, page = warnings_of(cast), page_of(push_client, cast)

    count = "1" if is_unlikely else "0"
    assert [each.headers["Usage-Unlikely-Times"] for each in (dry, answer)] == [count, count]
    assert (answer.json()["accepted"], len(inbox())) == (few, few)
    texts = [*dry.json().get("warnings", []), *warnings, page]
    assert [("One event is dated before 2000" in text, "10 digits" in text) for text in texts] == (
        [(True, True)] * 3 if is_unlikely else [(False, False)]
    )
    assert "warnings" not in answer.json()


def test_a_retry_and_a_voided_batch_do_not_count_again(push_client: PushClient, cast: Cast) -> None:
    old = event(timestamp="1970-01-01", event_id="a", uuid="u")
    for _ in range(2):
        answer = push_client.push(old)
    assert [answer.headers[f"Usage-{name}"] for name in ("Unlikely-Times", "Ignored-Fields")] == ["1", "1"]
    assert any("One event is dated" in text for text in warnings_of(cast))

    for batch in UsageBatch.objects.unscoped():
        services.void_usage_batch(batch=batch, actor=cast.actor)

    assert not [text for text in warnings_of(cast) if "dated" in text or "ignored" in text]


def test_remarks_are_of_the_last_days(push_client: PushClient, cast: Cast) -> None:
    push_client.push(event(timestamp="1970-01-01", uuid="u"))

    with clock.frozen(clock.now() + timedelta(days=8)):
        assert not [text for text in warnings_of(cast) if "dated" in text or "ignored" in text]


def test_times_of_cloudevents_and_of_an_upload_are_counted_too(push_client: PushClient, cast: Cast) -> None:
    answer = post(push_client, EVENTS_PATH, cloudevent(time="1970-01-01"))
    run_new_upload(push_client, csv("c,m,1,1970-01-01", "c,m,1,2026-11-20"), cast)

    assert answer.headers["Usage-Unlikely-Times"] == "1"
    assert any("2 events are dated before 2000" in text for text in warnings_of(cast))


def test_otlp_points_ahead_are_accepted_and_counted_and_named_in_a_dry_run(push_client: PushClient) -> None:
    attributes = [{"key": "customer.id", "value": {"stringValue": "c"}}]
    point = {"attributes": attributes, "asInt": "1", "timeUnixNano": str(4_102_444_800 * 10**9)}
    metrics = [{"name": "m", "gauge": {"dataPoints": [point]}}]
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).encode()

    dry = post(push_client, f"/api/usage/otlp/v1/metrics{DRY}", body)
    answer = post(push_client, "/api/usage/otlp/v1/metrics", body)

    assert [each.headers["Usage-Unlikely-Times"] for each in (dry, answer)] == ["1", "1"]
    assert dry.json()["partialSuccess"]["rejectedDataPoints"] == "0"
    assert "One event is dated" in dry.json()["partialSuccess"]["errorMessage"]
    assert answer.json() == {}


@each("few", [1, 40], ids=["one", "many"])
@each("field", RETRY_IDS)
def test_an_unknown_field_is_counted_and_named_once(
    push_client: PushClient, cast: Cast, field: str, few: int
) -> None:
    batch = [event(**{field: f"{at}"}) for at in range(few)]
    dry = push_client.push(*batch, path=DRY)
    answers = [push_client.push(*batch) for _ in range(2)]

    assert [each.headers["Usage-Ignored-Fields"] for each in (dry, *answers)] == [str(few)] * 3
    [warning] = dry.json()["warnings"]
    assert (field in warning, "event_id" in warning) == (True, True)
    assert len([text for text in warnings_of(cast) if field in text]) == 1
    assert page_of(push_client, cast).count(f"ignored: {field}.") == 1
    assert len(inbox()) == 2 * few


def test_fields_are_counted_of_accepted_events_whatever_the_others_are(push_client: PushClient) -> None:
    odd = event(a=1, b=None, metric="m\u00fc")
    batch = [odd, event(quantity="x", c=1), 5, event(a={}), event(**{"\0": 1, "x" * 90: 1})]

    dry, answer = push_client.push(*batch, path=DRY), push_client.push(*batch)

    assert reasons(answer, submitted=5).keys() == {1, 2}
    assert [each.headers["Usage-Ignored-Fields"] for each in (dry, answer)] == ["5", "5"]
    assert UsageBatch.objects.unscoped().get().ignored_fields == {
        "a": 2,
        "b": 1,
        "": 1,
        "x" * 59 + "…": 1,
    }


def test_many_fields_are_counted_and_few_are_named(push_client: PushClient) -> None:
    answer = push_client.push(event(**{f"f{at}": at for at in range(300)}), event(f7=1))

    assert answer.headers["Usage-Ignored-Fields"] == "301"
    fields = UsageBatch.objects.unscoped().get().ignored_fields or {}
    assert (len(fields), fields["f7"]) == (20, 2)


def test_what_a_cloudevent_has_and_is_not_stored_is_named(push_client: PushClient, cast: Cast) -> None:
    data = {"value": 1, "model": "m", "cached": True, "usage": {"tokens": 5}, "nothing": None}
    tracing = {"traceparent": "00-1", "dataschema": "/x", "datacontenttype": "application/json"}
    body = cloudevent(time="2026-11-20", messageid="m-1", partitionkey=None, data=data, **tracing)

    dry, answer = post(push_client, EVENTS_PATH + DRY, body), post(push_client, EVENTS_PATH, body)

    assert [each.headers["Usage-Ignored-Fields"] for each in (dry, answer)] == ["3", "3"]
    assert "messageid, data.cached, data.usage" in dry.json()["warnings"][0].replace(" and ", ", ")
    assert any("messageid" in text for text in warnings_of(cast))


def test_a_dry_run_as_openmeter_names_them_too(push_client: PushClient) -> None:
    path, body = "/api/usage/openmeter/api/v1/events", cloudevent(time="1970-01-01", uuid="u")

    dry, answer = post(push_client, path + DRY, body), post(push_client, path, body)

    times, fields = dry.json()["warnings"]
    assert (dry.status_code, "One event is dated" in times, "uuid" in fields) == (200, True, True)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["Usage-Unlikely-Times"] == answer.headers["Usage-Ignored-Fields"] == "1"


def use(push_client: PushClient, cast: Cast, field: str) -> str:
    data = {"event_id_field": field}
    answer = signed_in(cast.member).post(f"{push_client.page}event-id-field/", data, follow=True)
    return text_of(answer)


@each("few", [1, 40], ids=["one", "many"])
@each("field", RETRY_IDS)
def test_a_source_reads_its_event_ids_from_a_field_of_its_senders(
    push_client: PushClient, cast: Cast, field: str, few: int
) -> None:
    assert "Field saved." in use(push_client, cast, f" {field} ")
    batch = [event(**{field: f"id {at}"}) for at in range(few)]

    first, again = push_client.push(*batch), push_client.push(*batch)

    assert [each.headers["Usage-Duplicates"] for each in (first, again)] == ["0", str(few)]
    assert [each.headers["Usage-Ignored-Fields"] for each in (first, again)] == ["0", "0"]
    assert len(inbox()) == few
    use(push_client, cast, "")
    assert push_client.push(*batch).headers["Usage-Duplicates"] == "0"


def test_a_field_as_event_id_has_the_rules_of_an_event_id(push_client: PushClient, cast: Cast) -> None:
    use(push_client, cast, "uuid")
    batch = [
        event(uuid="a"),
        event(uuid="a", quantity=2),
        event(uuid=12345678901234567890),
        event(uuid=None),
        event(uuid={}),
        event(uuid=1.5),
        event(uuid=""),
        event(uuid="x" * 256),
        event(uuid="b", event_id="own"),
        event(uuid="c", event_id=None),
        5,
    ]

    errors = reasons(push_client.push(*batch), submitted=11)
    again = push_client.push(*(batch[at] for at in (0, 2, 3, 8, 9)))

    rule = "uuid must be a non-empty string up to 255 characters"
    assert {at: error for at, error in errors.items() if at not in (1, 10)} == dict.fromkeys(
        (4, 5, 6, 7), rule
    )
    assert errors[1] == "uuid must not be that of an event with other content"
    assert (again.headers["Usage-Duplicates"], again.headers["Usage-Ignored-Fields"]) == ("4", "1")


def test_a_field_with_another_meaning_is_no_event_id(push_client: PushClient, cast: Cast) -> None:
    for field in ("customer_id", "timestamp", "event_id"):
        with pytest.raises(UserError) as error:
            services.set_event_id_field(source=push_client.source, actor=cast.actor, event_id_field=field)
        assert error.value.field == "event_id_field"
    data = {"event_id_field": "quantity"}
    answer = signed_in(cast.member).post(f"{push_client.page}event-id-field/", data)
    assert answer.status_code == 422


def test_the_field_is_a_column_of_uploads(push_client: PushClient, cast: Cast) -> None:
    lines = csv("c,m,1,2026-11-20,a", "c,m,1,2026-11-20,b", header=f"{HEADER},messageId")
    with pytest.raises(UserError):
        send(push_client, lines, cast)
    services.set_event_id_field(source=push_client.source, actor=cast.actor, event_id_field="messageId")

    push_client.push(event(customer_id="c", metric="m", timestamp="2026-11-20", messageId="a"))
    push_client.source.refresh_from_db()
    job = run_new_upload(push_client, lines, cast)

    assert (job.accepted, job.duplicates, job.rejected) == (2, 1, 0)
