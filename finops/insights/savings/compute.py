"""Unused commitments, and steady on-demand compute that a commitment would cover. Pure.

A commitment pays off for usage that is always there: the floor is the smallest day of the window. Daily bills do not
show hours, so that only 80 % of it counts; unused compute commitments are deducted first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from finops.costs.dated_names import strip_date_prefix
from finops.insights.savings.candidates import (
    ON_DEMAND,
    UNUSED,
    LineKey,
    Piece,
    SavingCandidate,
    account_label,
    label_of,
    part,
)
from finops.insights.savings.resource_rules import AWS, AZURE, GOOGLE, cloud_of
from finops.lib.answers import group_by
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange, each_day
from finops.lib.sentences import money, percent_text, quote

FLOOR_SHARE: Final = Decimal("0.8")
UNUSED_SHARE: Final = Decimal("0.02")
"""A commitment with at most this unused share is well utilized."""

PAID: Final = (
    "Waste, not a saving: it is paid for, used or not, so it is not in potential savings. Use it in "
    "place of on-demand usage, exchange or sell it, or do not renew it."
)

ASSUMED: Final = {AWS: Decimal("0.20"), AZURE: Decimal("0.15"), GOOGLE: Decimal("0.20")}
"""Discounts below the providers' list for one year without upfront fee (AWS Compute Savings Plan about 27 %, Google
flexible CUD 28 %, Azure savings plan from 11 % to 30 % and more by series)."""


@dataclass(frozen=True)
class DailySum:
    """Lines of one day: of a commitment, or on demand (`commitment` empty). `covers`: compute that a commitment can
    cover. `elsewhere`: counted by recommendations for its resources."""

    source: str
    provider: str
    service: str
    currency: str
    commitment: str
    status: str
    compute: bool
    covers: bool
    elsewhere: bool
    day: date
    cost: Decimal
    contracted: Decimal | None
    name: str
    account: str
    first_account: str
    last_account: str
    account_name: str
    """Prefixed with the day of the newest line."""


def read_daily(rows: Iterable[Mapping[str, Any]]) -> list[DailySum]:
    """Return the result of `SavingsBuild` as typed rows, in one order whatever order the engine returned: the first row of a group
    names its provider."""
    sums = (
        DailySum(
            **{name: row[name] for name in ("source", "provider", "service", "currency", "commitment", "status")},
            compute=row["compute"],
            covers=row["covers"],
            elsewhere=row["elsewhere"],
            day=row["charge_date"],
            cost=row["cost"] or Decimal(0),
            contracted=row["contracted"] if row["priced"] == row["lines"] else None,
            name=row["name"] or "",
            **{name: row[name] or "" for name in ("account", "first_account", "last_account", "account_name")},
        )
        for row in rows
    )  # fmt: skip
    return sorted(
        sums,
        key=lambda each: (each.source, each.provider, each.service, each.commitment, each.status, each.day),
    )


def unused_commitments(sums: Iterable[DailySum]) -> list[SavingCandidate]:
    """Return commitments of which more than 2 % was paid for and unused: EffectiveCost of Unused ÷ that of all lines
    (FOCUS, CommitmentDiscountStatus); the 2 % are our rule."""
    candidates = []
    commitment_sums = (each for each in sums if each.commitment)
    for group in group_by(
        commitment_sums, lambda each: (each.source, each.currency, each.commitment)
    ).values():
        cost = exact_sum(each.cost for each in group)
        wasted = exact_sum(each.cost for each in group if each.status == "Unused")
        if wasted > max(part(cost, UNUSED_SHARE), Decimal(0)):
            candidates.append(_unused_candidate(group, cost, wasted))
    return candidates


def _unused_candidate(group: Sequence[DailySum], cost: Decimal, wasted: Decimal) -> SavingCandidate:
    first = group[0]
    unused = [each for each in group if each.status == "Unused"]
    services = frozenset(each.service for each in unused)
    newest = max(group, key=lambda each: (bool(each.name), each.day, each.name))
    name = newest.name or first.commitment
    days = len({each.day for each in unused})
    line = LineKey(first.source, first.currency, "", "", "Unused", first.commitment)
    used = ratio(exact_difference(cost, wasted), cost) or Decimal(0)
    note = f"{percent_text(used)} used; unused commitment on {days} day{'' if days == 1 else 's'}"
    return SavingCandidate(
        rule=UNUSED.name,
        unit=(first.commitment,),
        title=f"Use the unused commitment: {quote(name)}",
        advice=(
            "Move matching on-demand usage to it; exchange, modify or sell it where the provider "
            "allows; do not renew the unused part."
        ),
        formula="Amortized cost of the lines with CommitmentDiscountStatus Unused.",
        provider=unused[0].provider,
        service=label_of(services, "services"),
        services=services,
        account_name=account_label((each.account, each.account_name) for each in unused),
        pieces=[Piece(line, name, wasted, None, note)],
        reason=PAID,
        commitment=first.commitment,
    )


def steady_on_demand(sums: Sequence[DailySum], days: DateRange) -> list[SavingCandidate]:
    """Return the on-demand compute of a source that every day of the window had.

    saving = smallest day · FLOOR_SHARE · days · discount. Our rule, deliberately low: a commitment is paid on the
    smallest day too, and daily bills do not show hours.
    """
    groups = group_by(sums, lambda each: (each.source, each.currency, cloud_of(each.provider)))
    candidates = (_on_demand(group, days, cloud) for (_, _, cloud), group in groups.items())
    return [each for each in candidates if each is not None]


def _on_demand(group: Sequence[DailySum], days: DateRange, cloud: str) -> SavingCandidate | None:
    on_demand = [each for each in group if each.covers and not each.commitment and not each.elsewhere]
    floor = _floor(on_demand, group, days)
    rate, basis = _discount(group, cloud)
    if floor <= 0 or not rate:
        return None
    first = on_demand[0]
    services = frozenset(each.service for each in on_demand)
    accounts = {name for each in on_demand for name in (each.first_account, each.last_account)}
    cost = exact_sum(each.cost for each in on_demand)
    steady = part(floor, FLOOR_SHARE)
    hourly = ratio(part(steady, 1 - rate), Decimal(24)) or Decimal(0)
    saving = part(part(steady, Decimal(days.days)), rate)
    line = LineKey(first.source, first.currency, "", "", "on-demand compute", "")
    return SavingCandidate(
        rule=ON_DEMAND.name,
        unit=(cloud,),
        title=f"Commit to steady on-demand compute: {quote(first.provider)}",
        advice=f"A savings plan of {money(hourly, first.currency)} an hour for one year, shared by all accounts.",
        formula=(
            f"Smallest day's on-demand compute ({money(floor, first.currency)}, less unused commitment and what other "
            f"recommendations count) * 80 % * {days.days} days * {percent_text(rate)}. {basis}"
        ),
        provider=first.provider,
        service=label_of(services, "services"),
        services=services,
        account_name=strip_date_prefix(max(each.account_name for each in on_demand)) if len(accounts) == 1 else "several accounts",
        pieces=[Piece(line, "On-demand compute", cost, saving, _services(on_demand))],
        compute=True,
    )  # fmt: skip


def without_counted_compute(
    candidates: Iterable[SavingCandidate], sums: Sequence[DailySum]
) -> list[SavingCandidate]:
    """What clouds say that a commitment to compute saves, less the share of on-demand compute that recommendations for its
    resources count: saving · (cost of the rest ÷ cost of all). Our rule, low on purpose: what of a resource stays after its own
    recommendation could be committed to as well. Clouds do not take one from the other
    (learn.microsoft.com/azure/advisor/advisor-how-to-calculate-total-cost-savings)."""
    compute_sums = [each for each in sums if each.covers and not each.commitment]
    by_bill = group_by(compute_sums, lambda each: (each.source, each.currency, cloud_of(each.provider)))
    return [_lower(each, by_bill.get((*each.bill, cloud_of(each.provider)), ())) for each in candidates]


def _lower(candidate: SavingCandidate, compute_sums: Sequence[DailySum]) -> SavingCandidate:
    total = exact_sum(each.cost for each in compute_sums)
    counted = exact_sum(each.cost for each in compute_sums if each.elsewhere)
    if not candidate.compute or candidate.rule == ON_DEMAND.name or counted <= 0 or total <= 0:
        return candidate
    share = ratio(max(exact_difference(total, counted), Decimal(0)), total) or Decimal(0)
    pieces = [
        replace(piece, saving=None if piece.saving is None else part(piece.saving, share))
        for piece in candidate.pieces
    ]
    text = f"Reduced by {percent_text(1 - share)}, which is in other recommendations."
    return replace(candidate, pieces=pieces, lowered=text)


def _floor(on_demand: Sequence[DailySum], group: Sequence[DailySum], days: DateRange) -> Decimal:
    """Return the smallest day's cost less the unused compute commitment of that day."""
    daily: dict[date, list[Decimal]] = {day: [] for day in each_day(days)}
    for each in on_demand:
        daily[each.day].append(each.cost)
    for each in group:
        if each.status == "Unused" and each.compute:
            daily[each.day].append(-each.cost)
    return min(exact_sum(amounts) for amounts in daily.values())


def _discount(group: Sequence[DailySum], cloud: str) -> tuple[Decimal, str]:
    """Return the discount of the account's own compute commitments, 1 - EffectiveCost ÷ ContractedCost of Used lines
    (FOCUS), else the documented assumption, and which of the two it is. 0 if they saved nothing, and for other
    clouds."""
    used = [each for each in group if each.covers and each.status == "Used"]
    worth = exact_sum(each.contracted or Decimal(0) for each in used)
    if used and worth > 0 and all(each.contracted is not None for each in used):
        saved = ratio(exact_difference(worth, exact_sum(each.cost for each in used)), worth) or Decimal(0)
        text = "Rate: measured from used compute commitments against on-demand prices on these days."
        return max(saved, Decimal(0)), text
    assumption = "ASSUMPTION: a conservative one-year rate; no commitment in the bills shows a real one."
    return ASSUMED.get(cloud, Decimal(0)), assumption


def _services(on_demand: Sequence[DailySum]) -> str:
    groups = group_by(on_demand, lambda each: each.service).items()
    ranked = sorted(((exact_sum(each.cost for each in sums), name) for name, sums in groups), reverse=True)
    return ", ".join(f"{name} {money(amount, on_demand[0].currency)}" for amount, name in ranked[:4])
