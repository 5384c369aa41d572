"""Exact cost by every value of a dimension, none folded, for apps above to divide and allocate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property

from accounts.models import Account
from finops.costs.answers import AppliedComparison, AppliedPeriod, SpendTotal
from finops.costs.coverage import Bucket, buckets_of
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import no_values_clause
from finops.costs.queries.closed_months import restatement_clause
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import find_values, plan_of, read_sums_of, resolve_query
from finops.costs.queries.spend_answer import (
    comparison_clause,
    period_of,
    totals_of,
    warnings_of,
)
from finops.costs.queries.spend_facts import SpendFacts
from finops.costs.queries.spend_lake import ALL_GROUPS, SpendSum
from finops.costs.queries.spend_words import not_final
from finops.costs.spend_query import SpendQuery
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange


@dataclass
class ValueCost:
    """The cost of one value in one currency. `buckets` are by first day; buckets without lines are left out.

    `allocated` is the part that shared-cost splits on the dimension moved here.
    """

    value: str
    currency: str
    label: str = ""
    amount: Decimal = Decimal(0)
    allocated: Decimal = Decimal(0)
    buckets: dict[date, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class CostSums:
    """The sums of a question, and the notes of its answer."""

    facts: SpendFacts
    sums: Sequence[SpendSum]

    @property
    def days(self) -> DateRange:
        return self.facts.plan.days

    @property
    def period(self) -> AppliedPeriod:
        return period_of(self.facts)

    @property
    def absent(self) -> str:
        """The name for cost without a value of the dimension."""
        return self.facts.plan.dimensions[0].absent

    @property
    def days_with_data(self) -> int:
        return self.facts.sources.coverage.days_with_data(self.days)

    @cached_property
    def buckets(self) -> list[Bucket]:
        return buckets_of(self.facts.plan.granularity, self.days, self.facts.sources.coverage)

    @property
    def comparison(self) -> AppliedComparison | None:
        return self.facts.comparison

    @property
    def not_final(self) -> str:
        """Return a clause on the amount on incomplete days."""
        return not_final(self.facts, self.sums)

    @property
    def restatement(self) -> str:
        """Return a clause on closed months of these days that were restated."""
        return restatement_clause(self.facts.sources, self.facts.plan.ranges, self.facts.plan.basis)

    @property
    def missing(self) -> str:
        """Return a clause on dimensions and filter values that no cost has."""
        return no_values_clause(self.facts.dimensions) + self.facts.findings.clause

    @property
    def comparison_clause(self) -> str:
        """Return a clause on why the requested comparison has no change, or on periods of different lengths."""
        return comparison_clause(self.facts)

    def only(self, values: Collection[str]) -> CostSums:
        """Return the sums of lines that have one of these values."""
        return replace(self, sums=[part for part in self.sums if part.keys[0] in values])

    def totals(self) -> list[SpendTotal]:
        """Return a total for each currency with lines, the largest first."""
        return totals_of(self.facts, self.sums, self.buckets)

    def by_value(self) -> list[ValueCost]:
        """Return the counted cost by value of the first dimension and currency."""
        costs: dict[tuple[str, str], ValueCost] = {}
        for part in self.sums:
            if not self.facts.plan.counts(part.charge_category):
                continue
            value, label = part.keys[0] or "", part.labels[0] or ""
            cost = costs.setdefault((value, part.currency), ValueCost(value, part.currency))
            cost.amount = exact_sum([cost.amount, part.amount])
            cost.allocated = exact_sum([cost.allocated, part.allocated])
            cost.label = max(cost.label, label)
            if part.bucket is not None:
                before = cost.buckets.get(part.bucket, Decimal(0))
                cost.buckets[part.bucket] = exact_sum([before, part.amount])
        for cost in costs.values():
            cost.label = strip_date_prefix(cost.label)
        return list(costs.values())

    def warnings(self, totals: Sequence[SpendTotal]) -> list[str]:
        """Return the warnings of an answer about this spend."""
        return warnings_of(self.facts, totals, self.buckets)


def read_costs(
    account: Account,
    query: SpendQuery,
    *,
    deadline: float | None = None,
    together: bool = False,
    sources: Sources | None = None,
) -> CostSums:
    """Return the cost of a query by every value of its dimension, in the account's cost view.

    `together`: a comparison pairs the same days of all sources. `limit` is ignored. Raises UserError as `query_spend`
    does, and when there are too many sums for memory. Cost: one lake query, one or two more with filters; after
    splits as `read_sums_of` says; PostgreSQL as for `query_spend`.
    """
    sources = sources or load_sources(account)
    question = resolve_query(account, query, sources, together=together)
    plan = replace(plan_of(question), limit=ALL_GROUPS)
    sums, split = read_sums_of(account, question, plan, deadline)
    facts = SpendFacts(
        account=account,
        query=query,
        plan=plan,
        view=question.view,
        compared=question.compared,
        sources=sources,
        findings=find_values(account, plan, deadline, sources.manifest, split),
        split_result=split,
    )
    return CostSums(facts, sums)
