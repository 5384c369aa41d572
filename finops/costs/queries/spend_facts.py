"""The data of an answer about spend besides the sums: the effect of splits, and the notes of higher packages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import cached_property

from accounts.models import Account
from finops.costs.answers import AppliedComparison, AppliedCostView
from finops.costs.comparison import ComparisonRanges, applied_comparison
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import Dimension, DimensionContext
from finops.costs.queries.filter_values import FilterFindings
from finops.costs.queries.source_notes import SourceNotes, selected_sources, source_notes
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_lake import SpendPlan, SpendSum
from finops.costs.spend_query import SpendQuery
from finops.costs.split_registry import SplitQuestion, SplitResult, is_splittable, run_splits
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.registry import Registry
from finops.lib.sentences import money


@dataclass(frozen=True)
class SpendNoteContext:
    """A question with its answer: its sums, and `amounts`, the counted totals by currency."""

    account: Account
    plan: SpendPlan
    context: DimensionContext
    sums: Sequence[SpendSum]
    amounts: Mapping[str, Decimal]
    deadline: float | None
    as_lines: str = ""
    """Which line amounts apply when sums were split or spread: before splits, or on their own days; else empty."""


@dataclass(frozen=True)
class SpendNotes:
    """`clause` is part of the first sentence and starts with a semicolon; empty without a note."""

    clause: str = ""
    warnings: tuple[str, ...] = ()


spend_notes: Registry[Callable[[SpendNoteContext], SpendNotes]] = Registry("spend note")


def related_notes(question: SpendNoteContext) -> SpendNotes:
    """Return the notes, in the order of registration."""
    notes = [note(question) for note in spend_notes.values()]
    return SpendNotes(
        "".join(each.clause for each in notes),
        tuple(sentence for each in notes for sentence in each.warnings),
    )


ZERO = Decimal(0)

Keys = tuple[str | None, ...]


@dataclass(frozen=True)
class SplitGain:
    """The amount that splits would add to a group."""

    name: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class SplitPreview:
    """`totals`: by currency after splits, where filters change the amount; `gains`: by group, largest first."""

    totals: Mapping[str, Decimal] = field(default_factory=dict)
    gains: Sequence[SplitGain] = ()


def split_preview(question: SplitQuestion, sums: Sequence[SpendSum], *, with_groups: bool) -> SplitPreview:
    """Return what splits would change in a question's sums, which are before splits.

    Only for filters on values of split dimensions and, `with_groups`, for groups by such. One query of PostgreSQL,
    and the cost of `run_splits` where a split is on such a dimension.
    """
    plan = question.plan
    has_split_filter = any(item.op == "in" and is_splittable(item.dimension.name) for item in plan.filters)
    groups = tuple(each for each in plan.dimensions if with_groups and is_splittable(each.name))
    if not has_split_filter and not groups:
        return SplitPreview()
    reduced = replace(plan, dimensions=groups, granularity="none", compared=None, previous=None)
    try:
        split = run_splits(replace(question, plan=reduced))
    except UserError:
        # Too many groups for a note. The same query after splits returns an error that says what to do.
        return SplitPreview()
    changes = sum_counted_cost(plan, split.moves) if has_split_filter else {}
    after = sum_counted_cost(plan, [*sums, *split.moves]) if any(changes.values()) else {}
    totals = {currency: amount for (_, currency), amount in after.items()}
    return SplitPreview(totals, _gains(reduced, split) if groups else ())


def _gains(plan: SpendPlan, split: SplitResult) -> list[SplitGain]:
    """Return the gains of all values but the splits' sources."""
    sources = {effect.applied.source_value.casefold() for effect in split.effects}
    moves = with_names(plan, split.moves)
    names = {
        move.keys: " / ".join(
            strip_date_prefix(label) or key or "" for key, label in zip(move.keys, move.labels, strict=True)
        )
        for move in moves
    }
    sums = sum_counted_cost(plan, moves, range(len(plan.dimensions)))
    gains = [
        SplitGain(names[keys], amount, currency)
        for (keys, currency), amount in sums.items()
        if amount and not sources & {(key or "").casefold() for key in keys}
    ]
    return sorted(gains, key=lambda gain: (-gain.amount.copy_abs(), gain.currency, gain.name))


