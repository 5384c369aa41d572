"""How many requests a credential may make in any 60 seconds: an exact moving window (`finops.lib.ratelimit`)."""

from __future__ import annotations

from django.conf import settings

from accounts.credentials import Credential
from finops.lib.ratelimit import rate_limiter


def seconds_to_wait(credential: Credential, *, requests: int = 1) -> int:
    """Counts the requests and gives 0, or counts nothing and gives the seconds until the next may come."""
    key = f"mcp:{credential.kind.value}:{credential.id}"
    return rate_limiter().hit(key, limit=settings.MCP_RATE_LIMIT_PER_MINUTE, cost=requests).wait
