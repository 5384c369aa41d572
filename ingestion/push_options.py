"""Options of a push besides its body: `Idempotency-Key`, `?dry_run`."""

from __future__ import annotations

from http import HTTPStatus

from rest_framework.request import Request

from finops.lib.push_body import PushError
from ingestion.services.idempotency import KEY_RULE, is_key

_FLAGS = {"false": False, "0": False, "true": True, "1": True}


def idempotency_key_of(request: Request) -> str:
    """Return the key; empty without one. Raises PushError, 400, for an invalid one."""
    key: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return ""
    if not is_key(key):
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_idempotency_key", KEY_RULE)
    return key


def dry_run_of(request: Request) -> bool:
    """Return the flag. Raises PushError, 400, for a value other than true and false."""
    # `?dry_run` without a value is an error: its sender expects a dry run, so the events must not be stored.
    flag = request.query_params.get("dry_run", "false").lower()
    if flag not in _FLAGS:
        raise PushError(HTTPStatus.BAD_REQUEST, "invalid_parameter", "dry_run must be true or false.")
    return _FLAGS[flag]
