"""Unit cost computed by plain Python from cost lines and events, one after the other. Shares no code with the queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from finops.lake import schema
from tests.factories.usage import Event

Line = Mapping[str, Any]
Key = tuple[str, str]
"""(currency, what the cost belongs to): a customer's id, `?value` of no customer, `?` without a value."""


@dataclass
class ReferenceAccount:
    """The rows that everything is computed from, and the question's days."""

    lines: Sequence[Line]
    events: Sequence[Event]
    start: date
    end: date
    tag: str = "customer"
    aggregation: str = "sum"
    aliases: Mapping[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()

    def owner(self, line: Line) -> str:
        value = line.get(schema.tag_column(self.tag))
        if value is None:
            return "?"
        meant = self.aliases.get(value, value)
        return meant if meant in self.known else f"?{value}"

    def lines_in_period(self) -> list[Line]:
        return [line for line in self.lines if self.start <= line["charge_date"] <= self.end]

    def events_in_period(self) -> list[Event]:
        return [event for event in self.events if self.start <= event.day <= self.end]


def costs(
    reference: ReferenceAccount, bucket: Callable[[date], date] = lambda _day: date.min
) -> dict[tuple[str, str, date], Decimal]:
    """Exact cost by currency, owner and bucket."""
    sums: dict[tuple[str, str, date], Decimal] = defaultdict(Decimal)
    with localcontext(Context(prec=80)):
        for line in reference.lines_in_period():
            sums[line["currency"], reference.owner(line), bucket(line["charge_date"])] += line["billed_cost"]
    return dict(sums)


def usage(
    reference: ReferenceAccount, bucket: Callable[[date], date] = lambda _day: date.min
) -> dict[tuple[str, date], Fraction]:
    """Exact usage by customer and bucket, by the aggregation; customers without events are not there."""
    by: dict[tuple[str, date], list[Event]] = defaultdict(list)
    days: dict[date, set[date]] = defaultdict(set)
    for event in reference.events_in_period():
        by[event.customer, bucket(event.day)].append(event)
        days[bucket(event.day)].add(event.day)
    return {key: _quantity(reference.aggregation, events, len(days[key[1]])) for key, events in by.items()}


def _quantity(aggregation: str, events: Sequence[Event], days: int) -> Fraction:
    if aggregation == "last":
        newest = max(events, key=lambda each: (each.at, each.received, str(each.batch), each.position))
        return Fraction(newest.quantity)
    if aggregation == "max":
        return max(Fraction(event.quantity) for event in events)
    total = sum((Fraction(event.quantity) for event in events), Fraction(0))
    return total / days if aggregation == "average_of_days" else total


def is_close(actual: Decimal | None, expected: Fraction) -> bool:
    """Equal to 30 digits: a quotient of 38 digits is rounded once for the average and once for the unit cost."""
    if actual is None:
        return False
    if not expected:
        return actual == 0
    return abs(Fraction(actual) / expected - 1) < Fraction(1, 10**30)
