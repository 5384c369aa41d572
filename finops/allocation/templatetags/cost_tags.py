"""Template filters and tags for cost tags and their rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from django import template

from finops.allocation.cost_tags import text
from finops.allocation.cost_tags.schemas import CostTagPreview
from finops.allocation.rules import Rule
from finops.costs.answers import MoneyAmount
from finops.lib import sentences
from finops.lib.formats import dates
from finops.lib.money import exact_difference, ratio

register = template.Library()

SHOWN_MONTHS = 4


@register.filter
def rule_words(rule: Rule) -> str:
    return text.rule_words(rule)


@register.filter
def rule_title(rule: Rule) -> str:
    return rule.name or text.outcome_words(rule)


@register.filter
def in_currency(amounts: Sequence[MoneyAmount], currency: str) -> Decimal:
    """The amount in this currency; 0 without one."""
    return next((each.amount for each in amounts if each.currency == currency), Decimal(0))


@register.filter
def caught_share(total: Decimal, unmatched: Decimal) -> int:
    """The share of the total without the rest, as a percent from 0 to 100; rounded down, so that 100 is all."""
    share = ratio(exact_difference(total, unmatched), total)
    return max(0, min(100, int(share * 100))) if share is not None else 0


@register.filter
def preview_words(preview: CostTagPreview) -> str:
    """The text that a screen reader announces when the figures change."""
    unmatched = sentences.join_with_and(
        [sentences.money(each.amount, each.currency) for each in preview.rest]
    )
    nothing = [str(rule.number) for rule in preview.rules if not rule.lines]
    idle = f" Rules without matches: {sentences.join_with_and(nothing)}." if nothing else ""
    return f"Not matched: {unmatched or 'nothing'}.{idle}" if unmatched else f"All lines match a rule.{idle}"


@register.filter
def numbers_words(numbers: Sequence[int]) -> str:
    """Format rule numbers: `rule 1`; `rules 1, 2 and 3`."""
    noun = "rule" if len(numbers) == 1 else "rules"
    shown = [str(number) for number in numbers[:SHOWN_MONTHS]]
    more = len(numbers) - len(shown)
    return f"{noun} {sentences.join_with_and([*shown, f'{more} more'] if more else shown)}"


@register.filter
def months_words(months: Sequence[date]) -> str:
    """Format months: `Jan and Feb`; of many, the first and the last."""
    if len(months) > SHOWN_MONTHS:
        return dates.month_range(months[0], months[-1])
    return sentences.join_with_and([dates.month(month) for month in months])
