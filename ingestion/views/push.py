"""POST /api/usage/events: a batch of usage events with the key of a usage source."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import AccountThrottle, KeyAuthentication, KeyEndpoint
from finops.lib.push_body import PushError
from ingestion.parsers import EventBatchParser
from ingestion.push_options import dry_run_of, idempotency_key_of
from ingestion.services import IdempotencyKeyConflict, Retry, RevokedKeyError, accept_events
from ingestion.services.idempotency import Receipt
from ingestion.services.keys import PushCredential, authenticate_usage_key

PATH: Final = "/api/usage/events"


class UsageKeyAuthentication(KeyAuthentication):
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
        """Accept a batch, atomically.

        Raises AuthenticationFailed (401) for a key that was revoked meanwhile, PushError (422) for an idempotency key
        that was used with another body.
        """
        key, dry_run = idempotency_key_of(request), dry_run_of(request)
        body = request.data
        try:
            return accept_events(
                credential=request.auth,
                batch=body.batch,
                retry=Retry.of(key, body.content) if key else None,
                dry_run=dry_run,
            )
        except RevokedKeyError as error:
            message = "The key was revoked or replaced during this request; nothing was stored."
            raise AuthenticationFailed(message, "unauthorized") from error
        except IdempotencyKeyConflict as error:
            message = (
                "This Idempotency-Key was sent with another body in the last 24 hours; nothing was stored."
            )
            raise PushError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", message) from error


class UsageEvents(UsageEndpoint):
    parser_classes = [EventBatchParser]

    def post(self, request: Request) -> Response:
        receipt = self.accept(request)
        return Response(msgspec.Raw(receipt.body), headers=receipt.headers)


push: Callable[[HttpRequest], HttpResponse] = UsageEvents.as_view()
