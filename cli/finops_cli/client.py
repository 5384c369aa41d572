"""HTTP with a credential: JSON in, JSON out, errors as sentences, no redirects."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener
from uuid import uuid4

from finops_cli import VERSION
from finops_cli.credentials import checked_url, value_of
from finops_cli.errors import CommandError

SECONDS = 60
TRIES = 5
MAX_WAIT = 60


class _NoRedirects(HTTPRedirectHandler):
    """A handler that follows no redirect: urllib would send the credential to the redirect's target."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = build_opener(_NoRedirects)


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        """The body with exact numbers. Raises CommandError if it is not JSON."""
        try:
            return json.loads(self.body, parse_float=Decimal)
        except ValueError as error:
            raise CommandError(
                f"The server's answer ({self.status}) is no JSON. Is FINOPS_URL the address of a console?"
            ) from error


class Client:
    """A client that sends one credential. `kind` is one of credentials.KINDS."""

    def __init__(self, kind: str) -> None:
        self.url = checked_url(value_of("url"))
        self._credential = value_of(kind)

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        repeatable: bool = True,
    ) -> Answer:
        """Send a request and return the answer. Retries after 429; after 409 and 503 only if `repeatable`, so that
        sending twice has the effect of once.

        Raises CommandError with the server's message for every status from 300 on, and if the server does not answer.
        """
        sent = {
            "Authorization": f"Bearer {self._credential}",
            "User-Agent": f"finops-cli/{VERSION}",
            "Content-Type": "application/octet-stream",
            **(headers or {}),
        }
        for tries_left in range(TRIES - 1, -1, -1):
            answer = self._once(Request(self.url + path, data=body, headers=sent, method=method))
            if not tries_left or not _may_retry(answer, repeatable):
                break
            time.sleep(_seconds(answer.headers.get("retry-after", "")))
        if answer.status >= 300:
            raise CommandError(_problem(answer))
        return answer

    def _once(self, request: Request) -> Answer:
        try:
            with _opener.open(request, timeout=SECONDS) as response:
                return Answer(response.status, response.read(), _names_lowered(response.headers))
        except HTTPError as error:
            with error:
                return Answer(error.code, error.read(), _names_lowered(error.headers))
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise CommandError(f"{self.url} does not answer: {reason}.") from error

    def call(self, tool: str, arguments: Mapping[str, Any], *, key: str = "") -> Answer:
        """Call a tool; retries count once. With the `key` of an earlier call, returns its answer again. Raises
        CommandError with what to correct."""
        body = json.dumps(arguments, default=str).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid4())}
        return self.send("POST", f"/api/v1/tools/{quote(tool, safe='')}", body, headers)


def _names_lowered(headers: Message) -> dict[str, str]:
    """Return the headers with lower-case names, as HTTP/2 proxies send them."""
    return {name.lower(): value for name, value in headers.items()}


def _may_retry(answer: Answer, repeatable: bool) -> bool:
    """Return whether to retry. 409 with Retry-After: an earlier attempt of the call has not finished."""
    if answer.status == 409:
        return repeatable and "retry-after" in answer.headers
    return answer.status == 429 or (repeatable and answer.status == 503)


def _seconds(text: str) -> float:
    return min(float(text), MAX_WAIT) if text.isdigit() else 1.0


def _problem(answer: Answer) -> str:
    """Return the error message: `detail` of problem details, `message` of the push APIs, or the status."""
    if answer.status in (301, 302, 303, 307, 308):
        return (
            f"The server redirects to {answer.headers.get('location', '?')}. Set FINOPS_URL to that address."
        )
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if isinstance(body, dict):
        error = body.get("error")
        message = body.get("detail") or (error.get("message") if isinstance(error, dict) else "")
        if message:
            return str(message)
    return f"The server answered {answer.status}. Is FINOPS_URL the address of a console?"
