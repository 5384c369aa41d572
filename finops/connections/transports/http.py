"""APIs of vendors: pages of JSON and files of CSV, bounded, retried, and with errors that say what to do, without secrets.

Requests use `finops.lib.outbound`: the checked address is the one connected to, no redirect is followed, and a page has one
deadline from DNS to its last byte. A vendor's base URL is a constant of its connector; the setting CONNECTOR_BASE_URLS overrides it
by the connector's name, for a proxy or a test.

Retried are incomplete responses, invalid JSON, 408, 429 and 5xx: at most MAX_ATTEMPTS times in a fetch, LISTING_ATTEMPTS in a listing,
and never while a person waits. The delay is Retry-After (seconds or a date), else 1, 2, 4 … seconds with jitter; a longer one than
MAX_WAIT is left to the schedule of the sync, by `SourceError.retry_after`.
"""

from __future__ import annotations

import random
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Self, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from django.conf import settings

from finops.connections.connector import AccessError, Fetch, SourceError, SourceUnavailable
from finops.connections.transports.tokens import RenewableToken
from finops.lib import outbound, time_limit
from finops.lib.errors import INVALID_JSON
from finops.lib.outbound import DeliveryTimeout, ResponseStream
from finops.lib.sentences import truncate

MAX_PAGE_BYTES: Final = 32 * 1024**2
MAX_FILE_BYTES: Final = 4 * 1024**3
"""Maximum bytes of a page and of a file, after decompression."""
MAX_PAGES: Final = 10_000
MAX_ATTEMPTS: Final = 6
LISTING_ATTEMPTS: Final = 3
"""Attempts of a request in a fetch, and in a listing, which the next sync repeats."""
MAX_WAIT: Final = 120.0
"""Maximum seconds between two attempts."""
PAGE_SECONDS: Final = 60.0
CHECK_SECONDS: Final = 15.0
"""Time limit in seconds of a page while a person waits."""
FILE_SECONDS: Final = 1_800.0
MAX_SKEW: Final = 300.0
"""Seconds of clock difference from which an error mentions it; the tolerance of vendors for a signature or a token."""

_PART: Final = 256 * 1024
_MAX_ERROR_BYTES: Final = 16 * 1024
_TRANSIENT: Final = frozenset({408, 425, 429})

T = TypeVar("T")
Params = Sequence[tuple[str, str | int]]
Progress = Callable[[int], None]

sleep = time.sleep
"""Replaced in tests."""


