"""CloudEvents with the key of a usage source: POST /api/usage/cloudevents, and the endpoint for clients of OpenMeter."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import PushRequest, exception_handler
from finops.lib import clock
from finops.lib.push_body import BodyLimit, PushError, read_body
from ingestion.formats.cloudevents import Reading, check_binary_cloudevent, check_cloudevents
from ingestion.formats.translation import Translation
from ingestion.parsing import Batch, MalformedBody
from ingestion.services.idempotency import Receipt, Result
from ingestion.views.push import UsageEndpoint

PATH: Final = "/api/usage/cloudevents"
OPENMETER_PATH: Final = "/api/usage/openmeter/api/v1/events"

BODY_LIMIT: Final = BodyLimit(
    4 * 1024**2,
    advice="send smaller batches",
    ratio_advice="send it without Content-Encoding, or fewer events",
)


@dataclasses.dataclass(frozen=True, slots=True)
class TranslatedBody:
    """The content that a retry must repeat, and the usage events of it."""

    content: bytes
    translation: Translation

    @property
    def batch(self) -> Batch:
        return self.translation.batch


class CloudEventsParser(BaseParser):
    media_type = PushRequest.content_type
    numeric_text = False

    def parse(
        self, stream: HttpRequest, media_type: str | None = None, parser_context: dict[str, Any] | None = None
    ) -> DataAndFiles:
        """Parse the request into a TranslatedBody, without files. Raises PushError as `read_body` does, 415 for a
        format of CloudEvents other than JSON, and 400 for a body that is no CloudEvent or array of them."""
        content_type: str = stream.META.get("CONTENT_TYPE", "")
        _refuse_other_formats(content_type)
        attributes = {
            name.removeprefix("HTTP_CE_").lower(): value
            for name, value in stream.META.items()
            if name.startswith("HTTP_CE_")
        }
        content = read_body(stream, BODY_LIMIT)
        reading = Reading(clock.now(), self.numeric_text)
        try:
            if attributes and not _STRUCTURED.match(content_type):
                translation = check_binary_cloudevent(attributes, content_type, content, reading)
                content = b"%r\n%b" % (sorted(attributes.items()), content)
            else:
                translation = check_cloudevents(content, reading)
        except MalformedBody as error:
            raise PushError(HTTPStatus.BAD_REQUEST, error.code, error.message) from error
        return DataAndFiles(TranslatedBody(b"cloudevents\n" + content, translation), {})


class OpenMeterParser(CloudEventsParser):
    numeric_text = True


_STRUCTURED = re.compile(r"\s*application/cloudevents", re.IGNORECASE)
_JSON_FORMAT = re.compile(r"\s*application/cloudevents(-batch)?(\+json)?\s*(;|$)", re.IGNORECASE)


def _refuse_other_formats(content_type: str) -> None:
    if _STRUCTURED.match(content_type) and not _JSON_FORMAT.match(content_type):
        message = (
            "Send CloudEvents as JSON: application/cloudevents+json or application/cloudevents-batch+json."
        )
        raise PushError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)


class CloudEvents(UsageEndpoint):
    """The endpoint for CloudEvents. It responds as the push endpoint does, with results by event as sent."""

    parser_classes = [CloudEventsParser]

    def post(self, request: Request) -> Response:
        receipt = self.accept(request)
        result = request.data.translation.result(receipt)
        return Response(result, headers=_headers_of(request.data.translation, receipt, result))


def _headers_of(translation: Translation, receipt: Receipt, result: Result) -> dict[str, str]:
    """Return the receipt's headers, with the rejected events counted as in the response's body."""
    counts = {"Usage-Rejected": result.rejected, "Usage-Without-Time": translation.count_without_time(result)}
    return {**receipt.headers, **{name: str(count) for name, count in counts.items()}}


class PushProblem(msgspec.Struct, omit_defaults=True):
    """RFC 9457. `accepted`, `rejected` and `errors` as in the answer of the push endpoint."""

    type: str
    title: str
    status: int
    detail: str
    accepted: int | None = None
    rejected: int | None = None
    errors: list[Any] | None = None


_PROBLEM_TYPE: Final = "application/problem+json"
_SHOWN: Final = 3


class OpenMeterEvents(UsageEndpoint):
    """The endpoint that responds as OpenMeter does: 204 if all events are stored (200 with the warnings of a
    dry run), else 400 with a problem. Valid
    events are stored in either case; if they are sent again with the others, their IDs identify them as duplicates.
    """

    parser_classes = [OpenMeterParser]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return _problem_handler

    def post(self, request: Request) -> Response:
        receipt = self.accept(request)
        result = request.data.translation.result(receipt)
        headers = _headers_of(request.data.translation, receipt, result)
        if result.warnings and not result.rejected:  # a dry run, which a person reads
            return Response(result, headers=headers)
        if not result.rejected:
            return Response(status=HTTPStatus.NO_CONTENT, headers=headers)
        problem = PushProblem(
            type="about:blank",
            title=HTTPStatus.BAD_REQUEST.phrase,
            status=HTTPStatus.BAD_REQUEST,
            detail=_detail(result),
            accepted=result.accepted,
            rejected=result.rejected,
            errors=list(result.errors),
        )
        return Response(problem, status=HTTPStatus.BAD_REQUEST, headers=headers, content_type=_PROBLEM_TYPE)


def _detail(result: Result) -> str:
    total = result.accepted + result.rejected
    stored = f"the other {result.accepted:,} are accepted" if result.accepted else "nothing was stored"
    reasons = "; ".join(f"event {rejection.index}: {rejection.error}" for rejection in result.errors[:_SHOWN])
    more = "; …" if len(result.errors) > _SHOWN else ""
    return f"{result.rejected:,} of {total:,} events rejected, {stored}. {reasons}{more}."


def _problem_handler(error: Exception, context: dict[str, Any]) -> Response:
    response = exception_handler(error, context)
    status = HTTPStatus(response.status_code)
    body = response.data["error"]
    response.data = PushProblem(
        type="about:blank", title=status.phrase, status=status, detail=f"{body['message']} ({body['code']})"
    )
    response.content_type = _PROBLEM_TYPE
    return response


push: Callable[[HttpRequest], HttpResponse] = CloudEvents.as_view()
push_as_openmeter: Callable[[HttpRequest], HttpResponse] = OpenMeterEvents.as_view()
