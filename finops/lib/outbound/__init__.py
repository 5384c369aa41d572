"""Requests to addresses that people entered, guarded against SSRF.

https alone; every address that the name has must be public; the connection goes to the address that was checked, so
DNS cannot rebind; no redirect is followed; DNS, connection, request and answer have one deadline together, which drips
cannot stretch; of an answer to `post` the first 4 KiB are read, of one to `open_stream` what its caller bounds. What an operator
allows in ALERT_ALLOWED_NETWORKS may be private, and plain http. The environment's proxies are not used: a proxy would resolve the name again.

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
