"""Parses a push request: the body, then JSON, then each event checked.

The body is JSON whatever its Content-Type, so that `curl -d` works unchanged.
"""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.parsers import BaseParser, DataAndFiles

from accounts.key_endpoint import PushRequest
from finops.lib.push_body import BodyLimit, PushError, read_body
from ingestion.parsing import Batch, MalformedBody, check_batch


@dataclasses.dataclass(frozen=True, slots=True)
class PushBody:
    """The body of a push: the decompressed bytes, which a retry must repeat, and its events."""

    content: bytes
    batch: Batch


class EventBatchParser(BaseParser):
    media_type = PushRequest.content_type

    def parse(
        self, stream: HttpRequest, media_type: str | None = None, parser_context: dict[str, Any] | None = None
    ) -> DataAndFiles:
        """Parse the request into a PushBody, without files. Raises PushError as `read_body` does, and 400 for a body
        without an array `events` or with too many events."""
        content = read_body(stream, body_limit())
        event_id_field = (parser_context or {})["request"].auth.event_id_field
        try:
            return DataAndFiles(PushBody(content, check_batch(content, event_id_field=event_id_field)), {})
        except MalformedBody as error:
            raise PushError(HTTPStatus.BAD_REQUEST, error.code, error.message) from error


def body_limit() -> BodyLimit:
    """Return the limit of the decompressed body: at most a hundred times the bytes sent."""
    return BodyLimit(
        settings.USAGE_MAX_BODY_BYTES,
        advice="send smaller batches",
        ratio_advice="send it without Content-Encoding, or fewer events",
    )
