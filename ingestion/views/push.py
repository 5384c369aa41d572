"""POST /api/usage/events, the HTTP of it: credential, body, status. Every answer is JSON, whatever happens.

The credential comes first, so that every request made with a key counts as a use of it, refused ones too.
"""

from __future__ import annotations

import logging
import re
import secrets
from http import HTTPStatus
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from finops.web.admission import BUSY, TENANT, tenant
from ingestion.body import PushError, read_body
from ingestion.keys import PushCredential, authenticate_usage_key
from ingestion.parsing import MalformedBody, check_batch
from ingestion.services import IdempotencyKeyReused, KeyRevoked, Retry, accept_events
from ingestion.throttle import AccountThrottle, headers_of

PATH = "/api/usage/events"
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,2048}=*)")

log = logging.getLogger(__name__)


class UsageKeyAuthentication(BaseAuthentication):
    """A living usage key as bearer token, and nothing else: no MCP key, no session."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, PushCredential]:
        header: str = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            raise _unauthorized_error("Send the key of a usage source: Authorization: Bearer <usage key>")
        bearer = _BEARER.fullmatch(header)
        credential = authenticate_usage_key(bearer[1]) if bearer else None
        if credential is None:
            raise _unauthorized_error(
                "This is not a living usage key: it is unknown, revoked or replaced by another."
            )
        request.META[TENANT] = tenant(credential.account.pk)
        return AnonymousUser(), credential


def _unauthorized_error(message: str) -> PushError:
    return PushError(HTTPStatus.UNAUTHORIZED, "unauthorized", message, {"WWW-Authenticate": "Bearer"})


class AnyAccept(BaseContentNegotiation):
    """There is JSON; what the client would like instead is not looked at."""

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class UsageEvents(APIView):
    http_method_names = ["post"]
    authentication_classes = [UsageKeyAuthentication]
    permission_classes: list[Any] = []
    throttle_classes = [AccountThrottle]
    renderer_classes = [JSONRenderer]
    content_negotiation_class = AnyAccept

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        drf_request = super().initialize_request(request, *args, **kwargs)
        # For parsers, of which there is none. It names the request and the view, and they it: a circle that would keep
        # each push (20 KB) until Python's next full collection, thousands of pushes later.
        drf_request.parser_context.clear()
        return drf_request

    def post(self, request: Request) -> HttpResponse:
        # The body is read here and not by DRF's parsers: they choose by content type, and take a chunked one for none.
        key, dry_run = _idempotency_key(request), _dry_run(request)
        body = read_body(request._request)
        receipt = accept_events(
            credential=request.auth,
            batch=check_batch(body),
            retry=Retry.of(key, body) if key else None,
            dry_run=dry_run,
        )
        return _json(HTTPStatus.OK, receipt.body, receipt.headers)

    def throttled(self, request: Request, wait: float | None) -> None:
        raise PushError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "rate_limited",
            f"More than {settings.USAGE_RATE_LIMIT_PER_MINUTE:,} requests of the account in 60 seconds; nothing is stored.",
            {"Retry-After": str(int(wait or 1))},
        )

    def handle_exception(self, exc: Exception) -> HttpResponse:
        error = _to_push_error(exc)
        return _json(error.status, _error_body(error), error.headers)

    def finalize_response(
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        for name, value in headers_of(request).items():
            response[name] = value
        return response


_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_FLAGS = {"false": False, "0": False, "true": True, "1": True}


def _idempotency_key(request: Request) -> str:
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        message = "Idempotency-Key must be 1 to 255 visible ASCII characters."
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_idempotency_key", message)
    return key


def _dry_run(request: Request) -> bool:
    # Without a word it is no answer: whoever writes `?dry_run` means it, and storing would surprise.
    flag = request._request.GET.get("dry_run", "false").lower()
    if flag not in _FLAGS:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", "dry_run must be true or false.")
    return _FLAGS[flag]


def _to_push_error(error: Exception) -> PushError:
    if isinstance(error, PushError):
        return error
    if isinstance(error, MalformedBody):
        return PushError(HTTPStatus.BAD_REQUEST, error.code, error.message)
    if isinstance(error, KeyRevoked):
        return _unauthorized_error(
            "The key was revoked or replaced while this request was under way; nothing is stored."
        )
    if isinstance(error, IdempotencyKeyReused):
        message = "This Idempotency-Key was sent with another body in the last 24 hours; nothing is stored."
        return PushError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", message)
    if isinstance(error, MethodNotAllowed):
        return PushError(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Only POST.", {"Allow": "POST"})
    return _internal_error(error)


def _internal_error(error: Exception) -> PushError:
    incident = secrets.token_hex(4)
    log.error("incident %s at %s", incident, PATH, exc_info=error)
    if is_unavailable(error):
        # Nothing is said of what is stored: the commit may have been on its way.
        message = f"Storage is not available; send it again (incident {incident})."
        return PushError(
            HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, {"Retry-After": str(RETRY_SECONDS)}
        )
    message = f"Internal error, nothing is stored (incident {incident})."
    return PushError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)


def _busy_error(seconds: int) -> PushError:
    message = "Too many requests are waiting; nothing is stored. Send it again."
    return PushError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, {"Retry-After": str(seconds)})


def _error_body(error: PushError) -> bytes:
    return msgspec.json.encode({"error": {"code": error.code, "message": error.message}})


def _json(status: HTTPStatus, content: bytes, headers: dict[str, str]) -> HttpResponse:
    always = {
        "Cache-Control": "no-store",
        "Content-Length": str(len(content)),
        "X-Content-Type-Options": "nosniff",
    }
    answer = HttpResponse(
        content, status=status, content_type="application/json", headers={**always, **headers}
    )
    # What is wrong with a request is the sender's to know; our own faults are logged with their incident.
    answer._has_been_logged = True  # type: ignore[attr-defined]
    return answer


def push(request: HttpRequest) -> HttpResponse:
    """The view, with a type."""
    if BUSY in request.META:
        error = _busy_error(request.META[BUSY])
        return _json(error.status, _error_body(error), error.headers)
    response: HttpResponse = _view(request)
    return response


_view = UsageEvents.as_view()
push.csrf_exempt = True  # type: ignore[attr-defined]
