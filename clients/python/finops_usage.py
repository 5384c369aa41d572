# SPDX-License-Identifier: Apache-2.0
"""Push usage events. Copy this file into your backend: standard library only, Python 3.9 or later.

    client = UsageClient("https://console.example", os.environ["USAGE_API_KEY"])
    result = client.push([{"customer_id": "cust-42", "metric": "api_requests", "quantity": 1250,
                           "timestamp": "2026-11-20T12:00:00Z"}])

Events go in batches of 1,000. A batch that failed on the way is sent again with the same Idempotency-Key, so it counts
once. Rejected events raise RejectedEvents after all others are stored.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

MAX_EVENTS = 1_000
MAX_BYTES = 8 * 1024 * 1024  # the server takes 16 MiB

Event = dict[str, Any]


@dataclass(frozen=True)
class RejectedEvent:
    """A rejected event: its index in the pushed events, and the reason."""

    index: int
    error: str
    event: Event


@dataclass
class PushResult:
    """The result of a push. `accepted` includes `duplicates`, events that were stored before."""

    accepted: int = 0
    duplicates: int = 0
    rejected: list[RejectedEvent] = field(default_factory=list)


class RejectedEvents(Exception):
    """Some events are rejected; all others are stored. Correct those in `result.rejected` and push them again."""

    def __init__(self, result: PushResult) -> None:
        first = result.rejected[0]
        super().__init__(
            f"{len(result.rejected)} events rejected, {result.accepted} accepted; event {first.index}: {first.error}"
        )
        self.result = result


class PushFailed(Exception):
    """A batch was refused, or got no answer after all attempts. `result` is that of the earlier batches, `unsent` are
    the events from this batch on; push them with the same `idempotency_key` and they count once."""

    def __init__(self, message: str, status: int | None, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code
        self.result, self.unsent, self.idempotency_key = PushResult(), list[Event](), ""


class UsageClient:
    """A client of the console at `url`, such as https://console.example. `attempts`: maximum number of times a batch
    is sent."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 30,
        attempts: int = 8,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._endpoint = f"{url.rstrip('/')}/api/usage/events"
        self._key, self._timeout, self._attempts, self._sleep = key, timeout, attempts, sleep
        self._opener = urllib.request.build_opener(_NoRedirects)

    def push(
        self, events: Iterable[Event], *, idempotency_key: str = "", raise_rejected: bool = True
    ) -> PushResult:
        """Push any number of events. Raises RejectedEvents, PushFailed, and ValueError for an event that JSON cannot
        express.

        `idempotency_key`: your own key, to push the same events again after a restart and have them count once.
        """
        idempotency_key = idempotency_key or str(uuid.uuid4())
        every, result = list(events), PushResult()
        for start, size, body in _batches(every):
            try:
                # No suffix for the first batch: pushing `unsent` with this key uses the same key again.
                answer, headers = self._send(
                    body, idempotency_key if not start else f"{idempotency_key}-{start}"
                )
            except PushFailed as failure:
                failure.result, failure.unsent = result, every[start:]
                failure.idempotency_key = idempotency_key if not start else f"{idempotency_key}-{start}"
                raise
            result.accepted += answer["accepted"]
            result.duplicates += int(headers.get("Usage-Duplicates") or 0)
            for one in answer["errors"]:
                at = start + one["index"]
                result.rejected.append(RejectedEvent(at, one["error"], every[at]))
            if answer["accepted"] + answer["rejected"] != size:
                raise PushFailed(f"The answer counts other than {size} events: {answer}", 200)
        if result.rejected and raise_rejected:
            raise RejectedEvents(result)
        return result

    def _send(self, body: bytes, idempotency_key: str) -> tuple[Any, Any]:
        failure = PushFailed("Nothing was sent: attempts must be 1 or more.", None)
        for attempt in range(self._attempts):
            try:
                return self._request(body, idempotency_key)
            except urllib.error.HTTPError as error:
                failure, wait = _failure_of(error), _retry_after(error)
                if error.code != 429 and error.code < 500:
                    raise failure from None
            except (OSError, http.client.HTTPException, ValueError) as error:
                # URLError, time-outs and broken connections are OSErrors; a truncated answer is no JSON.
                failure, wait = PushFailed(f"{type(error).__name__}: {error}", None), 0.0
            if attempt + 1 < self._attempts:
                self._sleep(wait + random.uniform(0, min(60.0, 0.5 * 2**attempt)))  # noqa: S311 jitter is no secret
        raise failure

    def _request(self, body: bytes, idempotency_key: str) -> tuple[Any, Any]:
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        }
        request = urllib.request.Request(self._endpoint, body, headers)  # noqa: S310 the address is the caller's own
        with self._opener.open(request, timeout=self._timeout) as answer:
            return json.loads(answer.read()), answer.headers


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A handler that follows no redirect: urllib would use GET, without the events, and send the key to another
    server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _batches(events: list[Event]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the index of the first event, the number of events, and the body of each batch."""
    start, texts, length = 0, list[str](), 0
    for event in events:
        text = _json_of(event)
        if texts and (len(texts) == MAX_EVENTS or length + len(text) > MAX_BYTES):
            yield start, len(texts), _body(texts)
            start, texts, length = start + len(texts), [], 0
        texts.append(text)
        length += len(text)
    if texts:
        yield start, len(texts), _body(texts)


def _body(texts: list[str]) -> bytes:
    return ('{"events":[' + ",".join(texts) + "]}").encode()


def _json_of(event: Event) -> str:
    """Return an event as JSON in ASCII. A Decimal as quantity keeps all its digits."""
    quantity = event.get("quantity")
    if not isinstance(quantity, Decimal):
        return json.dumps(event, allow_nan=False)
    if not quantity.is_finite():
        raise ValueError(f"quantity must be a finite number, not {quantity}")
    rest = json.dumps({name: value for name, value in event.items() if name != "quantity"}, allow_nan=False)
    return f'{rest[:-1]}{", " if len(rest) > 2 else ""}"quantity": {quantity}}}'


def _failure_of(error: urllib.error.HTTPError) -> PushFailed:
    try:
        said = json.loads(error.read())["error"]
        return PushFailed(f"{error.code} {said['code']}: {said['message']}", error.code, said["code"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return PushFailed(f"{error.code} {error.reason}", error.code)


def _retry_after(error: urllib.error.HTTPError) -> float:
    """Return the seconds of Retry-After, five minutes at most."""
    text = error.headers.get("Retry-After") or ""
    return min(300.0, float(text)) if text.isdecimal() else 0.0
