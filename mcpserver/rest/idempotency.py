"""Idempotency-Key of write tools: the same key and call of one credential within 24 hours gets the first response again, and
runs once.

Responses are stored like the responses to pushes (ingestion.services.idempotency), in the transaction of the write. A
refused call stores nothing, so that a client can correct it and send it again with the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """Return the outcome of `run`, or of the first call with the key, and headers that tell which. `params` are the
    tool's `name` and `arguments`, as in `body`.

    Raises HttpError: 400 for an invalid key, 422 for the key of another call, 409 while its first call is in
    progress. Cost: two statements more than the call, two in all for a replay.
    """
    if not idempotency.is_key(key):
        raise HttpError(HTTPStatus.BAD_REQUEST, idempotency.KEY_RULE, body=body)
    sender = f"{call.credential.kind} {call.credential.id}"
    retry = Retry.of(sender, key, params["name"].encode() + b"\n" + body)
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
    """Return the first response; the call is recorded in Assistant activity like any other."""
    with CallRecorder(CallMethod.API, call, params["name"], params["arguments"]) as recorder:
        recorder.registered_name = params["name"]
        return recorder.outcome(ToolOutcome(answer=receipt.body))
