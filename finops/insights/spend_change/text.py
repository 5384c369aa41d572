"""Sentences of an answer about a change of spend."""

from __future__ import annotations

from collections.abc import Sequence

from finops.costs.comparison import one_sided_words, unequal_days_clause
from finops.insights.spend_change.schemas import ChangeTotal, ComparedDays, Move
from finops.lib.periods import DateRange
from finops.lib.sentences import (
    LARGE_RATIO,
    by_currency,
    dimension_text,
    join_with_and,
    money,
    percent_text,
    quote,
    truncate,
)

NAMED = 3
NAMED_OF_SEVERAL = 2
NAMED_CURRENCIES = 3
NAME_LENGTH = 80

DEEPER = ("usage_type", "resource", "account", "region")

NAMED_EFFECTS = ("volume", "price", "new", "gone")
"""Effects that a sentence names."""

WHY = {
    "volume": "change in volume",
    "price": "change in price",
    "new": "new SKUs",
    "gone": "ended SKUs",
    "credits": "changed credits",
    "refunds": "refunds and negative lines",
    "unmeasured": "no quantity, cause unknown",
}


def summary_of(
    account: str,
    view: str,
    days: ComparedDays | None,
    totals: Sequence[ChangeTotal],
    moves: Sequence[Move],
    reason: str,
    left_out: str = "",
    problems: str = "",
    *,
    filtered: bool = False,
) -> str:
    """Return one plain sentence: the change, the days, and the largest driver."""
    if days is None or reason:
        return f"The change in spend of {quote(account)} cannot be explained: {reason.rstrip('.')}{problems}."
    when = f"from {days.start_date} to {days.end_date}"
    if not totals:
        return f"{quote(account)} has no matching cost {when} or in the previous period{left_out}{problems}."
    totals_text = join_with_and([_total_text(total) for total in totals])
    before = f"{days.previous_start_date} to {days.previous_end_date}"
    within = " within the filters" if filtered else ""
    than = "than" if any(total.change for total in totals) else "as"
    left_out = f"{unequal_days_clause(*_sides(days))}{left_out}"
    return f"{quote(account)} spent {totals_text}{within} {when} {than} from {before} ({view}){left_out}{problems}{_largest_moves_text(totals, moves)}."


def _sides(days: ComparedDays) -> tuple[DateRange, DateRange]:
    return DateRange(days.start_date, days.end_date), DateRange(
        days.previous_start_date, days.previous_end_date
    )


def _total_text(total: ChangeTotal) -> str:
    if not total.change:
        return f"as much ({money(total.current_amount, total.currency)})"
    word = "more" if total.change > 0 else "less"
    share = percent_text(abs(total.ratio)) if total.ratio is not None else ""
    if total.ratio is not None and total.ratio.copy_abs() >= LARGE_RATIO:
        share = f"{money(total.previous_amount, total.currency)} before"
    once = (
        one_sided_words(total.current_amount, total.previous_amount, total.one_sided, total.currency)
        if total.one_sided is not None
        else ""
    )
    details = f"{share}{once}".removeprefix("; ")
    return f"{money(abs(total.change), total.currency)} {word}{f' ({details})' if details else ''}"


def _largest_moves_text(totals: Sequence[ChangeTotal], moves: Sequence[Move]) -> str:
    """Return the largest changes of each currency; fewer if there are several currencies."""
    count = NAMED if len(totals) == 1 else NAMED_OF_SEVERAL
    currencies = [total.currency for total in totals[:NAMED_CURRENCIES]]
    texts = [
        _move_text(move) for currency in currencies for move in _moves_in_currency(moves, currency)[:count]
    ]
    return f"; most moved {join_with_and(texts)}" if texts else ""


def _moves_in_currency(moves: Sequence[Move], currency: str) -> list[Move]:
    """Return the changes of one currency, largest first, without the rest."""
    return [move for move in moves if move.currency == currency and move.change and not move.other_groups]


def _move_text(move: Move) -> str:
    sign = "+" if move.change > 0 else "-"  # a plain hyphen, as numbers have it
    return f"{quote(name_of(move))} ({sign}{money(abs(move.change), move.currency)}{_reason_text(move)})"


def name_of(move: Move) -> str:
    """Return the readable name of a group."""
    name = " / ".join(move.labels.get(dimension, value) for dimension, value in move.group.items())
    return truncate(name, NAME_LENGTH)


def _reason_text(move: Move) -> str:
    if is_of_credits(move):
        return f", {move.why}" if move.kind in ("new", "gone") else f", mostly {move.why}"
    if move.kind in ("new", "gone"):
        return f", {move.kind}"
    return f", mostly {move.why}" if move.effects is not None and move.why in NAMED_EFFECTS else ""


def is_of_credits(move: Move) -> bool:
    """Return whether credits or refunds are the largest effect."""
    return move.why.endswith(("credits", "refunds")) or move.why.startswith(("credits", "refunds"))


def badge_of(move: Move) -> str:
    """Return the badge beside a group that is on one side only; empty for one on both."""
    if move.kind not in ("new", "gone"):
        return ""
    return move.why if is_of_credits(move) else "new" if move.kind == "new" else "ended"


def note_of(days: DateRange, current: DateRange, previous: DateRange) -> str:
    """Return a note on what the compared days lack, if anything."""
    parts = []
    if current != days:
        parts.append(
            f"Only complete days count, so the current period ends on {current.end}, not {days.end}."
        )
    if current.days != previous.days:
        parts.append(f"The previous period has {previous.days} days, the current one {current.days}.")
    return " ".join(parts)


def truncated_of(moves: Sequence[Move]) -> str:
    folded = sum(move.other_groups for move in moves)
    if not folded:
        return ""
    groups = "1 group is" if folded == 1 else f"{folded:,} groups are"
    return f"{groups} in the driver other. Raise limit, filter, or group by a coarser dimension."


def hint_of(moves: Sequence[Move], *, filtered: bool, reason: str) -> str:
    """Return the suggested next query."""
    if reason:
        return "Choose days with data (getAccountContext), or set a custom previous period."
    currencies = list(dict.fromkeys(move.currency for move in moves))
    largest_moves = [
        own_moves[0] for currency in currencies if (own_moves := _moves_in_currency(moves, currency))
    ]
    if not largest_moves and filtered:
        return "Check the values with listDimensionValues, or use a longer period."
    if not largest_moves:
        return "No change. Compare with previous_year, or use other days."
    dimension = next(iter(largest_moves[0].group))
    other = [name for name in DEEPER if name not in largest_moves[0].group][:2]
    which = "it" if len(largest_moves) == 1 else "one"
    named = largest_moves[:NAMED_CURRENCIES]
    values = by_currency([(truncate(move.group[dimension], NAME_LENGTH), move.currency) for move in named])
    return (
        f"{values} changed most: filter {dimension_text(dimension)} by {which} and group by "
        f"{' or '.join(other)}."
    )
