"""The first sentence of an answer about AI spend, and its warnings."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.models import Account
from finops.ai_spend.answers import AiSpendRow, AiSpendTotal, Estimate
from finops.ai_spend.queries.comparison import Sides
from finops.ai_spend.queries.costs import AiCosts
from finops.ai_spend.queries.estimates import tokens_without_price
from finops.lib.money import exact_sum
from finops.lib.sentences import change_percent_text, exact_number, join_with_and, money, quote
from finops.lib.usage_problems import clause_warnings, clauses_text
from ingestion.models import UsageMetric

NAMED = 3


def summary_of(
    account: Account,
    costs: AiCosts,
    totals: Sequence[AiSpendTotal],
    estimates: Sequence[Estimate],
    reason: str,
    own_models: Sequence[str],
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
        billed = f"{quote(account.name)} was billed {amounts} for AI {when} ({costs.question.view.basis})"
    return f"{billed}{costs.sums.not_final}; {_estimate_clause(days.days, estimates, reason)}{_own_clause(own_models)}{clauses_text(problems)}."


def _own_clause(models: Sequence[str]) -> str:
    if not models:
        return ""
    more = [f"{len(models) - NAMED} more"] if len(models) > NAMED else []
    return f", at own prices for {join_with_and([*(quote(name, 60) for name in models[:NAMED]), *more])}"


def _change(total: AiSpendTotal) -> str:
    change = total.change
    if change is None or change.change is None or change.ratio is None:
        return ""
    return f" ({change_percent_text(change.ratio)})"


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


def truncation_note(rows: Sequence[AiSpendRow], top: int) -> str:
    groups = sum(row.other_groups for row in rows)
    return f"{groups} more groups are in other. Set top above {top}, or filter." if groups else ""
