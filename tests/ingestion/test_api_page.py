"""The reference of the push endpoint says what the endpoint does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ingestion import events
from ingestion.openapi import document
from ingestion.reference import reference
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PATH, create_push_client, event, reasons
from tests.pages import get_page

ROOT = Path(__file__).parents[2]
PAGE = "/a/acme/connections/usage/api/"


def test_everybody_of_the_account_finds_it_from_the_list_and_from_a_source(cast: Cast) -> None:
    client, push_client = signed_in(cast.viewer), create_push_client(cast)

    for page in ("/a/acme/connections/usage/", f"/a/acme/connections/usage/{push_client.source.pk}/"):
        assert f'href="{PAGE}"' in client.get(page).content.decode()
    assert client.get(PAGE).status_code == 200
    assert signed_in(cast.stranger).get(PAGE).status_code == 404


def test_the_page_has_every_field_status_header_and_parameter_of_the_document(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)
    post = document()["paths"][PATH]["post"]

    names = [*document()["components"]["schemas"]["UsageEvent"]["properties"], *post["responses"]]
    names += [parameter["name"] for parameter in post["parameters"]]
    names += [name for answer in post["responses"].values() for name in answer["headers"]]
    assert [name for name in names if name not in page] == []
    # Backticks are Markdown of the document, but JavaScript in the clients.
    before, _, after = page.partition("Save as finops_usage.py")
    assert "`" not in before + after.partition("Other formats")[2]
    assert "at most 1,000" in page


def test_the_page_has_the_clients_to_copy_and_the_paths_of_other_formats(cast: Cast) -> None:
    push_client, client = create_push_client(cast), signed_in(cast.member)
    page = get_page(client, PAGE)

    for name in ("python/finops_usage.py", "node/finops-usage.mjs"):
        lines = [line.strip() for line in (ROOT / "clients" / name).read_text().splitlines() if line.strip()]
        assert [line for line in lines if " ".join(line.split()) not in " ".join(page.split())] == []
    for path in ("/api/usage/cloudevents", "/api/usage/openmeter", "/api/usage/otlp/v1/metrics"):
        assert f"http://127.0.0.1:8000{path}" in page
    key_page = client.post(f"{push_client.page}key/regenerate/", {"replaces": ""}).content.decode()
    for text in (client.get(push_client.page).content.decode(), key_page):
        assert f'href="{PAGE}#clients"' in text


@pytest.mark.parametrize("message", reference().messages, ids=lambda message: message.error)
def test_the_page_has_every_message_of_the_rules(cast: Cast, message: object) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert getattr(message, "error", "")
    assert getattr(message, "error", "?") in page


def test_no_message_of_the_rules_is_missing() -> None:
    every = {problem(object()) for problem in events._PROBLEMS.values()}
    every |= {events.NOT_AN_OBJECT, events.OUT_OF_RANGE, events.BLANK_UNIT, events.OTHER_CONTENT}
    every |= {events.LONG_DIMENSION_KEY, events.TOO_MANY_KEYS}

    assert every == {message.error for message in reference().messages}


def test_the_example_answer_is_valid(cast: Cast) -> None:
    answer = create_push_client(cast).push(event(), event(quantity="5"), event())

    assert reasons(answer, submitted=3) == {1: "quantity must be a number"}
    shown = '{"accepted": 2, "rejected": 1, "errors": [{"index": 1, "error": "quantity must be a number"}]}'
    assert shown in get_page(signed_in(cast.viewer), PAGE)
    assert answer.json() == json.loads(shown)
