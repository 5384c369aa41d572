"""Rate limits of the OAuth endpoints and of fetched metadata documents for each address: fixed windows
(`finops.lib.fixed_window`) of a minute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from finops.lib import fixed_window
from finops.lib.client_address import client_network

DOCUMENTS_PER_MINUTE = 30


def seconds_to_wait_at_token(request: HttpRequest) -> int:
    return fixed_window.seconds_to_wait(
        "oauth token", client_network(request.META), limit=settings.OAUTH_TOKEN_PER_MINUTE
    )


def seconds_to_wait_at_register(request: HttpRequest) -> int:
    return fixed_window.seconds_to_wait(
        "oauth register", client_network(request.META), limit=settings.OAUTH_REGISTER_PER_MINUTE
    )


def seconds_to_wait_for_document(headers: Mapping[str, Any]) -> int:
    """Return how many seconds to wait before a metadata document may be fetched. `headers` are those of oauthlib's
    request: all of META."""
    return fixed_window.seconds_to_wait("oauth document", client_network(headers), limit=DOCUMENTS_PER_MINUTE)
