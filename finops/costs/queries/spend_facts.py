"""What an answer about spend is made from, besides the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from accounts.models import Account
from finops.costs.answers import ComparisonUsed, ViewUsed
from finops.costs.comparison import ComparisonRanges, comparison_used
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_lake import SpendPlan
from finops.costs.queries.spend_notes import SpendNotes
from finops.costs.queries.split_shares import SplitPreview
from finops.costs.spend_query import SpendQuery
from finops.costs.split_registry import SplitResult
from finops.lib.sentences import money


@dataclass(frozen=True)
class MissingMeasureCost:
    """What lines without a measure cost in one currency, in both bases."""

    currency: str
    billed: Decimal
    amortized: Decimal

    def words(self, basis: str) -> str:
        """The amount of a basis, which it names. What a commitment pays is billed as 0, so 0 names the other too."""
        amount, other = (self.billed, self.amortized) if basis == "billed" else (self.amortized, self.billed)
        rest = "amortized" if basis == "billed" else "billed"
        other_text = f" ({money(other, self.currency)} {rest})" if not amount else ""
        return f"{money(amount, self.currency)} {basis}{other_text}"


@dataclass(frozen=True)
class SpendFacts:
    """What an answer is made from, besides the sums."""

    account: Account
    query: SpendQuery
    plan: SpendPlan
    view: ViewUsed
    compared: ComparisonRanges | None
    sources: Sources
    findings: FilterFindings
    split_result: SplitResult = field(default_factory=SplitResult)
    missing_measure: Sequence[MissingMeasureCost] = ()
    """What the lines cost that have no value in the measure."""
    after_splits: SplitPreview = field(default_factory=SplitPreview)
    """What splits would change, where the question is before them."""
    related_notes: SpendNotes = field(default_factory=SpendNotes)
    """What higher rooms name beside the amount."""

    @property
    def names(self) -> dict[int, str]:
        """Of sources, by id."""
        return {source: each.name for source, each in self.sources.health.items()}

    @property
    def comparison(self) -> ComparisonUsed | None:
        return comparison_used(self.query.compare_to, self.compared, self.plan.days, self.names)
