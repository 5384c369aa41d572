"""Addresses that requests may be sent to: public ones, and those that the operator allows."""

from __future__ import annotations

import ipaddress
from functools import cache

from django.conf import settings

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def is_public(address: str) -> bool:
    """Whether this is a public unicast address; False for a text that is no address.

    Of IPv6 only the range that IANA assigned (2000::/3), without ranges that embed an IPv4 address or are for
    documentation; for an address of NAT64 (64:ff9b::/96) the embedded IPv4 address decides.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed in _NAT64:
        parsed = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed.is_global and not any(parsed in network for network in _NEVER_4)
    return parsed.is_global and parsed in _ALLOCATED_6 and not any(parsed in network for network in _NEVER_6)


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ALLOCATED_6 = ipaddress.IPv6Network("2000::/3")
_NEVER_4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # Azure's platform service, reachable from every Azure machine
    )
)
# 2001::/23 holds Teredo, ORCHID and benchmarks, 2002::/16 is 6to4.
_NEVER_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


def is_allowed(address: str) -> bool:
    """Whether the address is in ALERT_ALLOWED_NETWORKS."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in _networks(tuple(settings.ALERT_ALLOWED_NETWORKS)))


@cache
def _networks(texts: tuple[str, ...]) -> tuple[_Network, ...]:
    return tuple(ipaddress.ip_network(text, strict=False) for text in texts)
