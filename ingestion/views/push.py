"""POST /api/usage/events: a batch of usage events with the key of a usage source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import AccountThrottle, KeyAuthentication, KeyEndpoint
from ingestion.parsers import EventBatchParser
from ingestion.push_options import dry_run_of, refusals, retry_of
from ingestion.services import accept_events
from ingestion.services.idempotency import Receipt
from ingestion.services.keys import PREFIX, PushCredential, authenticate_usage_key

PATH: Final = "/api/usage/events"


class UsageKeyAuthentication(KeyAuthentication):
    prefix = PREFIX
    missing = "Send the key of a usage source: Authorization: Bearer <usage key>"
    unknown = "Invalid usage key: it is unknown, revoked or replaced."

    def credential_of(self, plaintext: str) -> PushCredential | None:
        return authenticate_usage_key(plaintext)


class UsageThrottle(AccountThrottle):
    scope = "usage"
    setting = "USAGE_RATE_LIMIT_PER_MINUTE"


class UsageEndpoint(KeyEndpoint):
    """Base class of the endpoints that receive usage. A subclass names the parser of its format."""

    http_method_names = ["post"]
    authentication_classes = [UsageKeyAuthentication]
    throttle_classes = [UsageThrottle]

    def accept(self, request: Request) -> Receipt:
        """Accept a batch, atomically. Raises the errors of `retry_of`, `dry_run_of` and `refusals`."""
        dry_run, body = dry_run_of(request), request.data
        with refusals():
            return accept_events(
                credential=request.auth,
                batch=body.batch,
                retry=retry_of(request, body.content),
                dry_run=dry_run,
            )


class UsageEvents(UsageEndpoint):
    parser_classes = [EventBatchParser]

    def post(self, request: Request) -> Response:
        receipt = self.accept(request)
        return Response(msgspec.Raw(receipt.body), headers=receipt.headers)


push: Callable[[HttpRequest], HttpResponse] = UsageEvents.as_view()
