"""/api/costs: a billing month of FOCUS rows pushed by a program, with the key of a cost source."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from django.conf import settings
from django.db import connection
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_endpoint import AccountThrottle, KeyAuthentication, KeyEndpoint, unavailable_error
from accounts.scoping import account_scope
from finops.connections.models import CostPush, month_name
from finops.connections.queries import newest_pushes, push_note, push_status, push_with_parts
from finops.connections.schemas import PushTotal
from finops.connections.services import pushes
from finops.connections.services.cost_keys import (
    PREFIX,
    CostCredential,
    RevokedCostKey,
    authenticate_cost_key,
)
from finops.lib.disk import LowDisk
from finops.lib.errors import INVALID_JSON, UserError
from finops.lib.periods import month_from_text
from finops.lib.push_body import BodyLimit, PushError, body_chunks, read_body

LOW_DISK_SECONDS: Final = 60
_SMALL: Final = BodyLimit(16 * 1024, advice="this is a small JSON object")

T = TypeVar("T")


class CostKeyAuthentication(KeyAuthentication):
    prefix = PREFIX
    missing = "Send the key of a cost source: Authorization: Bearer <cost key>"
    unknown = "Invalid cost key: it is unknown, revoked or replaced."

    def credential_of(self, plaintext: str) -> CostCredential | None:
        return authenticate_cost_key(plaintext)


class CostThrottle(AccountThrottle):
    scope = "costs"
    setting = "COST_PUSH_RATE_LIMIT_PER_MINUTE"


class CostPartAnswer(msgspec.Struct, frozen=True):
    number: int
    format: str
    bytes: int


class CostPushAnswer(msgspec.Struct, frozen=True):
    """A push as returned to its program. `rows` is null until it is done; totals are exact decimals as text."""

    id: str
    month: str
    status: str
    parts: list[CostPartAnswer] | msgspec.UnsetType
    """Omitted in the list of pushes."""
    rows: int | None
    totals: list[PushTotal]
    error: str | None
    note: str | msgspec.UnsetType | None
    """Omitted in the list of pushes."""
    created_at: datetime
    expires_at: datetime | None
    committed_at: datetime | None
    finished_at: datetime | None


class NewPush(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    month: str


class CommitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    parts: int


class CostEndpoint(KeyEndpoint):
    authentication_classes = [CostKeyAuthentication]
    throttle_classes = [CostThrottle]

    def handle_exception(self, exc: Exception) -> Response:
        response: Response = super().handle_exception(_refusal(exc) or exc)
        return response


class Pushes(CostEndpoint):
    http_method_names = ["get", "post"]

    def get(self, request: Request) -> Response:
        rows = newest_pushes(account=request.auth.account, source_id=request.auth.source_id)
        return Response({"pushes": [_answer(row, msgspec.UNSET) for row in rows]})

    def post(self, request: Request) -> Response:
        month = _month(_json(request, NewPush).month)
        push = pushes.open_push(credential=request.auth, month=month)
        return Response(_answer(push, [], None), status=HTTPStatus.CREATED)


class OnePush(CostEndpoint):
    http_method_names = ["get", "delete"]

    def get(self, request: Request, push_id: str) -> Response:
        return Response(_current(request, _id(push_id)))

    def delete(self, request: Request, push_id: str) -> Response:
        push = pushes.cancel_push(credential=request.auth, push_id=_id(push_id))
        return Response(_current(request, push.public_id))


class Part(CostEndpoint):
    http_method_names = ["put"]

    def put(self, request: Request, push_id: str, number: str) -> Response:
        push = pushes.store_part(
            credential=request.auth,
            push_id=_id(push_id),
            number=_part_number(number),
            chunks=_chunks(request),
        )
        return Response(_current(request, push.public_id))


class Commit(CostEndpoint):
    http_method_names = ["post"]

    def post(self, request: Request, push_id: str) -> Response:
        """Start a push. Raises PushError, 400, for an invalid number of parts."""
        public_id, parts = _id(push_id), _json(request, CommitBody).parts
        if not 1 <= parts <= settings.COST_PUSH_MAX_PARTS:
            message = f'parts must be 1 to {settings.COST_PUSH_MAX_PARTS:,}. To empty the month, send one part {{"rows": []}}.'
            raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", message)
        push = pushes.commit_push(credential=request.auth, push_id=public_id, parts=parts)
        return Response(_current(request, push.public_id), status=HTTPStatus.ACCEPTED)


class Month(CostEndpoint):
    http_method_names = ["post"]

    def post(self, request: Request, month: str) -> Response:
        push = pushes.push_month(credential=request.auth, month=_month(month), chunks=_chunks(request))
        return Response(_current(request, push.public_id), status=HTTPStatus.ACCEPTED)


class NoPath(CostEndpoint):
    """All other paths. A request without a key gets 401 first."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raises PushError, 404, after what every endpoint raises."""
        super().initial(request, *args, **kwargs)
        message = "Unknown path. See /api/costs/openapi.json."
        raise PushError(HTTPStatus.NOT_FOUND, "not_found", message)