def sum_counted_cost(
    plan: SpendPlan, sums: Sequence[SpendSum], places: Sequence[int] = ()
) -> dict[tuple[Keys, str], Decimal]:
    """Return the counted sums by the values of these dimensions of the plan and the currency."""
    totals: dict[tuple[Keys, str], Decimal] = {}
    for part in sums:
        if plan.counts(part.charge_category):
            key = tuple(part.keys[place] for place in places), part.currency
            totals[key] = exact_sum([totals.get(key, ZERO), part.amount])
    return totals


def with_names(plan: SpendPlan, sums: list[SpendSum]) -> list[SpendSum]:
    """Return the sums with display names of listed values from an app above. One query for each such dimension."""
    for place, dimension in enumerate(plan.dimensions):
        if dimension.names is None:
            continue
        listed = {key for part in sums if (key := part.keys[place]) is not None}
        names = dimension.names.names(listed) if listed else {}
        sums = [_with_label(part, place, names) for part in sums]
    return sums


def _with_label(part: SpendSum, place: int, names: Mapping[str, str]) -> SpendSum:
    name = names.get(part.keys[place] or "")
    if not name:
        return part
    dated_name = f"{date.max}{name}"  # sorts labels after their day
    return part._replace(labels=(*part.labels[:place], dated_name, *part.labels[place + 1 :]))


@dataclass(frozen=True)
class MissingMeasureCost:
    """The cost of lines without a measure in one currency, in both bases."""

    currency: str
    billed: Decimal
    amortized: Decimal

    def words(self, basis: str) -> str:
        """Return the amount with its basis. What a commitment pays is billed as 0, so 0 gives the other basis too."""
        amount, other = (self.billed, self.amortized) if basis == "billed" else (self.amortized, self.billed)
        other_basis = "amortized" if basis == "billed" else "billed"
        other_text = f" ({money(other, self.currency)} {other_basis})" if not amount else ""
        return f"{money(amount, self.currency)} {basis}{other_text}"


@dataclass(frozen=True)
class SpendFacts:
    """The inputs of an answer, besides the sums."""

    account: Account
    query: SpendQuery
    plan: SpendPlan
    view: AppliedCostView
    compared: ComparisonRanges | None
    sources: Sources
    findings: FilterFindings
    split_result: SplitResult = field(default_factory=SplitResult)
    missing_measure: Sequence[MissingMeasureCost] = ()
    """The cost of lines that have no value of the measure."""
    after_splits: SplitPreview = field(default_factory=SplitPreview)
    """The effect of splits, where the question is before splits."""
    own_amounts: Mapping[str, Decimal] | None = None
    """The totals in the bills' currencies, where the answer is converted."""
    related_notes: SpendNotes = field(default_factory=SpendNotes)
    """The notes of apps above."""

    @property
    def dimensions(self) -> list[Dimension]:
        """Those of the groups and filters."""
        return [*self.plan.dimensions, *(item.dimension for item in self.plan.filters)]

    @property
    def names(self) -> dict[int, str]:
        """Names of sources, by id."""
        return self.sources.names_by_id

    @cached_property
    def source_notes(self) -> SourceNotes:
        """Notes on sources that deliver no new data. One query."""
        return source_notes(self.account, self.sources, self.plan.filters, self.plan.days)

    @cached_property
    def selected_sources(self) -> set[int] | None:
        """The sources whose cost the filters may select; None for all. After splits, filters also select cost that
        other sources billed. At most one query."""
        if self.query.splits == "after":
            return None
        return selected_sources(self.account, self.sources, self.plan.filters, self.plan.days)

    @property
    def comparison(self) -> AppliedComparison | None:
        return applied_comparison(self.query.compare_to, self.compared, self.plan.days, self.names)
