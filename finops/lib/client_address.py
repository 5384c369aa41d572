"""The address of a request's client: the one place that decides it, for every limit and log.

Without a proxy it is the peer of the connection. Behind proxies (BEHIND_TLS_PROXY) each proxy appends the address of its
peer to X-Forwarded-For, so with PROXY_COUNT proxies the outermost one wrote the entry at that position from the end; the
client itself wrote the entries before it (RFC 7239, section 8.1).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from django.conf import settings

UNKNOWN = "unknown"


def client_address(meta: Mapping[str, Any]) -> str:
    """Return an IPv4 or IPv6 address in its usual form; `unknown` where there is none. `meta` is a request's META."""
    return _address(_text(meta)) or _address(str(meta.get("REMOTE_ADDR", ""))) or UNKNOWN


def client_network(meta: Mapping[str, Any]) -> str:
    """Return an IPv4 address or an IPv6 /64, which is one household or machine: the unit that rate limits count by."""
    return network_of(client_address(meta))


def network_of(address: str) -> str:
    """Return the same unit for an address from `client_address`."""
    return str(ipaddress.ip_network(f"{address}/64", strict=False)) if ":" in address else address


def _text(meta: Mapping[str, Any]) -> str:
    peer = str(meta.get("REMOTE_ADDR", ""))
    if not settings.PROXY_COUNT:
        return peer
    entries = str(meta.get("HTTP_X_FORWARDED_FOR", "")).split(",")
    return entries[-settings.PROXY_COUNT] if len(entries) >= settings.PROXY_COUNT else peer


def _address(text: str) -> str:
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    # The form of an IPv4 peer at a dual-stack socket.
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
