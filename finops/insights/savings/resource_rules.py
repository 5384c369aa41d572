"""Rules about resources: running on weekends, previous generations, volume types, growing storage. Pure.

`Successor.ratio` is the successor's list price ÷ the old one's: AWS price list (us-east-1, Linux, on demand; ratios
are within about 3 % in other regions). None if the bills cannot prove a saving, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from finops.insights.savings.candidates import (
    GROWTH,
    MINIMUM,
    WEEKENDS,
    LineKey,
    Piece,
    SavingCandidate,
    account_label,
    part,
)
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange, add_months, each_day, month_end, month_start
from finops.lib.sentences import money, percent_text, quote

AWS_PRICES: Final = "AWS list prices, us-east-1, Linux"

AWS, AZURE, GOOGLE, OTHER = "aws", "azure", "google", ""


@dataclass(frozen=True)
class Successor:
    """A newer generation. `pattern` is matched against the usage type of a line of `cloud` and, if given, of a
    `service`."""

    cloud: str
    pattern: str
    old: str
    new: str
    ratio: Decimal | None
    source: str
    rule: str = "previous_generation"
    service: str = ""


def _aws(pattern: str, old: str, new: str, new_price: str, old_price: str, **more: str) -> Successor:
    ratio = (Decimal(new_price) / Decimal(old_price)).quantize(Decimal("0.001"))
    text = f"{AWS_PRICES}: {new_price} ÷ {old_price} USD"
    return Successor(AWS, pattern, old, new, ratio, text, **more)


_BOX = r"(?:BoxUsage|DedicatedUsage):"

SUCCESSORS: Final[tuple[Successor, ...]] = (
    _aws(_BOX + r"m3\.", "m3", "m6i", "0.192", "0.266"),
    _aws(_BOX + r"m4\.", "m4", "m6i", "0.192", "0.200"),
    _aws(_BOX + r"c3\.", "c3", "c6i", "0.170", "0.210"),
    _aws(_BOX + r"c4\.", "c4", "c6i", "0.170", "0.199"),
    _aws(_BOX + r"r3\.", "r3", "r6i", "0.252", "0.333"),
    _aws(_BOX + r"r4\.", "r4", "r6i", "0.252", "0.266"),
    _aws(_BOX + r"t2\.", "t2", "t3", "0.0416", "0.0464"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.m3\.", "db.m3", "db.m6g", "0.159", "0.185"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.m4\.", "db.m4", "db.m6g", "0.159", "0.175"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.r3\.", "db.r3", "db.r6g", "0.215", "0.2375"),
    _aws(r"(?:Instance|Multi-AZ)Usage:db\.r4\.", "db.r4", "db.r6g", "0.215", "0.240"),
    _aws(r"NodeUsage:cache\.r4\.", "cache.r4", "cache.r6g", "0.206", "0.228"),
    _aws(r"NodeUsage:cache\.m4\.", "cache.m4", "cache.m6g", "0.149", "0.156"),
    # RDS gp2 and gp3 cost the same a GB, so RDS:GP2-Storage is not here.
    _aws(r"EBS:VolumeUsage\.gp2", "gp2", "gp3", "0.08", "0.10", rule="volume_type"),
    _aws(r"ES:GP2-Storage", "gp2", "gp3", "0.122", "0.135", rule="volume_type"),
    Successor(
        AZURE, r"^(?:Standard_)?D[0-9]+s? ?_?v2\b", "Dv2", "Dv5", None,
        "Azure's prices of Dv2 and Dv5 differ by region and system: compare them for yours in the pricing calculator.",
        service="virtual machines",
    ),
    Successor(
        GOOGLE, r"\bN1 Predefined Instance (?:Core|Ram)", "N1", "N2D or E2", None,
        (
"N1 has up to 30% sustained-use discount, N2D up to 20% and E2 none. The bill does not prove "
"which is cheaper."
),
    ),
)  # fmt: skip

IN_ANY: Final = "|".join(f"(?:{each.pattern})" for each in SUCCESSORS)
"""All patterns as one expression for the lake, in the common syntax of Python's and RE2's regular expressions; not
case-sensitive."""


def cloud_of(provider: str) -> str:
    """Return the cloud, of those with known prices, by the provider's name in the bill."""
    name = provider.casefold()
    if "aws" in name or "amazon" in name:
        return AWS
    if "azure" in name or "microsoft" in name:
        return AZURE
    return GOOGLE if "google" in name or "gcp" in name else OTHER


@lru_cache(maxsize=4096)
def successor_of(provider: str, service: str, usage_type: str) -> Successor | None:
    """Return the newer generation; None if it is current or of a provider without a table."""
    cloud = cloud_of(provider)
    for successor in SUCCESSORS:
        applies = successor.cloud == cloud and successor.service in service.casefold()
        if applies and re.search(successor.pattern, usage_type, re.IGNORECASE):
            return successor
    return None


WEEKEND_SHARE: Final = Decimal("0.9")
"""A weekend day with at least this share of a weekday's cost: nothing is stopped."""

OFF: Final = Decimal(2) / 7


@dataclass(frozen=True)
class ResourceSum:
    """On-demand lines of one resource and usage type in the window. `dev`: hourly usage tagged as dev or test."""

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

    @property
    def unit(self) -> tuple[str, ...]:
        """Source, currency, account and service."""
        return self.line.source, self.line.currency, self.line.account, self.service


def read_resources(rows: Iterable[Mapping[str, Any]]) -> list[ResourceSum]:
    """Return the result of `ResourceBuild` as typed rows."""
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


