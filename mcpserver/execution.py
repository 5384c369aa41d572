"""Runs one tool: decodes arguments, opens the transaction, and returns an answer or an error that says what to
correct."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled
from psycopg.pq import ExecStatus, TransactionStatus

from accounts.scoping import account_scope
from finops.cost_access.reach import TOOLS, instead_of
from finops.exchange_rates.answers import conversion_of
from finops.exchange_rates.display import Display, display_of, display_scope
from finops.lake.engine.answer_inputs import record_inputs
from finops.lake.engine.routing import cluster_sentence, record_routes
from finops.lib.cost_access import LimitedCostAccess, cost_access
from finops.lib.errors import UserError
from mcpserver import cached_answers
from mcpserver.answer_links import link_of
from mcpserver.cached_answers import EncodedAnswer
from mcpserver.coerce import decode_arguments, is_empty
from mcpserver.context import ToolCall
from mcpserver.receipts.issue import currency_argument, receipt_of
from mcpserver.registry import DISPLAY_CURRENCY, Tool, ToolAccess
from mcpserver.results import MAX_ANSWER_BYTES, ToolOutcome, encode_to_size, new_incident

log = logging.getLogger(__name__)


def run_tool(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> ToolOutcome:
    """The outcome of a call; never raises. An unexpected error is logged under the incident number in the outcome."""
    return outcome_of(tool.name, call, lambda: _run(tool, arguments, call))


def outcome_of(
    name: str,
    call: ToolCall,
    run: Callable[[], ToolOutcome],
    *,
    advice: str = "Use a shorter period or less detail.",
) -> ToolOutcome:
    """The result of `run`, or the problem it raises; never raises. `name` is the call's in messages and log, `advice`
    what to do after a timeout."""
    try:
        return run()
    except UserError as problem:
        is_refused = isinstance(problem, LimitedCostAccess)
        where = f" Its page: {call.console_url(problem.page)}" if problem.page else ""
        return ToolOutcome(
            problem=f"{problem.message}{where}",
            field=problem.field,
            is_refused=is_refused,
            value=str(problem.value or ""),
            choices=problem.choices,
        )
    except ValidationError as validation_error:
        return ToolOutcome(problem=_validation_text(validation_error))
    except Exception as error:
        if isinstance(error, OperationalError) and isinstance(error.__cause__, QueryCanceled):
            return ToolOutcome(problem=f"{name} timed out. {advice}")
        incident = new_incident()
        log.exception("incident %s: tool %s of account %s failed", incident, name, call.account.pk)
        return ToolOutcome(
            problem=f"{name} failed with a server error (incident {incident}). Retry once.",
            incident=incident,
        )


def _run(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> ToolOutcome:
    if call.cost_access_limits and tool.name not in TOOLS:
        # Before decoding the arguments, because an error may list valid names.
        raise LimitedCostAccess(instead_of(tool.name))
    sent_arguments = arguments
    arguments, display = display_of_arguments(tool, arguments, call)
    decoded = decode_arguments(tool.arguments, arguments, tool=tool.name)
    with record_routes() as routes, record_inputs() as inputs:
        lookup = cached_answers.lookup_of(tool, sent_arguments, call) if display is None else None
        if lookup is not None and (cached := lookup.find()) is not None:
            return _outcome(tool, cached, sent_arguments, display, call)
        conversion = None
        with (
            call_transaction(
                call, read_only=tool.access is ToolAccess.READ, is_within_limit=tool.name in TOOLS
            ),
            cached_answers.bind_sources(lookup) as is_cacheable,
        ):
            if display is None:
                answer = tool.handler(call, decoded)
            else:
                with display_scope(display):
                    answer = tool.handler(call, decoded)
                    conversion = conversion_of(display)
    if first := call.limit_sentence(tool.name):
        answer = msgspec.structs.replace(answer, summary=f"{first} {getattr(answer, 'summary', '')}".strip())
    if last := cluster_sentence(routes):
        answer = msgspec.structs.replace(answer, summary=f"{getattr(answer, 'summary', '')} {last}".strip())
    receipt = receipt_of(tool, sent_arguments, display, call, inputs, answer) if tool.has_receipt else None
    encoded = EncodedAnswer(
        answer=encode_to_size(answer, MAX_ANSWER_BYTES, conversion, receipt),
        console_url=getattr(answer, "console_url", ""),
        is_truncated=bool(getattr(answer, "truncated", False)),
        receipt=receipt.code if receipt else "",
    )
    outcome = _outcome(tool, encoded, sent_arguments, display, call)
    if lookup is not None and is_cacheable() and receipt and not last and not outcome.is_error:
        lookup.store(encoded)
    return outcome


def _outcome(
    tool: Tool,
    encoded: EncodedAnswer,
    arguments: Mapping[str, Any],
    display: Display | None,
    call: ToolCall,
) -> ToolOutcome:
    """The outcome of an answer, with a link to its CSV for the call's credential if it leaves out rows."""
    csv_uri = ""
    if tool.csv is not None and encoded.is_truncated:
        csv_uri = link_of(tool.name, {**arguments, **currency_argument(tool, display)}, call)
    return _limit_answer_size(
        tool, ToolOutcome(answer=encoded.answer, console_url=encoded.console_url, csv_uri=csv_uri)
    )


