"""POST /api/usage/otlp/v1/metrics: metrics of OpenTelemetry by OTLP/HTTP, with the key of a usage source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.parsers import BaseParser, DataAndFiles
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import PushRequest, exception_handler
from finops.lib.push_body import BodyLimit, PushError, read_body
from ingestion.formats.otlp import check_points, rejection_message
from ingestion.formats.otlp_messages import decode_json, decode_protobuf
from ingestion.parsing import MalformedBody
from ingestion.views.cloudevents import TranslatedBody
from ingestion.views.push import UsageEndpoint

PATH: Final = "/api/usage/otlp/v1/metrics"
PROTOBUF: Final = "application/x-protobuf"
JSON: Final = "application/json"

BODY_LIMIT: Final = BodyLimit(
    2 * 1024**2, advice="export more often", ratio_advice="send it without compression"
)
# google.rpc.Code by HTTP status; other statuses are INVALID_ARGUMENT.
_CODES: Final = {401: 16, 403: 7, 405: 12, 413: 8, 429: 8, 500: 13, 503: 14}
_INVALID_ARGUMENT: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class MetricsBody(TranslatedBody):
    gauges: frozenset[str]


class MetricsParser(BaseParser):
    media_type = PushRequest.content_type

    def parse(
        self, stream: HttpRequest, media_type: str | None = None, parser_context: dict[str, Any] | None = None
    ) -> DataAndFiles:
        """Parse the request into a MetricsBody, without files. Raises PushError as `read_body` does, 415 for a body
        that is neither protobuf nor JSON, and 400 for a body that is no OTLP request or has more than 1,000 points.
        """
        kind = _kind(stream)
        if kind not in (PROTOBUF, JSON):
            message = f"Content-Type must be {PROTOBUF} or {JSON}."
            raise PushError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
        content = read_body(stream, BODY_LIMIT)
        credential = (parser_context or {})["request"].auth
        try:
            request = decode_protobuf(content) if kind == PROTOBUF else decode_json(content)
            points = check_points(request, credential.customer_attribute)
        except MalformedBody as error:
            raise PushError(HTTPStatus.BAD_REQUEST, error.code, error.message) from error
        points.translation.batch.gauges = points.gauges
        return DataAndFiles(MetricsBody(b"otlp\n" + content, points.translation, points.gauges), {})


def _kind(request: HttpRequest) -> str:
    content_type: str = request.META.get("CONTENT_TYPE", "")
    return content_type.partition(";")[0].strip().lower()


class BytesRenderer(BaseRenderer):
    """A renderer of bytes that are already encoded. Accept is ignored: OTLP responds in the format of the request."""

    media_type = JSON
    format = "otlp"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: dict[str, Any] | None = None,
    ) -> Any:
        return data


class OtlpMetrics(UsageEndpoint):
    """The endpoint for OTLP metrics. Each point is checked separately: 200 with the number of rejected points and the
    reasons, as OTLP specifies."""

    parser_classes = [MetricsParser]
    renderer_classes = [BytesRenderer]

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return _status_handler

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        answer = super().finalize_response(request, response, *args, **kwargs)
        if not answer.content:
            # In protobuf "all accepted" is an empty body, and DRF removes the Content-Type of an empty one.
            answer["Content-Type"] = PROTOBUF
        return answer

    def post(self, request: Request) -> Response:
        receipt = self.accept(request)
        result = request.data.translation.result(receipt)
        errors = rejection_message(rejection.error for rejection in result.errors)
        message = "; ".join(filter(None, [errors, *result.warnings]))
        kind = _kind(request._request)
        return Response(
            _success(kind, result.rejected, message),
            headers={**receipt.headers, "Usage-Rejected": str(result.rejected)},
            content_type=kind,
        )


def _success(kind: str, rejected: int, message: str) -> bytes:
    """Return an ExportMetricsServiceResponse, without a partial success if there is nothing to say."""
    if kind == JSON:
        # Protobuf's JSON writes 64-bit integers as text.
        partial = {"partialSuccess": {"rejectedDataPoints": str(rejected), "errorMessage": message}}
        return msgspec.json.encode(partial if message else {})
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsPartialSuccess,
        ExportMetricsServiceResponse,
    )

    partial_success = ExportMetricsPartialSuccess(rejected_data_points=rejected, error_message=message)
    answer = ExportMetricsServiceResponse(partial_success=partial_success if message else None)
    content: bytes = answer.SerializeToString()
    return content


def _status_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Return an error as google.rpc.Status, in the format of the request, or as JSON for any other format."""
    response = exception_handler(error, context)
    code = _CODES.get(response.status_code, _INVALID_ARGUMENT)
    message = response.data["error"]["message"]
    if _kind(context["request"]._request) == PROTOBUF:
        from google.rpc.status_pb2 import Status

        response.data, response.content_type = (
            Status(code=code, message=message).SerializeToString(),
            PROTOBUF,
        )
    else:
        response.data = msgspec.json.encode({"code": code, "message": message})
        response.content_type = JSON
    return response


push: Callable[[HttpRequest], HttpResponse] = OtlpMetrics.as_view()
