"""Lumenly's commitments: covered usage of a day, cost, and unused part.

Over a whole term of each commitment sum(Purchase billed) == sum(Used effective) + sum(Unused effective), to the last digit;
where the fee is paid by the day, on each day; where by the month, in each month.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache

from finops.demo.catalog import CENT, SKUS, units
from finops.demo.company import SUB_ACCOUNTS, digest
from finops.demo.lines import ResourceLine
from finops.demo.scenario import growth


@dataclass(frozen=True)
class DemoCommitment:
    """A commitment renewed every year on the same day.

    Spend: `size` is money an hour in the vendor's currency at volume 1, covered usage costs `rate` per mille of its list price.
    Usage: `size` is machines around the clock, each hour costs `rate` per mille of the list price of `plan`'s one SKU. `paid`
    is daily, monthly (on the first), or upfront (once a term).
    """

    key: str
    source: str
    plan: str
    name: str
    category: str
    type: str
    sub_account: str
    region: str
    size: str
    rate: int
    paid: str
    month: int
    day: int
    sku: str
    unit: str
    grows: bool = False


@dataclass(frozen=True)
class CommitmentYear:
    """A commitment in one of its years."""

    commitment: DemoCommitment
    start: date

    @property
    def id(self) -> str:
        commitment = self.commitment
        mark = digest("commitment", commitment.key, self.start.year, length=16)
        account = SUB_ACCOUNTS[commitment.sub_account].id
        return {
            "aws": f"arn:aws:savingsplans::{account}:savingsplan/{mark}"
            if commitment.category == "Spend"
            else f"arn:aws:{commitment.sku.split('.')[0]}:{commitment.region}:{account}:ri:{commitment.key}-{mark}",
            "azure": f"/providers/Microsoft.Capacity/reservationOrders/{mark}/reservations/{commitment.key}",
            "gcp": f"projects/{account}/regions/{commitment.region}/commitments/{commitment.key}-{mark[:6]}",
        }[commitment.source]

    @property
    def end(self) -> date:
        """The first day after the term."""
        return _anniversary(self.commitment, self.start.year + 1)

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    @property
    def daily_money(self) -> int:
        """Spend: the committed amount of a day, in 1e-12; the hourly commitment is rounded to a tenth of a unit."""
        hourly = units(self.commitment.size, 1) * (growth(self.start) if self.commitment.grows else 1.0)
        return round(hourly) * 24 * 10 * CENT

    @property
    def daily_hours(self) -> int:
        """Usage: hours of machines that a day's fee covers, in 1e-3."""
        return int(self.commitment.size) * 24 * 1000


@dataclass(frozen=True)
class CoveredUsage:
    """The part of a line's day that a commitment covered: quantity in 1e-3, worth (effective cost) in 1e-12."""

    line: ResourceLine
    quantity: int
    worth: int


@dataclass(frozen=True)
class CommitmentDay:
    """A commitment's day: covered usage, unused part, and the amount paid that day."""

    term: CommitmentYear
    covered: list[CoveredUsage]
    unused_worth: int
    unused_hours: int
    fee: int

    @property
    def hours_paid(self) -> int:
        """Usage: the hours, in 1e-3, that the fee of that day covers."""
        return self.fee // _hour_price(self.term.commitment)


COMMITMENTS: tuple[DemoCommitment, ...] = (
    DemoCommitment("compute-sp", "aws", "aws-compute", "Compute Savings Plan 1yr No Upfront", "Spend", "Savings Plan",
               "shared", "global", "36.0", 720, "daily", 2, 1, "m6i.xlarge", "USD", grows=True),
    DemoCommitment("rds-ri", "aws", "aws-rds", "db.r6g.2xl 1yr All Upfront", "Usage", "Reserved Instance",
               "prod", "us-east-1", "9", 640, "upfront", 3, 1, "rds.r6g.2xlarge", "Hours"),
    DemoCommitment("cache-ri", "aws", "aws-cache", "cache.r6g.large 1yr No Upfront", "Usage", "Reserved Instance",
               "prod", "us-east-1", "14", 680, "monthly", 6, 1, "cache.r6g", "Hours"),
    DemoCommitment("vm-reservation", "azure", "azure-vm", "VM_RI_D4sv5_1Y", "Usage", "Reservation",
               "eu-prod", "germanywestcentral", "12", 610, "monthly", 1, 15, "az.d4s", "Hours"),
    DemoCommitment("eu-savings-plan", "azure", "azure-compute", "Compute_SavingsPlan_1Y", "Spend", "Savings Plan",
               "eu-prod", "global", "1.9", 740, "daily", 5, 1, "az.d8s", "EUR"),
    DemoCommitment("n2-flex", "gcp", "gcp-compute", "Compute Flexible CUD 1 year", "Spend", "Committed Use Discount",
               "ml", "us-central1", "4.2", 720, "daily", 4, 1, "gcp.n2", "USD"),
)  # fmt: skip


def _anniversary(commitment: DemoCommitment, year: int) -> date:
    return date(year, commitment.month, commitment.day)


@cache
def term_of(commitment: DemoCommitment, day: date) -> CommitmentYear:
    start = _anniversary(commitment, day.year)
    return CommitmentYear(commitment, start if start <= day else _anniversary(commitment, day.year - 1))


def _fee(term: CommitmentYear, day: date, daily: int) -> int:
    """Return the billed fee of the commitment on that day."""
    if term.commitment.paid == "daily":
        return daily
    if term.commitment.paid == "upfront":
        return daily * term.days if day == term.start else 0
    return daily * _paid_days(term, day)


def _paid_days(term: CommitmentYear, day: date) -> int:
    """Days that a monthly fee covers: from the first, or the term's start, to the month's or the term's end."""
    if day.day != 1 and day != term.start:
        return 0
    following = date(day.year + day.month // 12, day.month % 12 + 1, 1)
    return (min(following, term.end) - day).days


def settle(commitment: DemoCommitment, day: date, usage: Sequence[tuple[ResourceLine, int]]) -> CommitmentDay:
    """Cover a day's usage (line, quantity in 1e-3), in the order given, until the commitment is used up."""
    term = term_of(commitment, day)
    spend = commitment.category == "Spend"
    remaining = term.daily_money if spend else term.daily_hours
    covered: list[CoveredUsage] = []
    for line, quantity in usage:
        price = line.sku.price * commitment.rate // 1000
        covered_part = min(quantity, remaining // price if spend else remaining)
        if covered_part <= 0:
            continue
        covered.append(CoveredUsage(line, covered_part, covered_part * price))
        remaining -= covered_part * price if spend else covered_part
    worth = remaining if spend else remaining * _hour_price(commitment)
    return CommitmentDay(term, covered, worth, 0 if spend else remaining, _fee(term, day, daily_worth(term)))


def daily_worth(term: CommitmentYear) -> int:
    """The cost of one day of the commitment, in 1e-12."""
    if term.commitment.category == "Spend":
        return term.daily_money
    return term.daily_hours * _hour_price(term.commitment)


def _hour_price(commitment: DemoCommitment) -> int:
    return SKUS[commitment.sku].price * commitment.rate // 1000
