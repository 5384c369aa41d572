"""What an answer about spend is made from, besides the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from accounts.models import Account
from finops.costs.answers import ComparisonUsed, ViewUsed
from finops.costs.comparison import Compared, comparison_used
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_beside import Beside
from finops.costs.queries.spend_lake import SpendPlan
from finops.costs.queries.split_shares import AfterSplits
from finops.costs.spend_query import SpendQuery
from finops.costs.splitting import Splitting
from finops.lib.spoken import money


@dataclass(frozen=True)
class LackingCost:
    """What lines without a measure cost in one currency, in both bases."""

    currency: str
    billed: Decimal
    amortized: Decimal

    def words(self, basis: str) -> str:
        """The amount of a basis, which it names. What a commitment pays is billed as 0, so 0 names the other too."""
        amount, other = (self.billed, self.amortized) if basis == "billed" else (self.amortized, self.billed)
        rest = "amortized" if basis == "billed" else "billed"
        beside = f" ({money(other, self.currency)} {rest})" if not amount else ""
        return f"{money(amount, self.currency)} {basis}{beside}"


@dataclass(frozen=True)
class SpendFacts:
    """What an answer is made from, besides the sums."""

    account: Account
    query: SpendQuery
    plan: SpendPlan
    view: ViewUsed
    compared: Compared | None
    sources: Sources
    findings: FilterFindings
    splitting: Splitting = field(default_factory=Splitting)
    lacking: Sequence[LackingCost] = ()
    """What the lines cost that have no value in the measure."""
    after_splits: AfterSplits = field(default_factory=AfterSplits)
    """What splits would change, where the question is before them."""
    beside: Beside = field(default_factory=Beside)
    """What higher rooms name beside the amount."""

    @property
    def names(self) -> dict[int, str]:
        """Of sources, by id."""
        return {source: each.name for source, each in self.sources.health.items()}

    @property
    def comparison(self) -> ComparisonUsed | None:
        return comparison_used(self.query.compare_to, self.compared, self.plan.days, self.names)
