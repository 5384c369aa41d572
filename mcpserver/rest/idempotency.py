"""Idempotency-Key of write tools: the same key and call within 24 hours gets the first answer again, and is run once.

Kept as the answers to pushes are (ingestion.services.idempotency), in the transaction of the write. A call that is refused
keeps nothing: it can be corrected and sent again under its key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from finops.activity.models import CallMethod
from ingestion.services import idempotency
from ingestion.services.idempotency import IdempotencyKeyConflict, Receipt, Retry
from mcpserver.call_recorder import CallRecorder
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction
from mcpserver.http_request import HttpError
from mcpserver.results import ToolOutcome

HEADER: Final = "Idempotency-Key"
RETRY_SECONDS: Final = 5


def run_once(
    call: ToolCall, key: str, params: Mapping[str, Any], body: bytes, run: Callable[[], ToolOutcome]
) -> tuple[ToolOutcome, dict[str, str]]:
    """The outcome of `run`, or of the call that came first under the key, and the headers that say which. `params` are
    the tool's `name` and `arguments`, as `body` has them.

    Raises HttpError: 400 for a key that is none, 422 for one of another call, 409 while its first call is under way.
    Cost: two statements more than the call, two in all for a replay.
    """
    if not idempotency.is_key(key):
        raise HttpError(HTTPStatus.BAD_REQUEST, idempotency.KEY_RULE, body=body)
    retry = Retry.of(_stored_key(key), params["name"].encode() + b"\n" + body)
    try:
        with call_transaction(call, read_only=False):
            if receipt := idempotency.claim(account_id=call.account.pk, retry=retry):
                return _replay(call, params, receipt), receipt.headers
            outcome = run()
            if outcome.is_error:
                transaction.set_rollback(True)
            else:
                receipt = Receipt(outcome.answer, {})
                idempotency.store_answer(account_id=call.account.pk, retry=retry, receipt=receipt)
            return outcome, {}
    except IdempotencyKeyConflict as error:
        message = f"This {HEADER} was sent with another call in the last 24 hours. Nothing was changed. Use a new key."
        raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, message, body=body) from error
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        message = (
            f"The first call with this {HEADER} is not finished. Send it again in {RETRY_SECONDS} seconds."
        )
        raise HttpError(
            HTTPStatus.CONFLICT, message, {"Retry-After": str(RETRY_SECONDS)}, body=body
        ) from error


def _replay(call: ToolCall, params: Mapping[str, Any], receipt: Receipt) -> ToolOutcome:
    """The first answer; the call is in Assistant activity as every other."""
    with CallRecorder(CallMethod.API, call, params["name"], params["arguments"]) as recorder:
        recorder.registered_name = params["name"]
        return recorder.outcome(ToolOutcome(answer=receipt.body))


def _stored_key(key: str) -> str:
    """Apart from the keys of pushes, which have no space; of 255 characters at most."""
    return f"api/v1 {sha256(key.encode()).hexdigest()}"
