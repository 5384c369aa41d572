"""The OpenAPI document: valid, true, and what schemathesis makes of it gets documented answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from django.db import OperationalError
from django.test import Client, override_settings
from hypothesis import HealthCheck, settings
from openapi_spec_validator import validate
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.services.suspension import suspend_account
from ingestion.openapi import document
from ingestion.views.cloudevents import OPENMETER_PATH
from ingestion.views.cloudevents import PATH as CLOUDEVENTS
from tests.cast import ACTOR, Cast
from tests.ingestion.push_client import PATH, create_push_client, event
from tests.ingestion.test_any_push import INPUTS, SOAK
from tests.servers import LiveServer

OPERATION = document()["paths"][PATH]["post"]


def test_the_document_is_served_to_everybody_and_valid() -> None:
    answer = Client().get("/api/usage/openapi.json")

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    validate(answer.json())


def fail_with(error: type[Exception]) -> Callable[..., None]:
    def fail(**_: Any) -> None:
        raise error

    return fail


def test_every_header_of_an_answer_of_ours_is_documented(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    push_client = create_push_client(cast)
    usual = {"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "X-Request-Id"}
    answers = [
        push_client.push(event(), idempotency_key="k"),
        push_client.push(event(), idempotency_key="k"),
        push_client.push(event(), event(), idempotency_key="k"),
        push_client.send(b"no json"),
        push_client.send(b"", method="GET"),
        push_client.send(b"", content_encoding="br"),
        push_client.push(event(), authorization="Bearer no"),
        push_client.send(b" " * (16 * 2**20 + 1)),
    ]
    with override_settings(USAGE_RATE_LIMIT_PER_MINUTE=1):
        answers.append(push_client.push(event()))
    for error in (RuntimeError, OperationalError):
        monkeypatch.setattr("ingestion.views.push.accept_events", fail_with(error))
        answers.append(push_client.push(event()))
    suspend_account(account=cast.account, actor=ACTOR)
    answers.append(push_client.push(event()))

    for answer in answers:
        documented = OPERATION["responses"][str(answer.status_code)]["headers"]
        assert answer.headers.keys() - usual <= documented.keys(), answer.status_code
    assert {str(answer.status_code) for answer in answers} == OPERATION["responses"].keys()


def test_the_required_fields_and_limits_equal_those_of_the_endpoint(cast: Cast) -> None:
    push_client, schema = create_push_client(cast), document()["components"]["schemas"]["UsageEvent"]
    for name in schema["properties"]:
        assert bool(push_client.error(**{name: ...})) == (name in schema["required"]), name
        if longest := schema["properties"][name].get("maxLength"):
            assert push_client.error(**{name: "x" * longest}) == ""
            assert push_client.error(**{name: "x" * (longest + 1)}) != ""


# Generated requests, over HTTP


SCHEMA = schemathesis.openapi.from_dict(document())
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def key(live_server_process: LiveServer) -> str:
    plaintext: str = live_server_process.run("tests.ingestion.test_push_killed:usage_key", "openapi")
    return plaintext


@pytest.mark.soak
@SCHEMA.include(path=[PATH, CLOUDEVENTS, OPENMETER_PATH]).parametrize()
@settings(
    max_examples=INPUTS // 10,
    deadline=None,
    database=None,
    derandomize=not SOAK,
    suppress_health_check=list(HealthCheck),
)
def test_any_request_by_the_document_gets_a_documented_answer(
    case: schemathesis.Case[Any], live_server_process: LiveServer, key: str
) -> None:
    answer = case.call(base_url=live_server_process.url, headers={"Authorization": f"Bearer {key}"})

    case.validate_response(answer, checks=CHECKS)
    if case.path == PATH and answer.status_code == 200:
        result, submitted = answer.json(), sent_events(case)
        assert result["accepted"] + result["rejected"] == len(submitted)


def sent_events(case: schemathesis.Case[Any]) -> list[Any]:
    body = json.loads(json.dumps(case.body))
    events: list[Any] = body["events"]
    return events
