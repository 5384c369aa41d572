"""Requests to addresses that people entered, guarded against SSRF.

https alone; every address that the name has must be public; the connection goes to the address that was checked, so
DNS cannot rebind; no redirect is followed; DNS, connection, request and answer have one deadline together, which drips
cannot stretch; an answer is read no further than its first 4 KiB. What an operator allows in ALERT_ALLOWED_NETWORKS may
be private, and plain http. The environment's proxies are not used: a proxy would resolve the name again.

An error's text names the host and never the rest of the URL, which holds secrets.
"""

from finops.lib.outbound.addresses import is_public
from finops.lib.outbound.client import Response, check_url, post
from finops.lib.outbound.endpoints import DeliveryTimeout, Resolver, UrlRefusal, use_resolver

__all__ = [
    "DeliveryTimeout",
    "Resolver",
    "Response",
    "UrlRefusal",
    "check_url",
    "is_public",
    "post",
    "use_resolver",
]
