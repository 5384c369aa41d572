"""The OpenAPI document of pushes: valid, and its statuses, headers and shapes are the endpoint's."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from finops.connections.openapi import document
from tests.finops.connections.pushes.push_steps import (
    MAY,
    MONTHS,
    PUSHES,
    CostPushClient,
    csv_rows,
    row,
    run_pushes,
)

pytestmark = pytest.mark.django_db

USUAL = {"Content-Type", "Content-Length", "Cache-Control", "X-Content-Type-Options", "X-Request-Id"}
PATHS: dict[str, Any] = document()["paths"]


def check(method: str, path: str, answer: Any) -> str:
    """The answer is one that the document has: status, headers, shape. Its status."""
    responses = PATHS[path][method.lower()]["responses"]
    assert str(answer.status_code) in responses, (answer.status_code, answer.content)
    response = responses[str(answer.status_code)]
    assert answer.headers.keys() - USUAL <= response["headers"].keys(), answer.status_code
    schema = {**response["content"]["application/json"]["schema"], "components": document()["components"]}
    Draft202012Validator(schema).validate(answer.json())
    return str(answer.status_code)


def test_the_document_is_served_to_everybody_and_valid() -> None:
    answer = Client().get("/api/costs/openapi.json")

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    validate(answer.json())


def test_every_answer_of_the_endpoint_is_documented(
    cost_client: CostPushClient, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    push = cost_client.open()
    statuses = {
        check("PUT", f"{PUSHES}/{{id}}/parts/{{n}}", cost_client.put(push, 1, body, **headers))
        for body, headers in [
            (csv_rows("1"), {}),
            (b"[", {}),
            (b"x", {"content_encoding": "br"}),
            (b"x", {"authorization": "Bearer no"}),
        ]
    }
    assert statuses == {"200", "400", "415", "401"}
    nobody = f"{PUSHES}/{uuid.UUID(int=0)}"
    checks = [
        ("POST", PUSHES, cost_client.send("POST", PUSHES, {"month": MAY})),
        ("POST", f"{PUSHES}/{{id}}/commit", cost_client.commit(push, 2)),
        ("POST", f"{PUSHES}/{{id}}/commit", cost_client.commit(push, 1)),
        ("GET", f"{PUSHES}/{{id}}", cost_client.send("GET", push)),
        ("GET", f"{PUSHES}/{{id}}", cost_client.send("GET", nobody)),
        ("DELETE", f"{PUSHES}/{{id}}", cost_client.send("DELETE", push)),
        ("DELETE", f"{PUSHES}/{{id}}", cost_client.send("DELETE", nobody)),
        ("POST", f"{MONTHS}/{{month}}", cost_client.send("POST", f"{MONTHS}/{MAY}", {"rows": [row()]})),
        ("POST", f"{MONTHS}/{{month}}", cost_client.send("POST", f"{MONTHS}/May", {"rows": []})),
        ("GET", f"{PUSHES}/{{id}}", cost_client.send("POST", push)),
    ]
    run_pushes()
    checks.append(("GET", PUSHES, cost_client.send("GET", PUSHES)))
    settings.COST_PUSH_MAX_PART_BYTES = 10
    checks.append(("POST", f"{MONTHS}/{{month}}", cost_client.send("POST", f"{MONTHS}/{MAY}", csv_rows("1"))))
    for error in (RuntimeError, OperationalError):

        def fail(*_: Any, error: type[Exception] = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr("finops.connections.views.push.newest_pushes", fail)
        checks.append(("GET", PUSHES, cost_client.send("GET", PUSHES)))
    settings.COST_PUSH_RATE_LIMIT_PER_MINUTE = 1
    checks.append(("GET", PUSHES, cost_client.send("GET", PUSHES)))

    responses = [check(*each) for each in checks]
    assert responses == [
        *(
            "201",
            "409",
            "202",
            "200",
            "404",
            "200",
            "404",
            "202",
            "400",
            "405",
            "200",
            "413",
            "500",
            "503",
            "429",
        )
    ]


def test_every_path_of_the_endpoint_is_documented() -> None:
    from finops.connections.api_urls import urlpatterns

    names = {"push_id": "id", "number": "n", "month": "month"}
    paths = {f"/{pattern.pattern}" for pattern in urlpatterns[:-2]}
    for openapi_name, route_name in names.items():
        paths = {path.replace(f"<str:{openapi_name}>", f"{{{route_name}}}") for path in paths}

    assert paths == PATHS.keys()
