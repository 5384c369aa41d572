"""Errors of SCIM requests."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from finops.lib.errors import UserError

MEDIA_TYPE: Final = "application/scim+json"
ERROR_SCHEMA: Final = "urn:ietf:params:scim:api:messages:2.0:Error"


class ScimRefusal(UserError):
    """A refused request. `scim_type` is a keyword of RFC 7644, 3.12, or empty; providers show the message in their
    provisioning log."""

    status = HTTPStatus.BAD_REQUEST
    scim_type = "invalidValue"

    def __init__(self, message: str, **options: Any) -> None:
        super().__init__(message, **options)


class ScimConflict(ScimRefusal):
    """The name or address is taken."""

    status = HTTPStatus.CONFLICT
    scim_type = "uniqueness"


class ScimForbidden(ScimRefusal):
    """The account does not allow a provider to do this."""

    status = HTTPStatus.FORBIDDEN
    scim_type = ""


class UnknownScimResource(ScimRefusal):
    """The provider has no such resource."""

    status = HTTPStatus.NOT_FOUND
    scim_type = ""
