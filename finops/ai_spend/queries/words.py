"""The first sentence of an answer about AI spend, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounts.models import Account
from finops.ai_spend.answers import AiSpendRow, AiSpendTotal, Estimate
from finops.ai_spend.queries.comparison import Sides
from finops.ai_spend.queries.costs import AiCosts
from finops.ai_spend.queries.estimates import tokens_without_price
from finops.costs.queries.spend_words import left_out_clause
from finops.lib.money import exact_sum
from finops.lib.sentences import change_percent_text, exact_number, join_with_and, money, quote
from finops.lib.usage_problems import clause_warnings, clauses_text
from ingestion.models import UsageMetric

NAMED = 3


@dataclass(frozen=True)
class UsageNotes:
    """What an estimate from usage lacks: the `reason` for none, tokens without a price, models with own prices."""

    reason: str
    unpriced: Decimal
    own_models: list[str]


def summary_of(
    account: Account,
    costs: AiCosts,
    totals: Sequence[AiSpendTotal],
    estimates: Sequence[Estimate],
    usage: UsageNotes,
    problems: Sequence[str],
) -> str:
    """The first sentence: billed AI cost of the range, the estimate from usage, their difference on the same days, and
    `problems` of sources of usage."""
    days = costs.plan.days
    when = f"from {days.start} to {days.end}"
    if not totals:
        billed = f"{quote(account.name)} has no AI spend {when}"
    else:
        amounts = join_with_and([money(total.billed, total.currency) + _change(total) for total in totals])
        left_out = left_out_clause(part for total in costs.sums.totals() for part in total.left_out)
        billed = f"{quote(account.name)} was billed {amounts} for AI {when} ({costs.question.view.basis}{left_out})"
    compared = costs.sums.comparison_clause if totals else ""
    estimate = f"{_estimate_clause(days.days, estimates, usage.reason)}{_unpriced_clause(usage.unpriced)}"
    return (
        f"{billed}{costs.sums.not_final}{costs.sums.missing}{compared}; {estimate}{_own_clause(usage.own_models)}"
        f"{clauses_text(problems)}."
    )


def _unpriced_clause(tokens: Decimal) -> str:
    return f", without {exact_number(tokens)} tokens that have no price" if tokens else ""


def _own_clause(models: Sequence[str]) -> str:
    if not models:
        return ""
    more = [f"{len(models) - NAMED} more"] if len(models) > NAMED else []
    return f", at own prices for {join_with_and([*(quote(name, 60) for name in models[:NAMED]), *more])}"


def _change(total: AiSpendTotal) -> str:
    change = total.change
    if change is None or change.change is None or change.ratio is None:
        return ""
    if change.previous_amount is None:
        return ""
    before = f"the {money(change.previous_amount, change.currency)} before"
    part = "" if change.current_amount == total.billed else ", on complete days"
    return f" ({change_percent_text(change.ratio)} against {before}{part})"


def _estimate_clause(days: int, estimates: Sequence[Estimate], reason: str) -> str:
    if not estimates:
        return f"no estimate from usage: {reason.rstrip('.') or 'no tokens have a price'}"
    texts = []
    for estimate in estimates:
        text = f"{money(estimate.estimated, estimate.currency)} estimated from usage of {estimate.usage_days} of {days} days"
        if estimate.difference is not None:
            text += (
                f", {money(estimate.difference, estimate.currency)} less than billed on the {estimate.compared_days} days compared"
                if estimate.difference >= 0
                else f", {money(-estimate.difference, estimate.currency)} more than billed on the {estimate.compared_days} days compared"
            )
        texts.append(text)
    return join_with_and(texts)


def warnings_of(
    costs: AiCosts, sides: Sides, metrics: Sequence[UsageMetric], problems: Sequence[str]
) -> list[str]:
    """Warnings: `problems` of sources of usage, what the estimate leaves out, and which prices it uses."""
    warnings = clause_warnings(problems)
    missing = tokens_without_price(sides.usage)
    if missing:
        named = join_with_and(
            [
                f"{quote(model or '(no model)', 60)} {token_type or '(no token type)'}"
                for (model, token_type, _reason), _tokens in sorted(
                    missing.items(), key=lambda item: -abs(item[1])
                )[:NAMED]
            ]
        )
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        tokens = exact_number(exact_sum(missing.values()))
        warnings.append(f"No estimate for {tokens} tokens without a price: {named}{more}.")
    compared, days = len(sides.compared_days), costs.plan.days.days
    if sides.usage and compared < days:
        warnings.append(
            f"Billed and estimated are compared on {compared} of {days} days: those with usage and complete cost."
        )
    if len(metrics) > 1 and sides.usage:
        names = join_with_and([quote(metric.name, 60) for metric in metrics])
        warnings.append(f"Tokens of {len(metrics)} usage metrics are added: {names}.")
    return warnings


def truncation_note(rows: Sequence[AiSpendRow], limit: int) -> str:
    groups = sum(row.other_groups for row in rows)
    return f"{groups} more groups are in other. Raise limit (now {limit}), or filter." if groups else ""
