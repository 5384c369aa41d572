"""POST /api/usage/events, of the parts that Django REST Framework has for it: usage key, rate limit, parser, renderer and
exception handler. Every answer is JSON, whatever happens. docs/adr/0034-push-endpoint-on-drf.md says what of DRF is not used.

The credential comes first, so that every request made with a key counts as a use of it, refused ones too.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import msgspec
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from rest_framework import views
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, MethodNotAllowed, Throttled
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from finops.lib.ratelimit import rate_limiter
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from finops.web.admission import BUSY, TENANT, tenant
from ingestion.parsers import EventBatchParser, PushError, PushRequest
from ingestion.services import IdempotencyKeyConflict, Retry, RevokedKeyError, accept_events
from ingestion.services.keys import PushCredential, authenticate_usage_key

PATH: Final = "/api/usage/events"
_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,2048}=*)")

log = logging.getLogger(__name__)


class UsageKeyAuthentication(BaseAuthentication):
    """A living usage key as bearer token, and nothing else: no MCP key, no session."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, PushCredential]:
        """Raises AuthenticationFailed without such a key."""
        header: str = request.META.get("HTTP_AUTHORIZATION", "").strip()
        if not header:
            message = "Send the key of a usage source: Authorization: Bearer <usage key>"
            raise AuthenticationFailed(message, "unauthorized")
        bearer = _BEARER.fullmatch(header)
        credential = authenticate_usage_key(bearer[1]) if bearer else None
        if credential is None:
            message = "This is not a living usage key: it is unknown, revoked or replaced by another."
            raise AuthenticationFailed(message, "unauthorized")
        request.META[TENANT] = tenant(credential.account.pk)
        return AnonymousUser(), credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AccountThrottle(BaseThrottle):
    """So many requests of an account in any 60 seconds, whatever address, source or key they come by: an exact moving
    window, as the interface promises. Counts every request with a living key, whatever its answer; one over the limit is
    not counted. The answer's headers say what is left."""

    def allow_request(self, request: Request, view: views.APIView) -> bool:
        limit = settings.USAGE_RATE_LIMIT_PER_MINUTE
        hit = rate_limiter().hit(f"usage:{request.auth.account.pk}", limit=limit)
        view.headers |= {
            "RateLimit-Limit": str(limit),
            "RateLimit-Remaining": str(hit.remaining),
            "RateLimit-Reset": str(hit.reset),
        }
        self._seconds = hit.wait
        return hit.is_allowed

    def wait(self) -> float:
        return self._seconds


class IgnoreClientContentNegotiation(BaseContentNegotiation):
    """There is one parser and one renderer, and both are JSON: neither Content-Type nor Accept is looked at."""

    def select_parser(self, request: Request, parsers: list[Any]) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class MsgspecRenderer(BaseRenderer):
    """JSON. `msgspec.Raw` is written as it is: an answer that is kept for an Idempotency-Key is bytes already."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: dict[str, Any] | None = None,
    ) -> bytes:
        return msgspec.json.encode(data)


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's answer with the interface's body. What is no refusal of ours is logged as an incident: 503 where a
    dependency is away, else 500."""
    refusal = _refusal(error)
    response = views.exception_handler(refusal, context)
    response.data = {"error": {"code": refusal.detail.code, "message": str(refusal.detail)}}
    for name, value in getattr(refusal, "headers", {}).items():
        response[name] = value
    return response


def _refusal(error: Exception) -> APIException:
    if isinstance(error, MethodNotAllowed):
        return PushError(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Only POST.", {"Allow": "POST"})
    if isinstance(error, Throttled):
        limit = settings.USAGE_RATE_LIMIT_PER_MINUTE
        message = f"More than {limit:,} requests of the account in 60 seconds; nothing is stored."
        headers = {"Retry-After": str(error.wait)}
        return PushError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message, headers)
    return error if isinstance(error, APIException) else _incident(error)


def _incident(error: Exception) -> PushError:
    incident = secrets.token_hex(4)
    log.error("incident %s at %s", incident, PATH, exc_info=error)
    if is_unavailable(error):
        # Nothing is said of what is stored: the commit may have been on its way.
        return _unavailable_error(
            f"Storage is not available; send it again (incident {incident}).", RETRY_SECONDS
        )
    message = f"Internal error, nothing is stored (incident {incident})."
    return PushError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)


def _unavailable_error(message: str, seconds: int) -> PushError:
    return PushError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, {"Retry-After": str(seconds)})


class UsageEvents(views.APIView):
    http_method_names = ["post"]
    authentication_classes = [UsageKeyAuthentication]
    permission_classes: list[Any] = []
    throttle_classes = [AccountThrottle]
    parser_classes = [EventBatchParser]
    renderer_classes = [MsgspecRenderer]
    content_negotiation_class = IgnoreClientContentNegotiation

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return exception_handler

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> PushRequest:
        return PushRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if BUSY in request.META:
            message = "Too many requests are waiting; nothing is stored. Send it again."
            raise _unavailable_error(message, request.META[BUSY])
        super().initial(request, *args, **kwargs)

    def post(self, request: Request) -> Response:
        """Takes a batch whole or not at all.

        Raises AuthenticationFailed (401) for a key revoked meanwhile, PushError (422) for an idempotency key that came
        with another body.
        """
        key, dry_run = _idempotency_key(request), _dry_run(request)
        body = request.data
        try:
            receipt = accept_events(
                credential=request.auth,
                batch=body.batch,
                retry=Retry.of(key, body.content) if key else None,
                dry_run=dry_run,
            )
        except RevokedKeyError as error:
            message = "The key was revoked or replaced while this request was under way; nothing is stored."
            raise AuthenticationFailed(message, "unauthorized") from error
        except IdempotencyKeyConflict as error:
            message = (
                "This Idempotency-Key was sent with another body in the last 24 hours; nothing is stored."
            )
            raise PushError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", message) from error
        return Response(msgspec.Raw(receipt.body), headers=receipt.headers)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """The rendered answer. The endpoint stands before the middleware that would render it and add its length."""
        answer: HttpResponse = super().finalize_response(request, response, *args, **kwargs).render()
        answer["Content-Length"] = str(len(answer.content))
        # What is wrong with a request is the sender's to know; our own faults are logged with their incident.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        # Each names what names it: a circle that would keep a push, of up to 16 MiB, until Python's next full collection.
        request.parser_context.clear()
        response.renderer_context.clear()
        return answer


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
    flag = request.query_params.get("dry_run", "false").lower()
    if flag not in _FLAGS:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", "dry_run must be true or false.")
    return _FLAGS[flag]


push: Callable[[HttpRequest], HttpResponse] = UsageEvents.as_view()
