"""The answer of a verification, for the tool and the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from finops.costs.queries.bill_versions import VersionLine
from finops.lib.answers import AccountAnswer, AccountRef
from finops.receipts import codes, figures
from finops.receipts.figures import FigureChange
from finops.receipts.restatements import BillRestatement
from mcpserver.context import ToolCall
from mcpserver.receipts import text
from mcpserver.receipts.verification import Verification, verify

PAGE = "verify-answer/"
MAX_FIGURES = 20


# outcome: see `verification.Outcome`. then, now: the first sentences. figures: the differences on the original bills, if there
# are any, else on today's bills.
class VerifiedAnswer(AccountAnswer, frozen=True, kw_only=True):
    warnings: list[str]
    hint: str
    console_url: str = ""
    outcome: str = ""
    receipt: str = ""
    tool: str = ""
    arguments: dict[str, Any] = {}
    answered_at: datetime | None = None
    then: str = ""
    now: str = ""
    figures: list[FigureChange] = []
    restated: list[BillRestatement] = []
    lines: list[VersionLine] = []
    changed_settings: list[str] = []
    truncated: str = ""


def verified_answer(call: ToolCall, receipt: str) -> VerifiedAnswer:
    """Verify a receipt inside the call's transaction. Cost and errors are those of `verify`; without a receipt the
    answer explains receipts."""
    account = AccountRef(slug=call.account.slug, name=call.account.name)
    if not receipt.strip():
        return VerifiedAnswer(
            account=account,
            summary="Nothing verified: receipt is empty.",
            warnings=[],
            hint="Answers about cost have a receipt in the field receipt.",
            console_url=call.console_url(PAGE),
        )
    verification = verify(call, receipt)
    differing = _differing(verification)
    return VerifiedAnswer(
        account=account,
        summary=text.summary(verification),
        warnings=text.warnings(verification),
        hint="Computed again with the arguments and the time of the answer.",
        console_url=call.console_url(PAGE, {"receipt": codes.shown(verification.receipt.code)}),
        outcome=verification.outcome,
        receipt=codes.shown(verification.receipt.code),
        tool=verification.receipt.tool,
        arguments=verification.arguments,
        answered_at=verification.receipt.at,
        then=verification.receipt.summary,
        now=verification.now.summary,
        figures=differing[:MAX_FIGURES],
        restated=list(verification.restatements.months),
        lines=list(verification.restatements.lines),
        changed_settings=text.changed_settings(verification),
        truncated=f"{MAX_FIGURES} of {len(differing)} figures that differ."
        if len(differing) > MAX_FIGURES
        else "",
    )


def _differing(verification: Verification) -> list[FigureChange]:
    again = verification.now.figures
    if verification.outcome == "different":
        again = verification.then.figures
    return [] if again is None else figures.changes(verification.figures, again)
