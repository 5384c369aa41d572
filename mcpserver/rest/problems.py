"""Errors of the REST API as problem details (RFC 9457): one type for each status, described in the OpenAPI document."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.conf import settings
from django.http import HttpResponse

from mcpserver.http_request import json_response

DOCUMENT: Final = "/api/v1/openapi.json"
CONTENT_TYPE: Final = "application/problem+json"


@dataclasses.dataclass(frozen=True)
class ProblemType:
    """A problem type. `name` is the name of its response in the OpenAPI document."""

    name: str
    title: str
    description: str
    headers: tuple[str, ...] = ()


PROBLEM_TYPES: Final = {
    400: ProblemType("InvalidRequest", "Invalid request", "The body is not a JSON object. Send one."),
    401: ProblemType(
        "InvalidCredential",
        "Credential missing or invalid",
        "The token is missing, unknown, expired or revoked. Create another key.",
        ("WWW-Authenticate",),
    ),
    403: ProblemType(
        "NotAllowed",
        "Not allowed",
        "The credential is read-only, the account is suspended, or the origin is not allowed.",
        ("WWW-Authenticate",),
    ),
    404: ProblemType("NotFound", "Not found", "The tool or path does not exist; the detail has the nearest."),
    405: ProblemType("MethodNotAllowed", "Method not allowed", "Use the method in Allow.", ("Allow",)),
    409: ProblemType(
        "CallUnderWay",
        "Call in progress",
        "The first call with this Idempotency-Key is not finished. Send it again after Retry-After.",
        ("Retry-After",),
    ),
    413: ProblemType("BodyTooLarge", "Body too large", "The body exceeds the limit. Send fewer values."),
    422: ProblemType(
        "InvalidArguments",
        "Invalid arguments",
        "An argument is invalid, or the Idempotency-Key was sent with another call. Correct it as the detail describes.",
    ),
    429: ProblemType(
        "TooManyRequests", "Too many requests", "Wait for Retry-After, then send it again.", ("Retry-After",)
    ),
    500: ProblemType(
        "ServerError", "Server error", "Retry once. An operator finds the incident number in the log."
    ),
    503: ProblemType(
        "Unavailable",
        "Unavailable",
        "The server is busy or its database is down. Send it again after Retry-After.",
        ("Retry-After",),
    ),
}


def type_uri(status: int) -> str:
    """Return the URI of a problem type's description in the OpenAPI document."""
    return f"{settings.PUBLIC_URL}{DOCUMENT}#/components/responses/{PROBLEM_TYPES[status].name}"


def problem_response(
    status: HTTPStatus,
    detail: str,
    headers: dict[str, str] | None = None,
    *,
    field: str = "",
    incident: str = "",
) -> HttpResponse:
    """Return a problem. `field`: the invalid argument; `incident`: the number of a server error in the log. Empty
    members are omitted."""
    body: dict[str, Any] = {
        "type": type_uri(status),
        "title": PROBLEM_TYPES[status].title,
        "status": int(status),
        "detail": detail,
    }
    body |= {name: value for name, value in {"field": field, "incident": incident}.items() if value}
    return json_response(status, msgspec.json.encode(body), headers, content_type=CONTENT_TYPE)