def _refusal(error: Exception) -> Exception | None:
    """The response to an error of the services; None for other errors."""
    match error:
        case RevokedCostKey():
            message = "The key was revoked or replaced during this request; nothing was stored."
            revoked: Exception = AuthenticationFailed(message, "unauthorized")
            return revoked
        case pushes.UnknownPush():
            return PushError(HTTPStatus.NOT_FOUND, "not_found", "The source has no push with this ID.")
        case LowDisk():
            return unavailable_error(error.message, LOW_DISK_SECONDS)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return unavailable_error("The disk is full; nothing was stored.", LOW_DISK_SECONDS)
        case pushes.PushConflict():
            return PushError(HTTPStatus.CONFLICT, "conflict", error.message)
        case pushes.PushTooLarge():
            return PushError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "push_too_large", error.message)
        case UserError():
            return PushError(HTTPStatus.BAD_REQUEST, "invalid_body", error.message)
    return None


def _current(request: Request, public_id: uuid.UUID) -> CostPushAnswer:
    """The current state of the push."""
    credential = request.auth
    push = push_with_parts(account=credential.account, source_id=credential.source_id, public_id=public_id)
    if push is None:
        raise pushes.UnknownPush
    parts = [CostPartAnswer(part.number, part.format, part.bytes) for part in push.parts.all()]
    with account_scope(credential.account):
        note = push_note(push) if push.committed_at is not None else ""
    return _answer(push, parts, note or None)


def _answer(
    push: CostPush,
    parts: list[CostPartAnswer] | msgspec.UnsetType,
    note: str | msgspec.UnsetType | None = msgspec.UNSET,
) -> CostPushAnswer:
    return CostPushAnswer(
        id=str(push.public_id),
        month=month_name(push.month),
        status=push_status(push),
        parts=parts,
        rows=push.rows,
        totals=msgspec.convert(push.totals, list[PushTotal]),
        error=push.error or None,
        note=note,
        created_at=push.created_at,
        expires_at=push.expires_at if push.committed_at is None else None,
        committed_at=push.committed_at,
        finished_at=push.finished_at,
    )


def _chunks(request: Request) -> Iterator[bytes]:
    """The body of a part, read without holding a database connection: a client may take minutes."""
    if not connection.in_atomic_block:
        connection.close()
    limit = BodyLimit(
        settings.COST_PUSH_MAX_PART_BYTES,
        advice="send the month in parts",
        ratio=1_100,  # rows of a bill are repetitive; the decompressed body goes to disk and is limited
    )
    return body_chunks(request.stream, limit)


def _json(request: Request, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(read_body(request.stream, _SMALL), type=type_)
    except INVALID_JSON as error:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_body", f"The body: {error}.") from error


def _month(text: str) -> date:
    try:
        return month_from_text(text)
    except ValueError as error:
        message = "month must be a month such as 2026-05."
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", message) from error


def _id(text: str) -> uuid.UUID:
    """Parse an id. Raises UnknownPush if it is not one."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise pushes.UnknownPush from error


def _part_number(text: str) -> int:
    most = settings.COST_PUSH_MAX_PARTS
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
    if not 1 <= number <= most:
        message = f"Parts are numbered from 1 to {most:,}."
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", message)
    return number
