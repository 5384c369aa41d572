"""What pushes of usage and of change events have in common besides their bodies: `Idempotency-Key`, `?dry_run`, and refusals
at the commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from finops.lib.push_body import PushError
from ingestion.services.accept import RevokedKeyError
from ingestion.services.idempotency import KEY_RULE, IdempotencyKeyConflict, Retry, is_key

_FLAGS = {"false": False, "0": False, "true": True, "1": True}


def retry_of(request: Request, content: bytes) -> Retry | None:
    """Return what identifies a retry of this push by its source: the Idempotency-Key and the content of the body; None
    without a key. Raises PushError, 400, for an invalid one."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not is_key(key):
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_idempotency_key", KEY_RULE)
    return Retry.of(f"{request.auth.kind} {request.auth.source_id}", key, content)


def dry_run_of(request: Request) -> bool:
    """Return the flag. Raises PushError, 400, for a value other than true and false."""
    # `?dry_run` without a value is an error: its sender expects a dry run, so the events must not be stored.
    flag = request.query_params.get("dry_run", "false").lower()
    if flag not in _FLAGS:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", "dry_run must be true or false.")
    return _FLAGS[flag]


@contextmanager
def refusals() -> Iterator[None]:
    """Raise AuthenticationFailed (401) for a key that was revoked during its push, PushError (422) for an Idempotency-Key
    that was used with another body."""
    try:
        yield
    except RevokedKeyError as error:
        message = "The key was revoked or replaced during this request; nothing was stored."
        raise AuthenticationFailed(message, "unauthorized") from error
    except IdempotencyKeyConflict as error:
        message = "This Idempotency-Key was sent with another body in the last 24 hours; nothing was stored."
        raise PushError(HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused", message) from error