def weekends_off(sums: Iterable[ResourceSum], days: DateRange) -> list[SavingCandidate]:
    """Return resources with a dev or test tag that ran every day and cost at least 90 % of a weekday on weekend days.
    saving = cost · 2 ÷ 7, the weekend's days; our rule."""
    weekend = sum(day.weekday() >= 5 for day in each_day(days))
    never_off = (
        each
        for each in sums
        if each.dev and each.line.resource and _is_always_on(each, days.days - weekend, weekend)
    )
    return [_weekends(group) for group in group_by(never_off, lambda each: each.unit).values()]


def _is_always_on(each: ResourceSum, weekdays: int, weekend: int) -> bool:
    if (each.weekdays, each.weekend_days) != (weekdays, weekend) or not weekend or each.cost <= 0:
        return False
    at_weekends = part(each.weekend_cost, Decimal(weekdays))
    other = part(exact_difference(each.cost, each.weekend_cost), Decimal(weekend))
    return at_weekends >= part(other, WEEKEND_SHARE)


def _weekends(group: Sequence[ResourceSum]) -> SavingCandidate:
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
    return SavingCandidate(
        rule=WEEKENDS.name,
        unit=(first.line.account, first.service),
        title=f"Stop dev and test on weekends: {quote(first.service)} in {quote(first.account_name)}",
        advice="Schedule a stop from Friday evening to Monday morning. Nights would save more.",
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


def successors(sums: Iterable[ResourceSum]) -> list[SavingCandidate]:
    """Return on-demand lines of a previous generation or of gp2, by account and product. saving = cost · (1 - new
    price ÷ old price), by the list prices in SUCCESSORS; None if they prove none."""
    pairs = [
        (successor, each)
        for each in sums
        if each.cost > 0 and (successor := successor_of(each.provider, each.service, each.line.usage_type))
    ]
    groups = group_by(pairs, lambda pair: (pair[0].rule, *pair[1].unit, pair[0].old)).values()
    return [_successor(group[0][0], [each for _one, each in group]) for group in groups]


def _successor(successor: Successor, group: Sequence[ResourceSum]) -> SavingCandidate:
    first = group[0]
    pieces = [
        Piece(
            line,
            max(each.name for each in rows),
            cost := exact_sum(each.cost for each in rows),
            None if successor.ratio is None else part(cost, 1 - successor.ratio),
            f"{successor.old} to {successor.new}",
        )
        # A resource whose tags changed in the window has two rows.
        for line, rows in group_by(group, lambda each: each.line).items()
    ]
    formula = f"Month's on-demand cost * (1 - {successor.ratio}); {successor.ratio} is {successor.new} ÷ {successor.old} by {successor.source}."
    if successor.ratio is None:
        formula = "Monthly on-demand cost; the bills do not prove a saving."
    return SavingCandidate(
        rule=successor.rule,
        unit=(first.line.account, first.service, successor.old),
        title=f"Move {quote(successor.old)} to {quote(successor.new)}: {quote(first.service)} in {quote(first.account_name)}",
        advice=f"Change {successor.old} to the same size of {successor.new}.",
        formula=formula,
        provider=first.provider,
        service=first.service,
        account_name=first.account_name,
        pieces=pieces,
        reason=successor.source if successor.ratio is None else "",
    )


MONTHS: Final = 4
"""Number of complete months compared: growth in each of three."""

MIN_GROWTH: Final = Decimal("1.05")
REASON: Final = "Savings unknown: bills do not show what is still needed."


@dataclass(frozen=True)
class StoredSum:
    """Quantity and cost of one resource and usage type in each month, oldest first."""

    line: LineKey
    provider: str
    service: str
    quantities: tuple[Decimal, ...]
    costs: tuple[Decimal, ...]
    name: str
    account_name: str
    """Prefixed with the day of the newest line."""


def months_before(through: date) -> list[DateRange]:
    """Return the last complete months on that day, oldest first."""
    newest = month_start(through) if through == month_end(through) else add_months(through, -1)
    firsts = [add_months(newest, -back) for back in reversed(range(MONTHS))]
    return [DateRange(first, month_end(first)) for first in firsts]


def read_storage_sums(rows: Iterable[Mapping[str, Any]]) -> list[StoredSum]:
    """Return the result of `GrowthBuild` as typed rows."""
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


def growing_storage(sums: Iterable[StoredSum], months: Sequence[DateRange]) -> list[SavingCandidate]:
    """Return storage whose daily quantity grew in each month, by 5 % or more in all, and whose cost grew by 1 or more
    a month. No saving: bills do not show what is still needed. Our rule."""
    growing = (each for each in sums if _only_grows(each, months))
    groups = group_by(growing, lambda each: (each.line.source, each.line.currency, each.service)).values()
    return [_candidate(group, months) for group in groups if _growth_amount(group) >= MINIMUM]


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


def _candidate(group: Sequence[StoredSum], months: Sequence[DateRange]) -> SavingCandidate:
    first = group[0]
    since = f"{months[0].start:%Y-%m}"
    more = money(_growth_amount(group), first.line.currency)
    return SavingCandidate(
        rule=GROWTH.name,
        unit=(first.service,),
        title=f"Review growing storage: {quote(first.service)}",
        advice="Set a retention or lifecycle rule, or move unread data to a colder class.",
        formula=(
            f"Cost of {months[-1].start:%Y-%m}. Storage has grown every month since {since}, by "
            f"{more} a month."
        ),
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
