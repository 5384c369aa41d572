"""Shared parts of endpoints that backends call with a key: the key as bearer token, a rate limit of the account, every
response in JSON. docs/adr/0034-the-push-endpoint-uses-only-parts-of-django-rest-framework.md says which parts of Django REST Framework are not used.

The credential is checked first, so that every request made with a key counts as a use of it, refused ones too.
"""

from __future__ import annotations

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, ClassVar, Protocol

import msgspec
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from rest_framework import views
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, MethodNotAllowed
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from accounts.bearer import BearerError, bearer_token, refusal_of
from accounts.limits import limit_of
from accounts.models import Account
from accounts.services.suspension import suspension_message
from finops.lib.push_body import PushError
from finops.lib.ratelimit import rate_limiter
from finops.lib.sentences import join_with_and
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from finops.web.admission import REFUSAL, TENANT, Refusal, tenant

log = logging.getLogger(__name__)


class KeyCredential(Protocol):
    @property
    def account(self) -> Account: ...


class KeyAuthentication(BaseAuthentication, ABC):
    """Authentication by a live key as bearer token only: no key of another kind, no session."""

    prefix: ClassVar[str]
    missing: ClassVar[str]
    unknown: ClassVar[str]

    @abstractmethod
    def credential_of(self, plaintext: str) -> KeyCredential | None:
        """Return the credential of a live key and record its use; None for anything else."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, KeyCredential]:
        """Raises AuthenticationFailed without such a key, and PushError, 403, while its account is suspended."""
        try:
            token = bearer_token(request, self.missing)
        except BearerError as error:
            raise AuthenticationFailed(str(error), "unauthorized") from error
        credential = self.credential_of(token)
        if credential is None:
            message = refusal_of(token, (self.prefix,), self.missing, self.unknown)
            raise AuthenticationFailed(message, "unauthorized")
        if message := suspension_message(credential.account):
            raise PushError(HTTPStatus.FORBIDDEN, "account_suspended", message)
        request.META[TENANT] = tenant(credential.account.pk)
        return AnonymousUser(), credential

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AccountThrottle(BaseThrottle):
    """Limits the requests of an account in any 60 seconds, over all addresses, sources and keys: an exact moving window, as
    the interface promises. Counts every request with a live key, whatever its response; one over the limit is not counted.
    The response's headers give the remaining requests."""

    scope: ClassVar[str]
    setting: ClassVar[str]
    """The setting with the limit, unless the account has its own (accounts/limits.py)."""

    def allow_request(self, request: Request, view: views.APIView) -> bool:
        """Count the request. Raises PushError, 429, for a request over the limit."""
        self._limit = limit_of(request.auth.account, self.setting)
        hit = rate_limiter().hit(f"{self.scope}:{request.auth.account.pk}", limit=self._limit)
        view.headers |= {
            "RateLimit-Limit": str(self._limit),
            "RateLimit-Remaining": str(hit.remaining),
            "RateLimit-Reset": str(hit.reset),
        }
        if not hit.is_allowed:
            message = f"More than {self._limit:,} requests of the account in 60 seconds; nothing was stored. Wait for Retry-After."
            headers = {"Retry-After": str(hit.wait)}
            raise PushError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message, headers)
        return True


class IgnoreClientContentNegotiation(BaseContentNegotiation):
    """There is one parser and one renderer: Content-Type and Accept are ignored."""

    def select_parser(self, request: Request, parsers: list[Any]) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class MsgspecRenderer(BaseRenderer):
    """JSON. `msgspec.Raw` is written unchanged: a response stored for an Idempotency-Key is already bytes."""

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
    """Return DRF's response with the interface's body. An unexpected error is logged as an incident: 503 where a dependency
    is unavailable, else 500."""
    refusal = _refusal(error, context)
    response = views.exception_handler(refusal, context)
    response.data = {"error": {"code": refusal.detail.code, "message": str(refusal.detail)}}
    for name, value in getattr(refusal, "headers", {}).items():
        response[name] = value
    return response


def _refusal(error: Exception, context: dict[str, Any]) -> APIException:
    if isinstance(error, MethodNotAllowed):
        methods: list[str] = context["view"].allowed_methods
        headers = {"Allow": ", ".join(methods)}
        message = f"Only {join_with_and(methods)}."
        return PushError(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", message, headers)
    return error if isinstance(error, APIException) else _incident(error, context["request"].path)


def _incident(error: Exception, path: str) -> PushError:
    incident = secrets.token_hex(4)
    log.error("incident %s at %s", incident, path, exc_info=error)
    if is_unavailable(error):
        # The message does not say what is stored: the commit may have succeeded.
        return unavailable_error(
            f"Storage is unavailable. Send the request again (incident {incident}).", RETRY_SECONDS
        )
    message = f"Internal error; nothing was stored (incident {incident})."
    return PushError(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)


def unavailable_error(message: str, seconds: int) -> PushError:
    """Return a 503 with the seconds after which to retry."""
    return PushError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message, {"Retry-After": str(seconds)})


class PushRequest(Request):
    """A request whose body is read as JSON whatever its Content-Type says, with or without a Content-Length.

    DRF checks both before it calls a parser, and takes a chunked body for an empty one.
    """

    content_type = "application/json"

    @property
    def stream(self) -> HttpRequest:
        request: HttpRequest = self._request
        return request


class KeyEndpoint(views.APIView):
    """Base class of the endpoints. A subclass names its key's authentication class and its throttle class."""

    permission_classes: list[Any] = []
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
        """Check the request. Raises PushError for one that finops.web.admission refuses."""
        refusal: Refusal | None = request.META.get(REFUSAL)
        if refusal is not None:
            raise PushError(refusal.status, refusal.code, refusal.message, refusal.headers)
        super().initial(request, *args, **kwargs)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Return the rendered response. The endpoint runs before the middleware that would render it and add its length."""
        answer: HttpResponse = super().finalize_response(request, response, *args, **kwargs).render()
        answer["Content-Length"] = str(len(answer.content))
        # The response tells the sender about an invalid request; our own errors are logged with their incident.
        answer._has_been_logged = True  # type: ignore[attr-defined]
        # A reference cycle, which would keep a push of up to 16 MiB in memory until Python's next full collection.
        request.parser_context.clear()
        response.renderer_context.clear()
        return answer
