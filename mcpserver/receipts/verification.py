"""Verifies an answer: runs the same tool with the same arguments, clock and bills, and then with today's bills (ADR
0080)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from finops.exchange_rates.display import display_scope
from finops.lake.engine.answer_inputs import AnswerInputs, record_inputs
from finops.lake.engine.conversion import currency_scope
from finops.lake.engine.shared_results import engine_version
from finops.lake.storage.manifest import LiveSegment, Manifest, RemovedSegments, cost_manifest, kept_manifest
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import quote
from finops.receipts import codes, queries
from finops.receipts.figures import have_same_digits
from finops.receipts.models import AnswerReceipt
from finops.receipts.restatements import Restatements, months_of, restatements
from mcpserver.coerce import decode_arguments
from mcpserver.context import ToolCall
from mcpserver.execution import display_of_arguments
from mcpserver.receipts.issue import cost_access_digest
from mcpserver.registry import Tool, registry
from mcpserver.results import figures

Outcome = Literal["same", "restated", "different", "unproven"]
"""same: equal figures. restated: equal on the original bills, different on today's. different: different on the
original bills too. unproven: the original bills or the receipt have changed."""


@dataclass(frozen=True)
class Rerun:
    """The result of a rerun. `figures` is None without one; then `problem` says why, or `removed` names the bills
    that were deleted."""

    figures: dict[str, Any] | None = None
    summary: str = ""
    inputs: AnswerInputs | None = None
    problem: str = ""
    removed: Sequence[LiveSegment] = ()


@dataclass(frozen=True)
class Verification:
    receipt: AnswerReceipt
    arguments: dict[str, Any]
    figures: dict[str, Any]
    """The figures of the original answer."""
    is_intact: bool
    then: Rerun
    """The rerun on the original bills."""
    now: Rerun
    """The rerun on today's bills."""
    removed_months: Sequence[str]
    restatements: Restatements
    changes: Sequence[queries.SettingChange]
    is_limited: bool

    @property
    def is_same_then(self) -> bool:
        return self.then.figures is not None and have_same_digits(self.figures, self.then.figures)

    @property
    def is_same_now(self) -> bool:
        return self.now.figures is not None and have_same_digits(self.figures, self.now.figures)

    @property
    def outcome(self) -> Outcome:
        if not self.is_intact:
            return "unproven"
        if self.then.figures is None:
            return "same" if self.is_same_now else "unproven"
        if not self.is_same_then:
            return "different"
        return "same" if self.is_same_now else "restated"

    @property
    def other_engine(self) -> bool:
        return self.receipt.engine != engine_version()

    @property
    def other_rates(self) -> bool:
        """Whether the exchange rates of the same days have changed."""
        inputs = self.then.inputs or self.now.inputs
        return inputs is not None and inputs.rates != self.receipt.rates


def verify(call: ToolCall, text: str) -> Verification:
    """Verify a receipt inside the call's transaction. Costs up to twice what the tool costs, and one scan of both
    versions of each restated month. Raises UserError for a text that is no receipt of the account and of the call's
    cost access; the error is the same if another account has the receipt."""
    receipt = _find(call, text)
    arguments = msgspec.json.decode(receipt.arguments)
    tool = registry.get(receipt.tool)
    manifest = queries.manifest_of_then(receipt)
    then = _rerun(call, tool, arguments, receipt, manifest)
    now = _rerun(call, tool, arguments, receipt, None)
    days = (receipt.first_day, receipt.last_day) if receipt.first_day and receipt.last_day else None
    is_limited = bool(call.cost_access_limits)
    return Verification(
        receipt=receipt,
        arguments=arguments,
        figures=queries.figures_of(receipt),
        is_intact=queries.is_intact(receipt),
        then=then,
        now=now,
        # The sums and lines of whole bills include cost of other readers.
        removed_months=[] if is_limited else months_of(call.account, then.removed),
        restatements=Restatements()
        if is_limited
        else restatements(call.account, manifest, cost_manifest(call.account), days),
        changes=queries.changed_settings(receipt),
        is_limited=is_limited,
    )


def _find(call: ToolCall, text: str) -> AnswerReceipt:
    code = codes.parse(text)
    if code is None:
        raise UserError(
            f"receipt: {quote(text)} is no receipt. Write the 16 letters of the field receipt of an answer.",
            field="receipt",
            value=text,
        )
    receipt = queries.find_receipt(call.account, code, cost_access_digest(call))
    if receipt is None:
        days = queries.retention(call.account).days
        raise UserError(
            f"receipt: unknown receipt {codes.shown(code)}. Receipts are of one account and cost access, stored within a "
            f"second and kept for {days} days. Ask the question again for a new one.",
            field="receipt",
            value=text,
        )
    return receipt


def _rerun(
    call: ToolCall,
    tool: Tool | None,
    arguments: dict[str, Any],
    receipt: AnswerReceipt,
    manifest: Manifest | None,
) -> Rerun:
    if tool is None:
        return Rerun(problem=f"There is no tool {receipt.tool} any more.")
    with ExitStack() as scopes:
        scopes.enter_context(clock.frozen(receipt.at))
        scopes.enter_context(currency_scope(None))
        inputs = scopes.enter_context(record_inputs())
        if manifest is not None:
            scopes.enter_context(kept_manifest(manifest))
        try:
            tool_arguments, display = display_of_arguments(tool, arguments, call)
            if display is not None:
                scopes.enter_context(display_scope(display))
            answer = tool.handler(call, decode_arguments(tool.arguments, tool_arguments, tool=tool.name))
        except RemovedSegments as removed:
            return Rerun(removed=removed.segments)
        except msgspec.ValidationError:
            return Rerun(problem="What was stored of sources is of another version of the console.")
        except UserError as problem:
            return Rerun(problem=problem.message)
    return Rerun(figures(answer), str(getattr(answer, "summary", "")), inputs)
