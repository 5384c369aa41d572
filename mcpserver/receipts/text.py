"""Sentences of a verification."""

from __future__ import annotations

from decimal import Decimal

from finops.costs.queries.closed_months import signed_amount
from finops.lib.sentences import join_with_and, money, quote
from finops.receipts.queries import SettingChange
from finops.receipts.restatements import BillRestatement
from mcpserver.receipts.verification import Verification

SHOWN_MONTHS = 3
SHOWN_CHANGES = 5


def summary(verification: Verification) -> str:
    day = f"{verification.receipt.at:%Y-%m-%d}"
    if not verification.is_intact:
        return f"Not proven: the stored receipt of {day} does not match its code. The row or SECRET_KEY was changed."
    if verification.then.figures is None:
        return _without_bills_of_then(verification, day)
    if not verification.is_same_then:
        return f"Different figures than on {day} on that day's bills{_because(_difference_reasons(verification))}."
    if verification.now.figures is None:
        return f"Same figures as on {day} on that day's bills; current bills give no answer: {verification.now.problem}"
    if verification.is_same_now:
        return f"Same figures as on {day}, on that day's bills and on current bills.{_restatement_note(verification)}"
    return f"Same figures as on {day} on that day's bills; current bills give others{_because(_restatement_reasons(verification))}."


def _without_bills_of_then(verification: Verification, day: str) -> str:
    today = {
        (True, True): "Current bills give the same figures.",
        (True, False): "Current bills give other figures.",
    }.get((verification.now.figures is not None, verification.is_same_now), "Current bills give no answer.")
    if verification.then.removed:
        of = f" of {join_with_and(list(verification.removed_months))}" if verification.removed_months else ""
        return f"No longer proven on the bills of {day}: those{of} were removed. {today}"
    return f"Not computed again on the bills of {day}: {verification.then.problem} {today}"


def _because(reasons: list[str]) -> str:
    return f": {'; '.join(reasons)}" if reasons else ""


def _difference_reasons(verification: Verification) -> list[str]:
    reasons = changed_settings(verification)
    if verification.other_rates:
        reasons.append("other exchange rates for the same days")
    if verification.receipt.has_usage:
        reasons.append("usage events that arrived since count")
    if verification.other_engine:
        reasons.append(f"computed then by {verification.receipt.engine}")
    return reasons


def _restatement_reasons(verification: Verification) -> list[str]:
    if verification.is_limited:
        return ["bills or settings changed since, which are not listed with limited cost access"]
    months = [restatement_text(each) for each in verification.restatements.months if _is_changed(each)]
    more = len(months) - SHOWN_MONTHS + verification.restatements.left_out
    reasons = months[:SHOWN_MONTHS] + ([f"{more} more months"] if len(months) > SHOWN_MONTHS else [])
    return [*reasons, *changed_settings(verification)] or ["sources have delivered more days since"]


def _restatement_note(verification: Verification) -> str:
    months = [each for each in verification.restatements.months if _is_changed(each)]
    if not months:
        return ""
    return f" Restated since, without a change of these figures: {'; '.join(map(restatement_text, months[:SHOWN_MONTHS]))}."


def _is_changed(month: BillRestatement) -> bool:
    return bool(month.reason or month.billed_change or month.amortized_change)


def restatement_text(month: BillRestatement) -> str:
    """Return `'AWS' restated 2026-09 by +12.30 USD (1,234.56 USD then, 1,246.86 USD now)`; amortized amounts if only
    these differ."""
    name = f"{quote(month.source)} restated {month.month}"
    if month.billed_change:
        return (
            f"{name} by {_change(month.billed_change, month.billed_then, month.billed_now, month.currency)}"
        )
    if month.amortized_change:
        amounts = _change(month.amortized_change, month.amortized_then, month.amortized_now, month.currency)
        return f"{name} by {amounts} amortized"
    return (
        f"{name}, by how much is not known: {month.reason[0].lower()}{month.reason[1:-1]}"
        if month.reason
        else name
    )


def _change(change: Decimal, then: Decimal | None, now: Decimal | None, currency: str) -> str:
    then, now = then or Decimal(0), now or Decimal(0)
    return f"{signed_amount(change, currency)} ({money(then, currency)} then, {money(now, currency)} now)"


def changed_settings(verification: Verification) -> list[str]:
    """Return `cost tag 'team' changed on 2026-10-05` for each setting, newest first."""
    texts = [_setting_text(each) for each in verification.changes[:SHOWN_CHANGES]]
    more = len(verification.changes) - SHOWN_CHANGES
    return [*texts, f"{more} more settings changed"] if more > 0 else texts


def _setting_text(change: SettingChange) -> str:
    name = f" {quote(change.name)}" if change.name and change.name.lower() != change.noun else ""
    return f"{change.noun}{name} changed on {change.day}"


def warnings(verification: Verification) -> list[str]:
    notes = []
    if verification.is_limited:
        notes.append("Restated bills are not listed with limited cost access.")
    if verification.restatements.left_out:
        notes.append(f"{verification.restatements.left_out} more restated months are not listed.")
    if verification.receipt.has_usage:
        notes.append("Usage events count as they are today: only bills are kept.")
    if verification.other_engine:
        notes.append(f"Computed then by {verification.receipt.engine}.")
    return notes
