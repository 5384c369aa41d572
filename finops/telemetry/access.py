"""Access to /metrics by METRICS_TOKEN. Without models: beat, which loads none, serves them too."""

from __future__ import annotations

import hmac
from typing import Final

from django.conf import settings

UNAUTHORIZED: Final = "Send the value of METRICS_TOKEN: Authorization: Bearer <token>"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="metrics"'}


def is_authorized(authorization: str) -> bool:
    """Whether this header has METRICS_TOKEN."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
