"""What a SCIM request is refused with."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from finops.lib.errors import UserError


class ScimRefusal(UserError):
    """`scim_type` is a keyword of RFC 7644, 3.12, or empty; the message stands in the provider's provisioning log."""

    status = HTTPStatus.BAD_REQUEST
    scim_type = "invalidValue"

    def __init__(self, message: str, **options: Any) -> None:
        super().__init__(message, **options)


class ScimConflict(ScimRefusal):
    """Somebody else has the name or address."""

    status = HTTPStatus.CONFLICT
    scim_type = "uniqueness"


class ScimForbidden(ScimRefusal):
    """The account does not let a provider do this."""

    status = HTTPStatus.FORBIDDEN
    scim_type = ""


class UnknownScimResource(ScimRefusal):
    """The provider has no such resource."""

    status = HTTPStatus.NOT_FOUND
    scim_type = ""
