"""Requests to the APIs of issue trackers: one attempt within a deadline, a limited response, errors without secrets.

They use finops.lib.outbound, so a URL that people entered is guarded at each request. Nothing is retried here: a task
retries later, as the error says (`retry_after`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from finops.lib import outbound
from finops.lib.errors import INVALID_JSON, UserError
from finops.lib.outbound import DeliveryTimeout, ResponseStream, UrlRefusal
from finops.lib.sentences import truncate

SECONDS: Final = 15.0
"""Time limit of a request, from DNS to its last byte."""
MAX_BYTES: Final = 16 * 1024**2
_MAX_ERROR_BYTES: Final = 16 * 1024
_PART: Final = 64 * 1024
_TRANSIENT: Final = frozenset({408, 425, 429})


class TrackerError(UserError):
    """The tracker did not do what was requested; the text says what to do."""


class TrackerUnavailable(TrackerError):
    """A temporary failure; may succeed later, not before `retry_after` seconds if the vendor gave that."""

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TrackerRefusal(TrackerError):
    """A permanent failure: a person must change the tracker or its configuration. `status` is HTTP's, 0 without a response."""

    def __init__(self, message: str, *, status: int = 0, words: str = "") -> None:
        super().__init__(message)
        self.status, self.words = status, words


@dataclass(frozen=True)
class ApiAnswer:
    """A response. `value` is the JSON of the body, None for one without. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    value: Any


@dataclass(frozen=True, kw_only=True)
class TrackerApi:
    """A vendor's API with one credential. `key_fix` says how to replace a credential that is not accepted."""

    vendor: str
    base_url: str
    key_fix: str
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def get(
        self,
        path: str,
        *,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        accept: Collection[int] = (),
    ) -> ApiAnswer:
        """Send a GET request. `query` is encoded already. Statuses in `accept` are returned like 2xx. Raises
        TrackerUnavailable, TrackerRefusal."""
        return self._send("GET", path, query, None, headers or {}, accept)

    def post(self, path: str, body: Any, *, accept: Collection[int] = ()) -> ApiAnswer:
        """Send a POST request with a JSON body, as `get`."""
        headers = {"Content-Type": "application/json"}
        return self._send("POST", path, "", msgspec.json.encode(body), headers, accept)

    def _send(
        self,
        method: str,
        path: str,
        query: str,
        body: bytes | None,
        headers: Mapping[str, str],
        accept: Collection[int],
    ) -> ApiAnswer:
        all_headers = {"Accept": "application/json", **self.headers, **headers, "Accept-Encoding": "identity"}
        url = self.base_url.rstrip("/") + path
        try:
            with outbound.open_stream(
                method, url, query=query, body=body, headers=all_headers, seconds=SECONDS
            ) as response:
                return self._answer(response, accept)
        except UrlRefusal as error:
            raise TrackerRefusal(error.message) from error
        except DeliveryTimeout as error:
            raise TrackerUnavailable(f"{self.vendor} could not be reached: {error}") from error

    def _answer(self, response: ResponseStream, accept: Collection[int]) -> ApiAnswer:
        if 200 <= response.status < 300 or response.status in accept:
            body = b"".join(self._parts(response, MAX_BYTES))
            return ApiAnswer(response.status, response.headers, self._decode(body, response.status))
        raise self._error_of(response)

    def _parts(self, response: ResponseStream, max_bytes: int) -> Iterator[bytes]:
        total = 0
        while part := response.read(_PART):
            total += len(part)
            if total > max_bytes:
                raise TrackerUnavailable(f"{self.vendor} returned more than {max_bytes:,} bytes.")
            yield part

    def _decode(self, body: bytes, status: int) -> Any:
        """Decode the body. An incomplete body is invalid JSON, and may be complete another time."""
        if not body:
            return None
        try:
            return msgspec.json.decode(body)
        except INVALID_JSON as error:
            if not 200 <= status < 300:
                return None
            raise TrackerUnavailable(f"{self.vendor} returned an incomplete response, or no JSON.") from error

    def _error_of(self, response: ResponseStream) -> TrackerError:
        status, words = response.status, self._words(response)
        wait = outbound.retry_after(response.headers)
        if status in _TRANSIENT or status >= 500:
            reason = (
                "is rate limiting requests" if status == 429 else f"has an internal error (HTTP {status})"
            )
            return TrackerUnavailable(
                f"{self.vendor} {reason}. The next attempt is automatic.", retry_after=wait
            )
        if status == 403 and (wait or response.headers.get("x-ratelimit-remaining") == "0"):
            # GitHub's rate limits; its secondary limit is not always a 429.
            return TrackerUnavailable(
                f"{self.vendor} is rate limiting requests. The next attempt is automatic.",
                retry_after=wait or 60.0,
            )
        if status == 401:
            text = f"{self.vendor} does not accept the credential. It may be mistyped, revoked or expired. {self.key_fix}"
            return TrackerRefusal(text, status=status, words=words)
        if 300 <= status < 400:
            return TrackerRefusal(f"{self.vendor} redirects. Redirects are not followed.", status=status)
        text = f"{self.vendor} rejected the request (HTTP {status})."
        return TrackerRefusal(f"{text} Answer: {words}" if words else text, status=status, words=words)

    def _words(self, response: ResponseStream) -> str:
        try:
            body = b"".join(self._parts(response, _MAX_ERROR_BYTES))
        except (DeliveryTimeout, TrackerUnavailable):
            return ""
        try:
            value = msgspec.json.decode(body)
        except INVALID_JSON:
            return ""
        return self.redact(error_words(value))

    def redact(self, text: str) -> str:
        """Return the text on one line, without secrets, at most 300 characters."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return truncate(" ".join("".join(each if each.isprintable() else " " for each in text).split()), 300)


def error_words(value: Any) -> str:
    """Return the message of an error in the formats of GitHub, Jira and Linear; empty for another."""
    return " ".join(_texts(value)) if isinstance(value, dict) else ""


def _texts(value: Mapping[str, Any]) -> Iterator[str]:
    message, listed, errors = value.get("message"), value.get("errorMessages"), value.get("errors")
    if isinstance(message, str):
        yield message
    if isinstance(listed, list):
        yield from (each for each in listed if isinstance(each, str))
    if isinstance(errors, dict):
        yield from (f"{name}: {text}" for name, text in errors.items() if isinstance(text, str))
    if isinstance(errors, list):
        for each in errors:
            yield from _error_text(each)


def _error_text(error: Any) -> Iterator[str]:
    if isinstance(error, str):
        yield error
    if not isinstance(error, dict):
        return
    extensions = error.get("extensions")
    presentable = extensions.get("userPresentableMessage") if isinstance(extensions, dict) else None
    text = presentable or error.get("message")
    if isinstance(text, str):
        yield text
    elif isinstance(error.get("field"), str):
        yield f"{error['field']}: {error.get('code', 'invalid')}"
