"""The rate limit of the push door: by the account that the key is of, whatever address or source a request comes from."""

from __future__ import annotations

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from finops.lib.ratelimit import Hit, rate_limiter

_ATTRIBUTE = "usage_rate_limit"


class AccountThrottle(BaseThrottle):
    """Counts every request with a valid key, whatever its answer; one that is over the limit is not counted."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        limit = settings.USAGE_RATE_LIMIT_PER_MINUTE
        self._hit = rate_limiter().hit(f"usage:{request.auth.account.pk}", limit=limit)
        setattr(request, _ATTRIBUTE, self._hit)
        return self._hit.allowed

    def wait(self) -> float:
        return self._hit.wait


def headers_of(request: Request) -> dict[str, str]:
    """What the answer to a request that was counted says about the limit; nothing for others."""
    hit: Hit | None = getattr(request, _ATTRIBUTE, None)
    if hit is None:
        return {}
    return {
        "RateLimit-Limit": str(settings.USAGE_RATE_LIMIT_PER_MINUTE),
        "RateLimit-Remaining": str(hit.remaining),
        "RateLimit-Reset": str(hit.reset),
    }
