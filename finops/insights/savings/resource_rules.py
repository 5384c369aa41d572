"""Rules about single resources: on at weekends, previous generations, volume types. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from finops.insights.savings.candidates import Candidate, LineKey, Piece, each_day, part
from finops.insights.savings.generations import Successor, successor_of
from finops.insights.savings.rules import WEEKENDS
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import percent_text, quote

WEEKEND_SHARE: Final = Decimal("0.9")
"""A weekend day that costs at least this share of a weekday: nothing is turned off."""

OFF: Final = Decimal(2) / 7


@dataclass(frozen=True)
class ResourceSum:
    """On-demand lines of one resource and usage type in the window. `dev`: tagged as dev or test, by the hour."""

    line: LineKey
    provider: str
    service: str
    dev: bool
    cost: Decimal
    weekend_cost: Decimal
    weekdays: int
    weekend_days: int
    name: str
    account_name: str


def read_resources(rows: Iterable[Mapping[str, Any]]) -> list[ResourceSum]:
    """The result of `ResourceBuild` as typed rows."""
    return [
        ResourceSum(
            line=line_of(row),
            provider=row["provider"],
            service=row["service"],
            dev=row["dev"],
            cost=row["cost"] or Decimal(0),
            weekend_cost=row["weekend_cost"] or Decimal(0),
            weekdays=row["weekdays"],
            weekend_days=row["weekend_days"],
            name=row["resource_name"] or "",
            account_name=row["account_name"] or row["account_id"],
        )
        for row in rows
    ]


def line_of(row: Mapping[str, Any]) -> LineKey:
    return LineKey(
        source=row["source"],
        currency=row["currency"],
        account=row["account_id"],
        region=row["region"],
        usage_type=row["usage_type"],
        resource=row["resource_id"],
    )


def weekends_off(sums: Iterable[ResourceSum], days: DateRange) -> list[Candidate]:
    """What has a dev or test tag, ran on every day, and cost at weekends at least 90 % of what it did on weekdays."""
    weekend = sum(day.weekday() >= 5 for day in each_day(days))
    groups: dict[tuple[str, ...], list[ResourceSum]] = defaultdict(list)
    for each in sums:
        if each.dev and each.line.resource and _never_off(each, days.days - weekend, weekend):
            line = each.line
            groups[(line.source, line.currency, line.account, each.service)].append(each)
    return [_weekends(group) for group in groups.values()]


def _never_off(each: ResourceSum, weekdays: int, weekend: int) -> bool:
    if (each.weekdays, each.weekend_days) != (weekdays, weekend) or not weekend or each.cost <= 0:
        return False
    at_weekends = part(each.weekend_cost, Decimal(weekdays))
    other = part(exact_difference(each.cost, each.weekend_cost), Decimal(weekend))
    return at_weekends >= part(other, WEEKEND_SHARE)


def _weekends(group: Sequence[ResourceSum]) -> Candidate:
    first = group[0]
    pieces = [
        Piece(
            each.line,
            each.name,
            each.cost,
            part(each.cost, OFF),
            f"a weekend day costs {_of_a_weekday(each)} of a weekday",
        )
        for each in group
    ]
    return Candidate(
        rule=WEEKENDS.name,
        unit=(first.line.account, first.service),
        title=f"Turn dev and test off at weekends: {quote(first.service)} in {quote(first.account_name)}",
        advice="Stop it from Friday evening to Monday morning by a schedule; nights would save more still.",
        formula="2/7 of the month's on-demand cost: two days of seven off. Weekend days cost at least 90 % of weekdays.",
        provider=first.provider,
        service=first.service,
        account_name=first.account_name,
        pieces=pieces,
    )


def _of_a_weekday(each: ResourceSum) -> str:
    mean = ratio(each.weekend_cost, Decimal(each.weekend_days)) or Decimal(0)
    other = ratio(exact_difference(each.cost, each.weekend_cost), Decimal(each.weekdays)) or Decimal(0)
    share = ratio(mean, other)
    return "all" if share is None else percent_text(share)


def successors(sums: Iterable[ResourceSum]) -> list[Candidate]:
    """On-demand lines of a previous generation or of gp2, by account and product."""
    groups: dict[tuple[str, ...], list[ResourceSum]] = defaultdict(list)
    of: dict[tuple[str, ...], Successor] = {}
    for each in sums:
        one = successor_of(each.provider, each.service, each.line.usage_type)
        if one is not None and each.cost > 0:
            line = each.line
            unit = (one.rule, line.source, line.currency, line.account, each.service, one.old)
            groups[unit].append(each)
            of[unit] = one
    return [_successor(of[unit], group) for unit, group in groups.items()]


def _successor(one: Successor, group: Sequence[ResourceSum]) -> Candidate:
    first = group[0]
    pieces = [
        Piece(
            line,
            max(each.name for each in rows),
            cost := exact_sum(each.cost for each in rows),
            None if one.ratio is None else part(cost, 1 - one.ratio),
            f"{one.old} to {one.new}",
        )
        for line, rows in _by_line(group).items()
    ]
    has_ratio = one.ratio is not None
    formula = (
        f"Month's on-demand cost * (1 - {one.ratio}); {one.ratio} is {one.new} ÷ {one.old} by {one.source}."
    )
    return Candidate(
        rule=one.rule,
        unit=(first.line.account, first.service, one.old),
        title=f"Move {quote(one.old)} to {quote(one.new)}: {quote(first.service)} in {quote(first.account_name)}",
        advice=f"Change {one.old} to the same size of {one.new}.",
        formula=formula
        if has_ratio
        else "Month's on-demand cost, of which the bills prove no part as saved.",
        provider=first.provider,
        service=first.service,
        account_name=first.account_name,
        pieces=pieces,
        reason="" if has_ratio else one.source,
    )


def _by_line(group: Sequence[ResourceSum]) -> dict[LineKey, list[ResourceSum]]:
    """A resource whose tags changed in the window has two rows."""
    groups: dict[LineKey, list[ResourceSum]] = defaultdict(list)
    for each in group:
        groups[each.line].append(each)
    return groups
