"""Requests to addresses that people entered, guarded against SSRF.

Only https; every address of the name must be public; the connection goes to the address that was checked, which prevents
DNS rebinding; no redirect is followed; DNS, connection, request and response share one deadline, which a slow response
cannot extend; the first 4 KiB of a response to `post` are read, and as much of one to `open_stream` as its caller allows.
Networks in ALERT_ALLOWED_NETWORKS may be private, and plain http. The environment's proxies are not used: a proxy would
resolve the name again.

An error's text names the host and never the rest of the URL, which holds secrets.
"""

from finops.lib.outbound.addresses import is_public
from finops.lib.outbound.client import Response, ResponseStream, check_url, open_stream, post
from finops.lib.outbound.endpoints import DeliveryTimeout, Resolver, UrlRefusal, use_resolver
from finops.lib.outbound.times import clock_skew, retry_after

__all__ = [
    "DeliveryTimeout",
    "Resolver",
    "Response",
    "ResponseStream",
    "UrlRefusal",
    "check_url",
    "clock_skew",
    "is_public",
    "open_stream",
    "post",
    "retry_after",
    "use_resolver",
]
