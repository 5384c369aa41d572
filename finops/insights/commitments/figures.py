"""Utilization, coverage, waste and savings of commitments. Pure, exact sums and one division each.

Formulas (FOCUS 1.2 and its use cases, Microsoft's FinOps toolkit):

* committed = EffectiveCost of Used and Unused usage lines; waste = EffectiveCost of the Unused.
* utilization = used ÷ (used + unused): in quantity (CommitmentDiscountQuantity) for a usage-based commitment, in money for
  a spend-based one, and for several together, whose units differ.
* savings = on-demand value - committed; savings rate of commitments = savings ÷ on-demand value. The on-demand value is
  the ContractedCost of Used lines (ListCost: over list). Unused lines cost without having such a value, so they stay in.
* effective savings rate (FinOps Foundation) = 1 - actual ÷ on-demand equivalent, over all usage that a commitment could
  cover, covered or not: actual = committed + EffectiveCost of eligible usage at standard prices; the equivalent is the
  ContractedCost (or ListCost) of both.
* coverage = ListCost of Used lines ÷ (that + ListCost of usage that a commitment could cover).
* what one could cover: where a source's bills say it (CommitmentProgramEligibilityDetails, FOCUS 1.4), lines with such
  details or a CommitmentDiscountId, as the specification's coverage example does; else usage at standard prices of the
  services in which a commitment was used.

Traps: purchases are left out (EffectiveCost 0 and ListCost above 0 once amortized; their quantity counts the same hours
again); an export without Unused lines looks like 100 %, so without them utilization is None, unless recurring purchases
of the same days cost what the used lines do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Final

from finops.insights.commitments.lake import CommitmentSum
from finops.lib.money import exact_difference, exact_sum, ratio

USED, UNUSED = "Used", "Unused"

NO_UNUSED = (
    "The bills of {provider} have no lines of unused commitment on these days, so unused commitment "
    "is unknown. An export with FOCUS CommitmentDiscountStatus Unused includes them."
)
NOTHING_USED_OR_NOT = "No usage lines on these days."
NO_VALUE = "Nothing was used, so there is no on-demand value to compare."
NOT_PRICED = "Some used lines have no {column}, so their on-demand value is unknown."
NOT_ALL_PRICED = "Some eligible lines have no {column}, so their on-demand cost is unknown."
NOTHING_COVERED = "No commitment was used, so the eligible usage is unknown."


@dataclass(frozen=True)
class Ratio:
    """A ratio, or why there is none."""

    value: Decimal | None
    reason: str = ""


@dataclass(frozen=True)
class Figures:
    """Sums of one or several commitments in one currency. `exports` are the sources whose bills have Unused lines."""

    sums: Sequence[CommitmentSum]
    exports: Collection[str]

    @cached_property
    def used_sums(self) -> list[CommitmentSum]:
        return [each for each in self._usage if each.status == USED]

    @cached_property
    def unused_sums(self) -> list[CommitmentSum]:
        return [each for each in self._usage if each.status == UNUSED]

    @property
    def _usage(self) -> list[CommitmentSum]:
        return [each for each in self.sums if each.charge_category == "Usage"]

    @property
    def used_cost(self) -> Decimal:
        return exact_sum(each.effective for each in self.used_sums)

    @property
    def unused_cost(self) -> Decimal:
        return exact_sum(each.effective for each in self.unused_sums)

    @property
    def committed_cost(self) -> Decimal:
        """EffectiveCost of Used and Unused lines: FOCUS amortizes what was paid upfront into it."""
        return exact_sum([self.used_cost, self.unused_cost])

    @property
    def purchased_amount(self) -> Decimal:
        return exact_sum(each.billed for each in self.sums if each.charge_category == "Purchase")

    @property
    def commitments(self) -> set[str]:
        return {each.commitment for each in self.sums}

    @property
    def is_by_quantity(self) -> bool:
        """Whether it is one usage-based commitment whose lines all have their quantity in one unit."""
        has_quantities = all(each.quantity is not None for each in [*self.used_sums, *self.unused_sums])
        units = {each.unit for each in [*self.used_sums, *self.unused_sums]}
        usage_based = {each.category for each in self.sums if each.category} == {"Usage"}
        return len(self.commitments) == 1 and usage_based and has_quantities and len(units) == 1

    @property
    def used_quantity(self) -> Decimal | None:
        return (
            exact_sum(each.quantity or Decimal(0) for each in self.used_sums) if self.is_by_quantity else None
        )

    @property
    def unused_quantity(self) -> Decimal | None:
        return (
            exact_sum(each.quantity or Decimal(0) for each in self.unused_sums)
            if self.is_by_quantity
            else None
        )

    @property
    def has_what_is_unused(self) -> bool:
        """Whether the bills would show unused commitment: they have such lines, or the recurring fees of the same
        days are fully used."""
        if {each.source for each in self._usage} <= set(self.exports):
            return True
        fees = [
            each for each in self.sums if each.charge_category == "Purchase" and each.frequency == "Recurring"
        ]
        return bool(fees) and exact_sum(each.billed for each in fees) == self.committed_cost

    @property
    def utilization(self) -> Ratio:
        """used ÷ (used + unused), None without lines that show unused commitment (FOCUS, CommitmentDiscountStatus and
        CommitmentDiscountQuantity)."""
        if not self.used_sums and not self.unused_sums:
            return Ratio(None, NOTHING_USED_OR_NOT)
        if not self.has_what_is_unused:
            providers = sorted({each.provider for each in self._usage if each.source not in self.exports})
            return Ratio(None, NO_UNUSED.format(provider=" and ".join(providers) or "the provider"))
        if self.is_by_quantity:
            used, unused = self.used_quantity or Decimal(0), self.unused_quantity or Decimal(0)
            share = ratio(used, exact_sum([used, unused]))
        else:
            share = ratio(self.used_cost, self.committed_cost)
        return Ratio(share, "" if share is not None else "Used and unused commitment add up to 0.")

    @property
    def on_demand_cost(self) -> Decimal | None:
        """Cost of the used lines without a commitment: their ContractedCost (FOCUS: at contracted prices, before
        commitment discounts)."""
        return _sum_or_none(each.contracted for each in self.used_sums)

    @property
    def list_cost(self) -> Decimal | None:
        return _sum_or_none(each.list for each in self.used_sums)

    @property
    def net_savings(self) -> Decimal | None:
        """on_demand_cost - committed_cost, including unused commitment; None if a price is unknown."""
        if self.on_demand_cost is None:
            return None
        return exact_difference(self.on_demand_cost, self.committed_cost)

    @property
    def commitment_savings_rate(self) -> Ratio:
        """net_savings ÷ on_demand_cost. Of commitments only, so it is not the effective savings rate; our rule
        (docs/adr/0022)."""
        return self._rate(self.on_demand_cost, "ContractedCost")

    @property
    def commitment_savings_rate_over_list(self) -> Ratio:
        """The same with ListCost instead of ContractedCost."""
        return self._rate(self.list_cost, "ListCost")

    def _rate(self, value: Decimal | None, column: str) -> Ratio:
        if value is None:
            return Ratio(None, NOT_PRICED.format(column=column))
        share = ratio(exact_difference(value, self.committed_cost), value)
        return Ratio(share, "" if share is not None else NO_VALUE)


@dataclass(frozen=True)
class Eligibility:
    """Uncovered usage that a commitment could cover: for `by_details`, (source, provider) whose bills state it for
    each line, what they state; for others, standard usage of `services`, (provider, service) with a used commitment.
    """

    services: frozenset[tuple[str, str]] = frozenset()
    by_details: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, sums: Iterable[CommitmentSum]) -> Eligibility:
        every = list(sums)
        by_details = frozenset((each.source, each.provider) for each in every if each.eligible)
        return cls(frozenset(covered_services(every)), by_details)

    @property
    def is_known(self) -> bool:
        return bool(self.services or self.by_details)

    def includes(self, each: CommitmentSum) -> bool:
        """Return whether a usage line without a commitment is eligible."""
        if (each.source, each.provider) in self.by_details:
            return each.eligible
        return (each.provider, each.service) in self.services

    def rules(self, sums: Iterable[CommitmentSum]) -> str:
        """Rule of eligibility for these lines: eligibility_details, services, or mixed."""
        used = {(each.source, each.provider) in self.by_details for each in sums}
        return "mixed" if len(used) > 1 else "eligibility_details" if True in used else "services"


@dataclass(frozen=True)
class CommitmentCoverage:
    """Covered share of eligible usage, at list prices."""

    covered: Decimal | None
    eligible: Decimal | None
    share: Ratio


def coverage_of(sums: Iterable[CommitmentSum], eligibility: Eligibility) -> CommitmentCoverage:
    """ListCost of used lines ÷ (that + ListCost of usage that commitments could have covered). At list prices, so
    that a discount does not lower coverage; eligibility is that of FOCUS 1.4, else our rule (docs/adr/0022)."""
    usage = [each for each in sums if each.charge_category == "Usage"]
    inside = [each for each in usage if each.commitment or eligibility.includes(each)]
    covered = _sum_or_none(each.list for each in inside if each.commitment and each.status == USED)
    standard = _sum_or_none(each.list for each in inside if not each.commitment)
    if not eligibility.is_known:
        return CommitmentCoverage(None, None, Ratio(None, NOTHING_COVERED))
    if covered is None or standard is None:
        return CommitmentCoverage(covered, None, Ratio(None, NOT_PRICED.format(column="ListCost")))
    eligible = exact_sum([covered, standard])
    share = ratio(covered, eligible)
    return CommitmentCoverage(
        covered, eligible, Ratio(share, "" if share is not None else "The eligible usage cost 0.")
    )


@dataclass(frozen=True)
class EffectiveSavings:
    """Cost of all eligible usage, and its on-demand equivalent. `of` names the prices of `on_demand` and `rate`:
    contracted, or list if some lines have no contracted price."""

    actual: Decimal | None
    on_demand: Decimal | None
    of: str
    rate: Ratio
    over_list: Ratio


def effective_savings_of(sums: Iterable[CommitmentSum], eligibility: Eligibility) -> EffectiveSavings:
    """1 - EffectiveCost ÷ ContractedCost over usage that commitments covered or could have covered, including unused
    commitment. Source: FinOps Foundation, KPI "Effective Savings Rate Percentage"; eligible lines: docs/adr/0022."""
    if not eligibility.is_known:
        nothing = Ratio(None, NOTHING_COVERED)
        return EffectiveSavings(None, None, "", nothing, nothing)
    usage = [each for each in sums if each.charge_category == "Usage"]
    standard = [each for each in usage if not each.commitment and eligibility.includes(each)]
    used = [each for each in usage if each.commitment and each.status == USED]
    unused = [each for each in usage if each.commitment and each.status == UNUSED]
    actual = exact_sum(each.effective for each in [*used, *unused, *standard])
    contracted = _sum_or_none(each.contracted for each in [*used, *standard])
    list_cost = _sum_or_none(each.list for each in [*used, *standard])
    over_list = _savings_rate(actual, list_cost, "ListCost")
    if contracted is not None or list_cost is None:
        rate = _savings_rate(actual, contracted, "ContractedCost")
        return EffectiveSavings(
            actual, contracted, "contracted" if contracted is not None else "", rate, over_list
        )
    return EffectiveSavings(actual, list_cost, "list", over_list, over_list)


def _savings_rate(actual: Decimal, on_demand: Decimal | None, column: str) -> Ratio:
    if on_demand is None:
        return Ratio(None, NOT_ALL_PRICED.format(column=column))
    share = ratio(exact_difference(on_demand, actual), on_demand)
    return Ratio(share, "" if share is not None else "The eligible usage costs 0 on demand.")


def covered_services(sums: Iterable[CommitmentSum]) -> set[tuple[str, str]]:
    """Return (provider, service) of every used commitment line, which shows where a commitment applies. FOCUS before
    1.4 has no other information."""
    return {
        (each.provider, each.service)
        for each in sums
        if each.commitment and each.charge_category == "Usage" and each.status == USED
    }


def _sum_or_none(amounts: Iterable[Decimal | None]) -> Decimal | None:
    values = list(amounts)
    return (
        None
        if any(amount is None for amount in values)
        else exact_sum(amount or Decimal(0) for amount in values)
    )


_YEARS: Final = re.compile(r"(?<![\d.])([135])[\s_-]?(?:yrs?|years?|y)(?![a-z])", re.IGNORECASE)
_MONTHS: Final = re.compile(r"(?<!\d)(12|36)[\s_-]?(?:months?|mo)(?![a-z])", re.IGNORECASE)

NO_TERM = (
    "Term unknown: neither its name nor its lines contain one. A Contract Commitment file (FOCUS 1.3) does."
)
NO_PURCHASE = "Term start unknown: its purchase is not in the bills."


@dataclass(frozen=True)
class Term:
    """Last day of a term; `reason`: how it was determined, or why it is unknown."""

    ends_on: date | None
    reason: str


def term_of(texts: list[str], bought_on: date | None) -> Term:
    """Return the end of the term that began with the newest purchase. FOCUS has no column for it before 1.3; our
    estimate."""
    years = next((count for text in texts if (count := _years(text))), None)
    if years is None:
        return Term(None, NO_TERM)
    if bought_on is None:
        return Term(None, NO_PURCHASE)
    leap = (bought_on.month, bought_on.day) == (2, 29)
    year = bought_on.year + years
    anniversary = date(year, 3, 1) if leap else bought_on.replace(year=year)
    noun = "year" if years == 1 else "years"
    reason = f"Estimated: bought on {bought_on}; its name contains {years} {noun}."
    return Term(anniversary - timedelta(days=1), reason)


def _years(text: str) -> int | None:
    if match := _YEARS.search(text):
        return int(match[1])
    match = _MONTHS.search(text)
    return int(match[1]) // 12 if match else None
