"""The CSV behind a link in an answer: the question is asked again, by the same credential, with the limits that it
has today."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Final

from finops.cost_access.reach import TOOLS
from finops.exchange_rates.display import display_scope
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import escape_hidden
from mcpserver import answer_links
from mcpserver.answer_links import AnswerLink, ExpiredLink
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.execution import call_transaction, display_of_arguments, outcome_of
from mcpserver.jsonrpc import Code, RpcError
from mcpserver.registry import CsvReader, Tool, ToolRegistry
from mcpserver.resources.resource import CSV, ResourceContent
from mcpserver.results import ToolOutcome

MAX_FILE_BYTES: Final = 5_000_000

LINE_END: Final = "\r\n"
NARROWER: Final = "Use fewer days, a filter, or a coarser granularity, and ask again."


def read(tools: ToolRegistry, uri: str, call: ToolCall, *, not_found: int) -> ResourceContent:
    """Return the CSV. Raises RpcError: with `not_found` for a link of another credential and for an expired link,
    else with the reason for which the question is refused today, or for a CSV of more than MAX_FILE_BYTES."""
    try:
        link = answer_links.parse(uri, call)
    except ExpiredLink as expired:
        message = "Resource not found. The link is older than 24 hours. Ask the question again."
        raise RpcError(not_found, message, data={"uri": uri}) from expired
    tool = tools.get(link.tool) if link else None
    csv = tool.csv if tool else None
    if link is None or tool is None or csv is None:
        message = "Resource not found. Links to answers are valid only for the credential that received them."
        raise RpcError(not_found, message, data={"uri": uri})
    name = f"{tool.name}.csv"
    outcome = outcome_of(name, call, lambda: _compute(tool, csv, link, call), advice=NARROWER)
    if outcome.is_error:
        code = Code.INTERNAL_ERROR if outcome.incident else Code.INVALID_PARAMS
        raise RpcError(code, outcome.text)
    return ResourceContent(name, CSV, outcome.answer.decode())


def _compute(tool: Tool, csv: CsvReader, link: AnswerLink, call: ToolCall) -> ToolOutcome:
    with ExitStack() as scopes:
        scopes.enter_context(clock.frozen(link.at))
        arguments, display = display_of_arguments(tool, link.arguments, call)
        decoded = decode_arguments(tool.arguments, arguments, tool=tool.name)
        is_within_limit = tool.name in TOOLS
        scopes.enter_context(call_transaction(call, read_only=True, is_within_limit=is_within_limit))
        if display is not None:
            scopes.enter_context(display_scope(display))
        return ToolOutcome(answer=_encode(csv(call, decoded).lines()))


def _encode(lines: Iterable[str]) -> bytes:
    """Return lines as UTF-8, each row in one line with hidden characters escaped. Raises UserError for too many bytes."""
    encoded, size = [], 0
    for line in lines:
        visible = escape_hidden(line.removesuffix(LINE_END)).encode() + LINE_END.encode()
        size += len(visible)
        if size > MAX_FILE_BYTES:
            raise UserError(f"The CSV has more than {MAX_FILE_BYTES // 1_000_000} MB. {NARROWER}")
        encoded.append(visible)
    return b"".join(encoded)
