"""How often one address may come. Counted by finops.lib.ratelimit, like every limit of ours.

django-ratelimit was meant for this. Its fixed windows let twice the limit through at their edge, and it counts in
Django's cache, which forgets counters when full; finops.lib.ratelimit is exact and already shared through Redis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from finops.lib.client_address import client_network
from finops.lib.ratelimit import rate_limiter

DOCUMENTS_PER_MINUTE = 30


def seconds_to_wait_at_token(request: HttpRequest) -> int:
    return _wait("token", request.META, settings.OAUTH_TOKEN_PER_MINUTE)


def seconds_to_wait_at_register(request: HttpRequest) -> int:
    return _wait("register", request.META, settings.OAUTH_REGISTER_PER_MINUTE)


def seconds_to_wait_for_document(headers: Mapping[str, Any]) -> int:
    """For the fetch of a client's metadata document; `headers` are those of oauthlib, which hold the whole META."""
    return _wait("document", headers, DOCUMENTS_PER_MINUTE)


def _wait(door: str, meta: Mapping[str, Any], limit: int) -> int:
    return rate_limiter().hit(f"oauth:{door}:{client_network(meta)}", limit=limit).wait