class RequestRefusal(SourceError):
    """The vendor rejected the request with a status 4xx that is not about the credential. `status` is HTTP's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class PermissionRefusal(AccessError):
    """403: the credential is valid and lacks a permission."""


class CredentialRefusal(AccessError):
    """401: the credential is not accepted."""


def no_progress(_bytes: int) -> None:
    """Progress callback of a listing, which shows no progress. Raises TimeLimitError once it exceeds its time limit."""
    time_limit.check()


@dataclass(frozen=True, kw_only=True)
class HttpApi:
    """The API of one vendor with one credential. `vendor` is its name in sentences. `key_fix` describes how to replace a
    rejected credential, `scope_fix` which permission to grant; both are whole sentences. `secrets` are removed from every
    text of the vendor. A `token` that expires during a fetch is renewed."""

    connector: str
    vendor: str
    base_url: str
    key_fix: str
    scope_fix: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: RenewableToken | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    progress: Progress = field(default=no_progress, repr=False)
    attempts: int = LISTING_ATTEMPTS
    page_seconds: float = PAGE_SECONDS

    def for_fetch(self, fetch: Fetch) -> Self:
        """The API with the retries and time limits of a fetch."""
        return replace(self, progress=fetch.progress, attempts=MAX_ATTEMPTS)

    def for_check(self) -> Self:
        """The API with a single attempt, for a person who waits."""
        return replace(self, attempts=1, page_seconds=CHECK_SECONDS)

    def get(self, path: str, params: Params, type_: type[T]) -> T:
        """Return a page. Raises SourceError if it does not match the type, AccessError, RequestRefusal, SourceUnavailable."""
        return self._decode(self._attempt("GET", self._url(path), urlencode(params)), type_)

    def post(self, path: str, body: bytes, content_type: str, type_: type[T]) -> T:
        """Return the response to a POST. It is retried like a GET, so only for requests that may arrive twice."""
        content = self._attempt("POST", self._url(path), "", body, {"Content-Type": content_type})
        return self._decode(content, type_)

    def content(
        self,
        path: str,
        params: Params = (),
        headers: Mapping[str, str] | None = None,
        limit: int = MAX_PAGE_BYTES,
    ) -> bytes:
        """Return a body of any format, as received. Raises the errors of `get`, SourceError above the limit of bytes."""
        request_headers = {**self.headers, **(headers or {})}

        def receive(response: ResponseStream) -> bytes:
            body = bytearray()
            while part := response.read(_PART):
                body += part
                if len(body) > limit:
                    raise SourceError(f"{self.vendor} answered with more than the {limit:,} bytes requested.")
            return bytes(body)

        query, url = urlencode(params, quote_via=quote), self._url(path)

        def request() -> bytes:
            return self._request(
                "GET", url, query, None, self._with_token_header(request_headers), PAGE_SECONDS, receive
            )

        return self._retry(request)

    def download(self, target: Path, *, path: str = "", url: str = "", accept: str = "*/*") -> int:
        """Download a file at the API's `path`, or at a vendor's URL, which gets no credential of ours and passes the
        address guard. Returns its bytes. Each attempt replaces the target. Raises the errors of `get`."""
        address, _mark, query = (url or self._url(path)).partition("?")
        headers = {"Accept": accept} if url else {**self.headers, "Accept": accept}
        with_header = (lambda headers: headers) if url else self._with_token_header

        def receive(response: ResponseStream) -> int:
            with target.open("wb") as file:
                return sum(file.write(part) for part in self._parts(response, MAX_FILE_BYTES))

        return self._retry(
            lambda: self._request("GET", address, query, None, with_header(headers), FILE_SECONDS, receive)
        )

    def send(
        self,
        method: str,
        path: str,
        params: Params = (),
        headers: Mapping[str, str] | None = None,
        file: Path | None = None,
    ) -> None:
        """Send a file in chunks; the response is its status. Retried like a GET, so only for requests that may arrive
        twice. Raises as `get`."""
        size = file.stat().st_size if file else 0
        request_headers = {**self.headers, **(headers or {}), "Content-Length": str(size)}
        query = urlencode(params, quote_via=quote)

        def request() -> None:
            with file.open("rb") if file else nullcontext() as body:
                signed_headers = self._with_token_header(request_headers)
                self._request(
                    method, self._url(path), query, body, signed_headers, FILE_SECONDS, lambda _response: None
                )

        self._retry(request)

    def pages(self, page_of: Callable[[str], T], token_of: Callable[[T], str]) -> Iterator[T]:
        """Yield each page of a list, by the token of the previous page ("" for the first). `token_of` returns the next, "" on the
        last page. Raises SourceError for a repeated token, which would never end, and beyond MAX_PAGES."""
        token, tokens = "", {""}
        for _number in range(MAX_PAGES):
            page = page_of(token)
            yield page
            token = token_of(page)
            if not token:
                return
            if token in tokens:
                raise SourceError(f"{self.vendor} returned the same page twice. Sync again.")
            tokens.add(token)
        raise SourceError(f"{self.vendor} returned more than {MAX_PAGES:,} pages for one month.")

    def _url(self, path: str) -> str:
        base = settings.CONNECTOR_BASE_URLS.get(self.connector) or self.base_url
        return base.rstrip("/") + path

    def _attempt(
        self,
        method: str,
        url: str,
        query: str,
        body: bytes | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> bytes:
        headers = {"Accept": "application/json", **self.headers, **(extra or {})}

        def receive(response: ResponseStream) -> bytes:
            content = b"".join(self._parts(response, MAX_PAGE_BYTES))
            try:
                msgspec.json.decode(content, type=msgspec.Raw)
            except INVALID_JSON as error:
                raise DeliveryTimeout("an incomplete response") from error
            return content

        def request() -> bytes:
            all_headers = self._with_token_header(headers)
            return self._request(method, url, query, body, all_headers, self.page_seconds, receive)

        return self._retry(request)

    def _request(
        self,
        method: str,
        url: str,
        query: str,
        body: bytes | BinaryIO | None,
        headers: Mapping[str, str],
        seconds: float,
        receive: Callable[[ResponseStream], T],
    ) -> T:
        limits = {"seconds": time_limit.timeout(seconds)}
        headers = {**headers, "Accept-Encoding": "gzip"}
        with outbound.open_stream(method, url, query=query, body=body, headers=headers, **limits) as response:
            if 200 <= response.status < 300:
                return receive(response)
            raise self._error_of(response)

    def _with_token_header(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return {**headers, "Authorization": self.token.header} if self.token else headers

    def _with_token(self, request: Callable[[], T]) -> T:
        """Run the request again with a new token if the current one has expired."""
        try:
            answer = request()
        except CredentialRefusal:
            if self.token is None or not self.token.renew():
                raise
            answer = request()
        if self.token is not None:
            self.token.accept()
        return answer

    def _retry(self, request: Callable[[], T]) -> T:
        for attempt in range(1, self.attempts + 1):
            try:
                return self._with_token(request)
            except DeliveryTimeout as error:
                time_limit.check()
                text = f"{self.vendor} could not be read: {_end(str(error))} The next sync tries again."
                failure = SourceUnavailable(text)
                failure.__cause__ = error
            except SourceUnavailable as error:
                failure = error
            seconds = failure.retry_after or 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # noqa: S311 no secret
            if attempt == self.attempts or seconds > MAX_WAIT:
                raise failure
            self.wait(seconds + random.uniform(0, 0.1) * seconds if failure.retry_after else seconds)  # noqa: S311
        raise AssertionError("unreachable")

    def wait(self, seconds: float) -> None:
        """Wait, and check every second whether the sync may continue."""
        while seconds > 0:
            self.progress(0)
            sleep(min(1.0, seconds))
            seconds -= 1.0

    def _parts(self, response: ResponseStream, max_bytes: int) -> Iterator[bytes]:
        """Yield the decompressed body, up to the limit."""
        total = 0
        for part in _decompress(response, self._raw_parts(response)):
            total += len(part)
            if total > max_bytes:
                size = f"{max_bytes // 1024**2:,} MB"
                raise SourceError(f"{self.vendor} answered with more than {size} at once, the limit.")
            yield part

    def _raw_parts(self, response: ResponseStream) -> Iterator[bytes]:
        while part := response.read(_PART):
            self.progress(len(part))
            yield part

    def _decode(self, content: bytes, type_: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=type_)
        except INVALID_JSON as error:
            reason = truncate(str(error), 200)
            text = f"{self.vendor} returned an unexpected format: {reason}. This console may need an update."
            raise SourceError(text) from error

    def _error_of(self, response: ResponseStream) -> SourceError:
        status, (reason, words) = response.status, self._words(response)
        if refusal := self._refusal(reason, words):
            return refusal
        if status in _TRANSIENT or status >= 500:
            busy = "is rate limiting requests" if status == 429 else f"has an internal error (HTTP {status})"
            failure = SourceUnavailable(f"{self.vendor} {busy}. The next sync tries again.")
            failure.retry_after = outbound.retry_after(response.headers) or None
            return failure
        skew = self._skew(response)
        if status == 401:
            state = (
                "has expired"
                if "expire" in words.casefold()
                else "is not accepted: it may be mistyped, revoked or expired"
            )
            return CredentialRefusal(f"The credential {state}. {self.key_fix}{skew}")
        if status == 403:
            return PermissionRefusal(
                f"The credential lacks a permission. {self.scope_fix}{_vendor_quote(self.vendor, words)}{skew}"
            )
        if 300 <= status < 400:
            return RequestRefusal(f"{self.vendor} redirects. Redirects are not followed.", status)
        return RequestRefusal(
            f"{self.vendor} rejected the request (HTTP {status}).{_vendor_quote(self.vendor, words)}{skew}",
            status,
        )

    def _refusal(self, reason: str, words: str) -> SourceError | None:
        """Return the error for a reason in Google's format, for vendors whose reasons are more specific than the HTTP status."""
        return None

    def _skew(self, response: ResponseStream) -> str:
        seconds = outbound.clock_skew(response.headers)
        if abs(seconds) <= MAX_SKEW:
            return ""
        minutes, side = f"{abs(seconds) / 60:,.0f}", "ahead of" if seconds > 0 else "behind"
        return f" This server's clock is {minutes} minutes {side} {self.vendor}'s: set it right."

    def _words(self, response: ResponseStream) -> tuple[str, str]:
        """Return the reason of an error and the vendor's message, on one line, without our secrets; empty if the body
        cannot be read."""
        content = b""
        try:
            for part in self._parts(response, _MAX_ERROR_BYTES):
                content += part
        except (DeliveryTimeout, SourceError):
            return "", ""
        reason, text = _message(content)
        for secret in self.secrets:
            text = text.replace(secret, "…")
        printable = "".join(char if char.isprintable() else " " for char in text)
        return reason, truncate(" ".join(printable.split()), 300)


