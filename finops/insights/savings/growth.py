"""Storage that grew in every one of the last months: to be looked through. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from finops.insights.savings.candidates import MINIMUM, Candidate, LineKey, Piece, account_label, part
from finops.insights.savings.resource_rules import line_of
from finops.insights.savings.rules import GROWTH
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange, add_months, month_end, month_start
from finops.lib.sentences import money, percent_text, quote

MONTHS: Final = 4
"""Complete months: three times more than the month before."""

MIN_GROWTH: Final = Decimal("1.05")
REASON: Final = "Bills do not say what of it is still needed, so what deleting would save is not known."


@dataclass(frozen=True)
class StoredSum:
    """Quantity and cost of one resource and usage type in each month, the oldest first."""

    line: LineKey
    provider: str
    service: str
    quantities: tuple[Decimal, ...]
    costs: tuple[Decimal, ...]
    name: str
    account_name: str
    """The day of the newest line before it."""


def months_before(through: date) -> list[DateRange]:
    """The last complete months on that day, the oldest first."""
    newest = month_start(through) if through == month_end(through) else add_months(through, -1)
    firsts = [add_months(newest, -back) for back in reversed(range(MONTHS))]
    return [DateRange(first, month_end(first)) for first in firsts]


def read_storage_sums(rows: Iterable[Mapping[str, Any]]) -> list[StoredSum]:
    """The result of `GrowthBuild` as typed rows."""
    return [
        StoredSum(
            line=line_of(row),
            provider=row["provider"],
            service=row["service"],
            quantities=tuple(row[f"quantity{place}"] or Decimal(0) for place in range(MONTHS)),
            costs=tuple(row[f"cost{place}"] or Decimal(0) for place in range(MONTHS)),
            name=row["resource_name"] or "",
            account_name=row["account_name"] or "",
        )
        for row in rows
    ]


def growing_storage(sums: Iterable[StoredSum], months: Sequence[DateRange]) -> list[Candidate]:
    """What stored more a day in each month than in the one before, 5 % or more in all, and costs 1 more a month."""
    groups: dict[tuple[str, ...], list[StoredSum]] = defaultdict(list)
    for each in sums:
        if _only_grows(each, months):
            line = each.line
            groups[(line.source, line.currency, each.service)].append(each)
    return [_candidate(group, months) for group in groups.values() if _growth_amount(group) >= MINIMUM]


def _only_grows(each: StoredSum, months: Sequence[DateRange]) -> bool:
    if not all(quantity > 0 for quantity in each.quantities):
        return False
    daily = [
        part(quantity, ratio(Decimal(1), Decimal(month.days)) or Decimal(0))
        for quantity, month in zip(each.quantities, months, strict=True)
    ]
    rises = all(before < after for before, after in pairwise(daily))
    return rises and daily[-1] >= part(daily[0], MIN_GROWTH)


def _growth_amount(group: Sequence[StoredSum]) -> Decimal:
    return exact_difference(
        exact_sum(each.costs[-1] for each in group), exact_sum(each.costs[0] for each in group)
    )


def _candidate(group: Sequence[StoredSum], months: Sequence[DateRange]) -> Candidate:
    first = group[0]
    since = f"{months[0].start:%Y-%m}"
    more = money(_growth_amount(group), first.line.currency)
    return Candidate(
        rule=GROWTH.name,
        unit=(first.service,),
        title=f"Review what only grows: {quote(first.service)}",
        advice="Set a retention or lifecycle rule, or move what nobody reads to a colder class.",
        formula=f"Cost of {months[-1].start:%Y-%m}; it stores more every month since {since}, for {more} a month more.",
        provider=first.provider,
        service=first.service,
        account_name=account_label((each.line.account, each.account_name) for each in group),
        pieces=[
            Piece(each.line, each.name, each.costs[-1], None, f"{_growth_text(each)} stored since {since}")
            for each in group
        ],
        reason=REASON,
    )


def _growth_text(each: StoredSum) -> str:
    share = ratio(exact_difference(each.quantities[-1], each.quantities[0]), each.quantities[0])
    return f"{percent_text(share or Decimal(0))} more"
