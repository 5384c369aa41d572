"""The base of all SCIM endpoints: the token of the provider in the path, JSON requests and responses, errors as in
RFC 7644, 3.12."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from http import HTTPStatus
from typing import Any, Final

import msgspec
import pydantic
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from scim2_models import Error, SCIMException

from accounts.key_endpoint import (
    AccountThrottle,
    KeyAuthentication,
    KeyEndpoint,
    MsgspecRenderer,
    exception_handler,
)
from accounts.scoping import account_scope
from accounts.sso.scim.errors import ERROR_SCHEMA, MEDIA_TYPE, ScimRefusal
from accounts.sso.scim.resources import POLICY
from accounts.sso.scim.tokens import PREFIX, ScimCredential, authenticate_scim_token, note_use
from finops.lib.errors import INVALID_JSON, UserError
from finops.lib.push_body import BodyLimit, PushError, read_body

_BODY: Final = BodyLimit(1024**2, advice="send the members of a group in parts, with PATCH")
_SCIM_TYPES: Final = frozenset(
    [
        *("invalidFilter", "tooMany", "uniqueness", "mutability", "invalidSyntax"),
        *("invalidPath", "noTarget", "invalidValue", "invalidVers", "sensitive"),
    ]
)


class ScimAuthentication(KeyAuthentication):
    prefix = PREFIX
    missing = "Send a SCIM token of the identity provider: Authorization: Bearer <token>"
    unknown = "Invalid SCIM token: it is unknown, revoked, or of another identity provider."

    def credential_of(self, plaintext: str) -> ScimCredential | None:
        return authenticate_scim_token(plaintext)


class ScimThrottle(AccountThrottle):
    scope = "scim"
    setting = "SCIM_RATE_LIMIT_PER_MINUTE"


class ScimRenderer(MsgspecRenderer):
    media_type = MEDIA_TYPE


class ScimEndpoint(KeyEndpoint):
    authentication_classes = [ScimAuthentication]
    throttle_classes = [ScimThrottle]
    renderer_classes = [ScimRenderer]

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        self._around = ExitStack()

    def perform_authentication(self, request: Request) -> None:
        """Authenticate and enter the account's scope until the response. Raises AuthenticationFailed for a token of
        another provider."""
        super().perform_authentication(request)
        if str(request.auth.provider.public_id) != str(self.kwargs["provider_id"]):
            raise AuthenticationFailed(ScimAuthentication.unknown, "unauthorized")
        note_use(request.auth)
        self._around.enter_context(account_scope(request.auth.account))
        self._around.enter_context(POLICY)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        self._around.close()
        return super().finalize_response(request, response, *args, **kwargs)

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response]:
        return scim_exception_handler


def json_body(request: Request) -> dict[str, Any]:
    """Return the body as a JSON object. Raises PushError, 400 or 413, if it is no object or too large."""
    content = read_body(request.stream, _BODY)
    try:
        value = msgspec.json.decode(content)
    except INVALID_JSON as error:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalidSyntax", "The body must be JSON.") from error
    if not isinstance(value, dict):
        raise PushError(HTTPStatus.BAD_REQUEST, "invalidSyntax", "The body must be a JSON object.")
    if b"\\u0000" in content:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalidValue", "Null characters cannot be stored.")
    return value


def scim_exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Return every error as a SCIM error message."""
    response = exception_handler(_refusal(error) or error, context)
    body = response.data["error"]
    answer = {"schemas": [ERROR_SCHEMA], "status": str(response.status_code), "detail": body["message"]}
    response.data = answer | ({"scimType": body["code"]} if body["code"] in _SCIM_TYPES else {})
    response.content_type = MEDIA_TYPE
    return response


def _refusal(error: Exception) -> PushError | None:
    match error:
        case ScimRefusal():
            return PushError(error.status, error.scim_type or "scim", error.message)
        case UserError():
            return PushError(HTTPStatus.BAD_REQUEST, "invalidValue", error.message)
        case SCIMException():
            return PushError(HTTPStatus(error.status), error.scim_type or "scim", error.detail)
        case pydantic.ValidationError():
            return _of_library(Error.from_validation_errors(error)[0])
        case ValidationError():
            return PushError(HTTPStatus.BAD_REQUEST, "invalidValue", " ".join(error.messages))
        case RecursionError():
            return PushError(HTTPStatus.BAD_REQUEST, "invalidSyntax", "The request is nested too deeply.")
    return None


def _of_library(error: Error) -> PushError:
    status = HTTPStatus(error.status or HTTPStatus.BAD_REQUEST)
    return PushError(status, error.scim_type or "invalidSyntax", error.detail or "The body is invalid.")
