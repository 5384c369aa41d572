"""A caller of the REST API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.test import Client

TOOLS = "/api/v1/tools"


class RestClient:
    def __init__(self, key: str | None) -> None:
        self.key = key

    def http(
        self,
        path: str,
        body: bytes = b"",
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        own_headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        send: Any = Client().generic  # its stub says a class of its own
        response: HttpResponse = send(
            method, path, body, content_type="application/json", headers={**own_headers, **(headers or {})}
        )
        return response

    def call(self, tool: str, /, arguments: Mapping[str, Any] | None = None) -> HttpResponse:
        return self.http(f"{TOOLS}/{tool}", json.dumps(arguments or {}).encode())

    def ask(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """A tool's answer."""
        response = self.call(tool, arguments)
        assert response.status_code == 200, response.content
        assert response["Content-Type"] == "application/json"
        answer: dict[str, Any] = json.loads(response.content)
        return answer

    def problem(self, tool: str, /, *, status: int = 422, **arguments: Any) -> dict[str, Any]:
        """The problem of a call that was refused."""
        return problem_of(self.call(tool, arguments), status)


def problem_of(response: Any, status: int) -> dict[str, Any]:
    """The problem details of a response with this status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = json.loads(response.content)
    assert problem["status"] == status
    assert problem["type"].startswith("http://127.0.0.1:8000/api/v1/openapi.json#/components/responses/")
    return problem
