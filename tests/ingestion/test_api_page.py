"""The reference of the push endpoint says what the endpoint does."""

from __future__ import annotations

import json

import pytest

from ingestion import events
from ingestion.openapi import document
from ingestion.reference import reference
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import PATH, event, open_door, reasons
from tests.pages import get_page

PAGE = "/a/acme/connections/usage/api/"


def test_everybody_of_the_account_finds_it_from_the_list_and_from_a_source(cast: Cast) -> None:
    client, door = signed_in(cast.viewer), open_door(cast)

    for page in ("/a/acme/connections/usage/", f"/a/acme/connections/usage/{door.source.pk}/"):
        assert f'href="{PAGE}"' in client.get(page).content.decode()
    assert client.get(PAGE).status_code == 200
    assert signed_in(cast.stranger).get(PAGE).status_code == 404


def test_it_has_every_field_status_header_and_parameter_of_the_document(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)
    post = document()["paths"][PATH]["post"]

    names = [*document()["components"]["schemas"]["UsageEvent"]["properties"], *post["responses"]]
    names += [parameter["name"] for parameter in post["parameters"]]
    names += [name for answer in post["responses"].values() for name in answer["headers"]]
    assert [name for name in names if name not in page] == []
    assert "`" not in page
    assert "at most 1,000" in page


@pytest.mark.parametrize("message", reference().messages, ids=lambda message: message.error)
def test_it_has_every_message_of_the_rules(cast: Cast, message: object) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert getattr(message, "error", "")
    assert getattr(message, "error", "?") in page


def test_no_message_of_the_rules_is_missing() -> None:
    every = {problem(object()) for problem in events._PROBLEMS.values()}
    every |= {events.NOT_AN_OBJECT, events.OUT_OF_RANGE, events.BLANK_UNIT, events.OTHER_CONTENT}
    every |= {events.LONG_DIMENSION_KEY, events.TOO_MANY_KEYS}

    assert every == {message.error for message in reference().messages}


def test_its_example_answer_is_one(cast: Cast) -> None:
    answer = open_door(cast).push(event(), event(quantity="5"), event())

    assert reasons(answer, submitted=3) == {1: "quantity must be a number"}
    shown = '{"accepted": 2, "rejected": 1, "errors": [{"index": 1, "error": "quantity must be a number"}]}'
    assert shown in get_page(signed_in(cast.viewer), PAGE)
    assert answer.json() == json.loads(shown)
