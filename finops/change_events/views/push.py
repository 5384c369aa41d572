"""POST /api/events: a batch of change events with the key of an event source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import AccountThrottle, KeyAuthentication, KeyEndpoint, PushRequest
from finops.change_events.parsing import EventBatch, check_events
from finops.change_events.services.accept import accept_events
from finops.change_events.services.keys import PREFIX, EventCredential, authenticate_event_key
from finops.lib.push_body import PushError, read_body
from ingestion.parsers import body_limit
from ingestion.parsing import MalformedBody
from ingestion.push_options import dry_run_of, refusals, retry_of

PATH: Final = "/api/events"


class EventKeyAuthentication(KeyAuthentication):
    prefix = PREFIX
    missing = "Send the key of an event source: Authorization: Bearer <event key>"
    unknown = "Invalid event key: it is unknown, revoked or replaced."

    def credential_of(self, plaintext: str) -> EventCredential | None:
        return authenticate_event_key(plaintext)


class EventThrottle(AccountThrottle):
    scope = "events"
    setting = "EVENT_RATE_LIMIT_PER_MINUTE"


@dataclasses.dataclass(frozen=True, slots=True)
class EventBody:
    """The body of a push: the inflated bytes, which a retry must repeat, and their events."""

    content: bytes
    batch: EventBatch


class EventParser(BaseParser):
    media_type = PushRequest.content_type

    def parse(
        self, stream: HttpRequest, media_type: str | None = None, parser_context: dict[str, Any] | None = None
    ) -> DataAndFiles:
        """Return an EventBody, and no files. Raises PushError as `read_body` does, and with 400 if the body has no
        array `events` or too many events."""
        content = read_body(stream, body_limit())
        try:
            return DataAndFiles(EventBody(content, check_events(content)), {})
        except MalformedBody as error:
            raise PushError(HTTPStatus.BAD_REQUEST, error.code, error.message) from error


class ChangeEvents(KeyEndpoint):
    http_method_names = ["post"]
    authentication_classes = [EventKeyAuthentication]
    throttle_classes = [EventThrottle]
    parser_classes = [EventParser]

    def post(self, request: Request) -> Response:
        """Store a batch. Raises the errors of `retry_of`, `dry_run_of` and `refusals`."""
        dry_run, body = dry_run_of(request), request.data
        with refusals():
            receipt = accept_events(
                credential=request.auth,
                batch=body.batch,
                retry=retry_of(request, body.content),
                dry_run=dry_run,
            )
        return Response(msgspec.Raw(receipt.body), headers=receipt.headers)


push: Callable[[HttpRequest], HttpResponse] = ChangeEvents.as_view()
