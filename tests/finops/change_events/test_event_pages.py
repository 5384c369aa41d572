"""Connections → Event sources, the key of one, the list of change events, and the API reference."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from django.test import Client
from openapi_spec_validator import validate

from finops.change_events.models import EventKey, EventSource
from finops.change_events.openapi import document
from finops.change_events.snippets import event_snippets
from tests.cast import Cast, signed_in
from tests.finops.change_events.event_client import EventClient, event, reasons, stored_events
from tests.pages import csv_rows, get_page, text_of

LIST = "/a/acme/connections/events/"
EVENTS = "/a/acme/events/"
API = f"{LIST}api/"
KEY = re.compile(r"fevt_[0-9A-Za-z]{48}")


def shown_key(answer: Any) -> str:
    keys = set(KEY.findall(answer.content.decode()))
    assert len(keys) == 1
    return str(keys.pop())


def make(client: Client, name: str = "GitHub Actions") -> str:
    answer = client.post(f"{LIST}new/", {"name": name})
    assert answer.status_code == 302
    return str(answer.headers["Location"])


def test_empty_pages_say_what_to_do_next(cast: Cast) -> None:
    for path in (LIST, EVENTS):
        member, viewer = (get_page(signed_in(user), path) for user in (cast.member, cast.viewer))

        assert "New event source" in member
        assert "New event source" not in viewer
        assert "Ask a member, admin or owner to create" in viewer


def test_a_member_creates_a_source_and_its_key_pushes(cast: Cast) -> None:
    client = signed_in(cast.member)
    page = make(client)

    answer = client.post(f"{page}key/generate/")

    event_client = EventClient(EventSource.objects.unscoped().get(), shown_key(answer))
    assert "no-store" in answer.headers["Cache-Control"]
    assert reasons(event_client.push(event()), submitted=1) == {}
    after = get_page(client, page)
    assert "checkout v142" in after
    assert "fevt_" in after
    assert not KEY.search(client.get(page).content.decode())
    assert "already" in text_of(client.post(f"{page}key/generate/", follow=True))


def test_a_regenerated_key_replaces_the_old_one_once(cast: Cast, event_client: EventClient) -> None:
    client = signed_in(cast.member)
    old = EventKey.objects.unscoped().get()

    new = shown_key(client.post(f"{event_client.page}key/regenerate/", {"replaces": old.pk}))
    again = client.post(f"{event_client.page}key/regenerate/", {"replaces": old.pk}, follow=True)

    assert "already replaced" in text_of(again)
    assert event_client.push(event()).status_code == 401
    assert EventClient(event_client.source, new).push(event()).status_code == 200
    client.post(f"{event_client.page}key/revoke/")
    assert EventClient(event_client.source, new).push(event()).status_code == 401
    assert "No key" in get_page(client, LIST)


def test_names_are_unique_and_a_source_is_renamed_and_deleted(cast: Cast, event_client: EventClient) -> None:
    client = signed_in(cast.member)
    event_client.push(event())

    duplicate = client.post(f"{LIST}new/", {"name": "pipeline"})
    assert "An event source with this name already exists." in text_of(duplicate, status=422)
    client.post(f"{event_client.page}rename/", {"name": "Deploys"})
    assert "Deploys" in get_page(client, LIST)
    deleted = client.post(f"{event_client.page}delete/", follow=True)

    assert "Source Deploys deleted with its key and events." in text_of(deleted)
    assert stored_events() == []


def test_the_list_filters_searches_and_exports(cast: Cast, event_client: EventClient) -> None:
    event_client.push(
        event(title="checkout v1", scope={"service": "Amazon EC2"}, url="https://ci.example/1"),
        event(kind="incident", title="cache storm", actor="pager", occurred_at="2026-11-21T00:00:00Z"),
    )
    client = signed_in(cast.viewer)

    page = get_page(client, EVENTS)
    assert page.index("cache storm") < page.index("checkout v1")
    assert "service: Amazon EC2" in page
    assert "checkout" not in get_page(client, EVENTS, kind="incident")
    assert "cache storm" not in get_page(client, EVENTS, q="ec2 checkout")
    assert "No events match" in get_page(client, EVENTS, source="note")
    assert "No events match" in get_page(client, EVENTS, source="9" * 30)
    rows = csv_rows(
        client.get(EVENTS, {"format": "csv", "source": str(event_client.source.pk), "sort": "occurred_at"})
    )
    assert [row["Event"] for row in rows] == ["checkout v1", "cache storm"]
    assert rows[0]["Link"] == "https://ci.example/1"


def test_the_reference_lists_fields_and_messages(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), API)

    for text in (
        "occurred_at",
        "scope must have up to 20 dimensions",
        "Events-Duplicates",
        "429",
        "GitLab CI",
    ):
        assert text in page


def test_the_document_is_served_to_everybody_and_valid() -> None:
    answer = Client().get("/api/events/openapi.json")

    assert answer.status_code == 200
    assert answer.json() == document()
    validate(answer.json())


def test_the_curl_snippet_works_as_it_stands(event_client: EventClient) -> None:
    curl = event_snippets("http://127.0.0.1:8000/api/events", event_client.key)[0]
    words = shlex.split(curl.text.replace("\\\n", " "))

    assert words[1].endswith("/api/events")
    answer = event_client.send(words[words.index("-d") + 1], authorization=words[3].partition(": ")[2])

    assert reasons(answer, submitted=1) == {}


@pytest.mark.parametrize("snippet", event_snippets("https://console.example/api/events", "fevt_x"), ids=str)
def test_every_snippet_names_the_address(snippet: Any) -> None:
    assert "https://console.example/api/events" in snippet.text