def display_of_arguments(
    tool: Tool, arguments: Mapping[str, Any], call: ToolCall
) -> tuple[Mapping[str, Any], Display | None]:
    """The arguments without `display_currency`, and the currency of the answer; None: no conversion. Raises UserError
    for an unknown currency."""
    if not tool.converts:
        return arguments, None
    choice = arguments.get(DISPLAY_CURRENCY)
    choice = None if is_empty(choice) else choice
    if not choice and not call.account.display_currency:
        return {name: value for name, value in arguments.items() if name != DISPLAY_CURRENCY}, None
    if choice is not None and not isinstance(choice, str):
        raise UserError(f"{DISPLAY_CURRENCY}: write a code such as EUR, or own.", field=DISPLAY_CURRENCY)
    display = display_of(call.account, choice or "")
    tool_arguments = {name: value for name, value in arguments.items() if name != DISPLAY_CURRENCY}
    return tool_arguments, display if display.currency else None


def _validation_text(validation_error: ValidationError) -> str:
    """The errors of a model or database constraint by field: arguments have the names of its columns."""
    if not hasattr(validation_error, "error_dict"):
        return " ".join(validation_error.messages)
    return " ".join(
        " ".join(problems) if name == NON_FIELD_ERRORS else f"{name}: {' '.join(problems)}"
        for name, problems in validation_error.message_dict.items()
    )


@contextmanager
def call_transaction(call: ToolCall, *, read_only: bool, is_within_limit: bool = False) -> Iterator[None]:
    """Set the call's account and cost access limit, in one transaction that ends with the call's deadline.

    Raises LimitedCostAccess for a reader with a limit, unless the code inside `is_within_limit`, that is, is proven
    to stay within it.
    """
    if call.cost_access_limits and not is_within_limit:
        raise LimitedCostAccess
    limit = call.cost_limit
    with account_scope(call.account), cost_access(limit), transaction.atomic():
        _limit_transaction(read_only=read_only, seconds=call.remaining_seconds)
        yield


def _limit_transaction(*, read_only: bool, seconds: float) -> None:
    """Make PostgreSQL refuse writes of a read tool, and cancel a statement that outlives the call.

    Called first in a transaction, before psycopg has sent its BEGIN: all of it is then one round trip instead of two.
    """
    limits = f"SET LOCAL statement_timeout = {max(1, int(seconds * 1000))}"
    if read_only:
        limits = f"SET TRANSACTION READ ONLY; {limits}"
    connection.ensure_connection()
    driver: psycopg.Connection[Any] = connection.connection
    if driver.info.transaction_status is not TransactionStatus.IDLE:
        with connection.cursor() as cursor:
            cursor.execute(limits)
        return
    with connection.wrap_database_errors:
        result = driver.pgconn.exec_(f"BEGIN; {limits}".encode())
        if result.status != ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(result, encoding="utf-8")


def _limit_answer_size(tool: Tool, outcome: ToolOutcome) -> ToolOutcome:
    if len(outcome.answer) > MAX_ANSWER_BYTES:
        log.warning(
            "an answer of %s has %d bytes, more than %d", tool.name, len(outcome.answer), MAX_ANSWER_BYTES
        )
        return ToolOutcome(problem=f"The answer of {tool.name} exceeds 25 KB. Use fewer rows or days.")
    return outcome