def path_part(value: str) -> str:
    """Return one quoted part of a path, which cannot change the path."""
    return quote(value, safe="")


def _decompress(response: ResponseStream, parts: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress in chunks of bounded size, whatever the ratio. Raises DeliveryTimeout for invalid or truncated gzip."""
    if response.headers.get("content-encoding", "").strip().casefold() not in ("gzip", "x-gzip"):
        yield from parts
        return
    inflater = zlib.decompressobj(wbits=31)
    try:
        for part in parts:
            data = part
            while data:
                yield inflater.decompress(data, _PART)
                data = inflater.unconsumed_tail
    except zlib.error as error:
        raise DeliveryTimeout(f"{response.host} sent a body that cannot be decompressed.") from error
    if not inflater.eof:
        raise DeliveryTimeout(f"{response.host} closed the connection.")


def _message(content: bytes) -> tuple[str, str]:
    """Return the reason (Google's {"error": {"errors": [{"reason"}]}}), and the message in any of the vendors'
    formats: {"error": {"message"}}, {"error_description"}, {"detail"}, {"message"}."""
    try:
        value: Any = msgspec.json.decode(content)
    except INVALID_JSON:
        value = None
    if not isinstance(value, dict):
        return "", ""
    error = value.get("error")
    candidates = [
        error.get("message") if isinstance(error, dict) else None,
        value.get("error_description"),
        value.get("detail"),
        value.get("message"),
        error,
    ]
    words = next((each for each in candidates if isinstance(each, str) and each), "")
    return _reason(error), words


def _reason(error: Any) -> str:
    match error:
        case {"errors": [{"reason": str(reason)}, *_]}:
            return reason
    return ""


def _vendor_quote(vendor: str, words: str) -> str:
    return f" {vendor}: {_end(words)}" if words else ""


def _end(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
