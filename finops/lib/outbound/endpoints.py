"""URLs that people entered: parsed, resolved once, and checked."""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import SplitResult, urlsplit

from finops.lib.errors import UserError
from finops.lib.outbound.addresses import is_allowed, is_public

MAX_URL: Final = 2_000

Resolver = Callable[[str, int], list[str]]
"""A function that returns the addresses of a host name. Raises OSError when it has none."""


class UrlRefusal(UserError):
    """A URL to which requests are not sent."""


TimeoutReason = Literal["timeout", "tls_error", "connection_refused"]


class DeliveryTimeout(Exception):
    """No response in time; the text says why, and may be shown. A retry may succeed."""

    def __init__(self, text: str, *, reason: TimeoutReason = "connection_refused") -> None:
        super().__init__(text)
        self.reason: TimeoutReason = reason


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A checked URL. `addresses` are all addresses of its name, each of them permitted."""

    parts: SplitResult
    host: str
    port: int
    addresses: list[str]

    @property
    def path(self) -> str:
        query = f"?{self.parts.query}" if self.parts.query else ""
        return (self.parts.path or "/") + query


@contextmanager
def use_resolver(resolver: Resolver) -> Iterator[None]:
    """Resolve names inside the block with this function instead of the system's resolver: for tests, and for an operator's
    own DNS. Its addresses are checked like any others. For this thread or task only."""
    token = _resolver.set(resolver)
    try:
        yield
    finally:
        _resolver.reset(token)


def resolve_endpoint(url: str, field: str, deadline: float) -> Endpoint:
    """Check the URL and return it with its current addresses. Raises UrlRefusal and DeliveryTimeout. `deadline` is a time
    of time.monotonic."""
    parts, host, port = _parse_url(url, field)
    addresses = _resolve_addresses(host, port, deadline)
    if all(is_allowed(each) for each in addresses):
        return Endpoint(parts, host, port, addresses)
    if not all(is_allowed(each) or is_public(each) for each in addresses):
        raise UrlRefusal(
            f"{field}: {host} is in a private or reserved network. Enter a public address.",
            field=field,
        )
    if parts.scheme != "https":
        raise UrlRefusal(f"{field}: it must begin with https://.", field=field)
    return Endpoint(parts, host, port, addresses)


def _parse_url(url: str, field: str) -> tuple[SplitResult, str, int]:
    if len(url) > MAX_URL or not _PLAIN.fullmatch(url):
        raise UrlRefusal(
            f"{field}: enter a full https:// URL of at most {MAX_URL:,} ASCII characters. Use the "
            "xn-- form for other hosts.",
            field=field,
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UrlRefusal(f"{field}: its host or port is malformed.", field=field) from error
    if "@" in parts.netloc or "#" in url:
        raise UrlRefusal(f"{field}: it must have no user name, password or #fragment.", field=field)
    if not _is_host(host):
        raise UrlRefusal(f"{field}: its host must be a name such as hooks.example.com.", field=field)
    port = (443 if parts.scheme == "https" else 80) if port is None else port
    if port not in (80, 443) and port < 1024:
        raise UrlRefusal(f"{field}: port {port} is not allowed.", field=field)
    return parts, host, port


_PLAIN = re.compile(r"https?://[!-\[\]-~]+", re.IGNORECASE)
# A name whose last label is a number is an address in another spelling: 127.1, 2130706433, 0x7f.0.0.1.
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _is_host(host: str) -> bool:
    return _literal(host) is not None or (len(host) <= 253 and bool(_NAME.fullmatch(host)))


def _literal(host: str) -> str | None:
    """Return the host as an address if it is one, in canonical form: Python accepts no octal, hexadecimal or short forms."""
    try:
        return None if "%" in host else str(ipaddress.ip_address(host))
    except ValueError:
        return None


def _system_resolver(host: str, port: int) -> list[str]:
    records = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(each[4][0]) for each in records))


_resolver: ContextVar[Resolver] = ContextVar("outbound_resolver", default=_system_resolver)
# Running look-ups, including abandoned ones, which end with the system's own timeout.
_LOOKUP_SLOTS = threading.BoundedSemaphore(20)


def _resolve_addresses(host: str, port: int, deadline: float) -> list[str]:
    """Resolve in a thread of its own, which is abandoned at the deadline: a look-up that hangs cannot be ended."""
    literal = _literal(host)
    if literal is not None:
        return [literal]
    if not _LOOKUP_SLOTS.acquire(blocking=False):
        raise DeliveryTimeout("Too many DNS lookups. Try again.")
    future: Future[list[str]] = Future()
    threading.Thread(
        target=_resolve_in_thread, args=(_resolver.get(), host, port, future), daemon=True
    ).start()
    try:
        addresses = future.result(timeout=max(0.0, deadline - time.monotonic()))
    except TimeoutError as error:
        raise DeliveryTimeout(f"DNS lookup of {host} timed out.") from error
    except (OSError, UnicodeError) as error:
        raise DeliveryTimeout(f"No DNS address for {host}.") from error
    if not addresses:
        raise DeliveryTimeout(f"No DNS address for {host}.")
    return addresses


def _resolve_in_thread(resolver: Resolver, host: str, port: int, future: Future[list[str]]) -> None:
    try:
        future.set_result(resolver(host, port))
    except Exception as error:  # noqa: BLE001 it is raised in the thread that asked
        future.set_exception(error.with_traceback(None))
    finally:
        _LOOKUP_SLOTS.release()
