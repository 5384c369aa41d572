"""Reads about shared-cost splits: the list, and what each split moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.allocation.queries.split_moves import moves_of
from finops.allocation.queries.split_rules import split_of
from finops.allocation.splits.rules import Split
from finops.allocation.splits.schemas import (
    EffectTotal,
    ListedSplit,
    SplitEffectAnswer,
    SplitEffectRow,
    SplitsAnswer,
    SplitTarget,
)
from finops.costs.answers import AccountRef, AppliedCostView, MoneyAmount
from finops.costs.dated_names import strip_date_prefix
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries.cost_view import ALL, apply_overrides
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import run_plan
from finops.costs.queries.spend_lake import ALL_GROUPS, SpendPlan, SpendSum
from finops.costs.queries.spend_words import uncovered_words
from finops.costs.split_registry import ReceivedAmount, SplitEffect, SplitQuestion, SplitResult
from finops.exchange_rates.missing_rates import unconverted_clause
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange, month_end, month_start
from finops.lib.sentences import join_first, join_with_and, money, quote

SHOWN_TARGETS = 20
NAMED = 3
NO_SPLITS = "No shared-cost splits. Members create them on the Shared costs page."


def last_complete_month(sources: Sources) -> DateRange:
    """Return the last calendar month that the data covers completely; without data, counted from today."""
    through = sources.coverage.complete_through or clock.today()
    last = through if through == month_end(through) else month_start(through) - timedelta(days=1)
    return DateRange(month_start(last), last)


def list_splits(account: Account, *, search: str = "", deadline: float | None = None) -> SplitsAnswer:
    """Splits whose name, dimension, source or target contains `search`, ignoring case, and what each moved in the
    last complete month in the account's cost view.

    The account must be in scope. Cost: a lake query for each dimension with splits, one more for proportional splits
    and one for each usage metric.
    """
    rows = list(SharedCostSplit.objects.filter(account=account))
    asking = _SplitReader.of(account, deadline)
    days = last_complete_month(asking.sources)
    effects, warnings = _effects(asking, [split_of(row) for row in rows], days)
    splits = [_listing_of(row, effects.get(row.pk)) for row in rows if _matches_search(row, search)]
    unconverted = unconverted_clause(part.currency for each in splits for part in [*each.moved, *each.stayed])
    uncovered = uncovered_words(asking.sources.coverage, days)
    return SplitsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, splits, days, search.strip(), f"{uncovered}{unconverted}"),
        view=asking.view,
        start_date=days.start,
        end_date=days.end,
        splits=splits,
        data_through=asking.sources.coverage.complete_through,
        truncated="",
        warnings=warnings,
        hint="Use querySpend with splits after for cost after splits." if splits else NO_SPLITS,
    )


def _matches_search(row: SharedCostSplit, search: str) -> bool:
    targets = [target["value"] for target in row.targets]
    texts = [row.name, row.dimension, row.source_value, row.usage_metric, *targets]
    return search.strip().casefold() in "\n".join(texts).casefold()


@dataclass(frozen=True)
class _SplitReader:
    account: Account
    sources: Sources
    context: DimensionContext
    view: AppliedCostView
    deadline: float | None

    @classmethod
    def of(cls, account: Account, deadline: float | None) -> _SplitReader:
        sources = load_sources(account)
        view = apply_overrides(sources.view, basis=None, charge_categories=())
        context = DimensionContext(account, sources.view.product_key, sources.names, sources.manifest)
        return cls(account, sources, context, view, deadline)

    def plan(self, dimension: Dimension, days: DateRange) -> SpendPlan:
        return SpendPlan(
            days=days,
            dimensions=(dimension,),
            filters=(),
            basis=self.view.basis,
            categories=() if self.view.charge_categories == [ALL] else tuple(self.view.charge_categories),
            granularity="none",
            limit=ALL_GROUPS,
        )

    def apply_splits(self, plan: SpendPlan, splits: Sequence[Split]) -> SplitResult:
        question = SplitQuestion(self.account, plan, self.context, self.deadline, self.sources.manifest)
        return moves_of(question, splits)


def _effects(
    asking: _SplitReader, splits: Sequence[Split], days: DateRange
) -> tuple[dict[int, SplitEffect], list[str]]:
    effects: dict[int, SplitEffect] = {}
    warnings: list[str] = []
    for name in dict.fromkeys(split.dimension for split in splits):
        own_splits = [split for split in splits if split.dimension == name]
        try:
            dimension = registry.resolve(asking.context, name, field="dimension")
        except UserError as problem:
            warnings.append(f"Splits on {name} have no effect: {problem.message}")
            continue
        result = asking.apply_splits(asking.plan(dimension, days), own_splits)
        effects |= {effect.split_id: effect for effect in result.effects}
        warnings += [*dimension.warnings, *result.warnings]
    return effects, warnings


def _listing_of(row: SharedCostSplit, effect: SplitEffect | None) -> ListedSplit:
    received = _by_target(effect.received if effect else ())
    named = {target["value"]: target["percent"] for target in row.targets}
    names = list(named) or sorted(received, key=lambda name: (_size(received[name]), name))
    return ListedSplit(
        id=row.pk,
        name=row.name,
        dimension=row.dimension,
        source_value=row.source_value,
        method=row.method,
        every_customer=row.every_customer,
        usage_metric=row.usage_metric,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        targets=[
            SplitTarget(
                value=name,
                percent=Decimal(percent) if (percent := named.get(name)) else None,
                received=received.get(name, []),
            )
            for name in names[:SHOWN_TARGETS]
        ],
        other_targets=max(0, len(names) - SHOWN_TARGETS),
        moved=effect.applied.moved if effect else [],
        stayed=effect.applied.stayed if effect else [],
        reason=effect.applied.reason if effect else "",
    )


def _by_target(received: Iterable[ReceivedAmount]) -> dict[str, list[MoneyAmount]]:
    by_target: dict[str, list[MoneyAmount]] = {}
    for part in sorted(received, key=lambda part: part.currency):
        by_target.setdefault(part.target, []).append(MoneyAmount(amount=part.amount, currency=part.currency))
    return by_target


def _size(amounts: Sequence[MoneyAmount]) -> tuple[Decimal, str]:
    largest = max(amounts, key=lambda part: part.amount.copy_abs())
    return largest.amount.copy_abs().copy_negate(), largest.currency


def _summary(
    account: Account, splits: Sequence[ListedSplit], days: DateRange, search: str, caveats: str
) -> str:
    """Return what the splits moved in one sentence. `caveats`: clauses on days without bills and missing rates."""
    if not splits and search:
        return f"{quote(account.name)} has no shared-cost split that matches {quote(search, 60)}."
    if not splits:
        return f"{quote(account.name)} has no shared-cost splits."
    named = [
        f"{split.name!r} moved {_amounts_text(split.moved) or 'nothing'}"
        for split in sorted(splits, key=lambda split: _size(split.moved) if split.moved else (Decimal(1), ""))
    ]
    noun = "split" if len(splits) == 1 else "splits"
    stayed = [f"{_amounts_text(split.stayed)} of {split.name!r}" for split in splits if split.stayed]
    not_split = f"; not split: {join_first(stayed, NAMED)}" if stayed else ""
    return (
        f"{quote(account.name)} has {len(splits)} shared-cost {noun}; from {days.start} to {days.end}, "
        f"{join_first(named, NAMED)}{not_split}{caveats}."
    )


def _amounts_text(amounts: Sequence[MoneyAmount]) -> str:
    return join_with_and([money(part.amount, part.currency) for part in amounts])


def has_splits_on(account: Account, dimension: str) -> bool:
    """Whether any split is on this dimension by name. One query."""
    return SharedCostSplit.objects.filter(account=account, dimension=dimension).exists()


def split_effect(
    account: Account, split: SharedCostSplit, days: DateRange, *, deadline: float | None = None
) -> SplitEffectAnswer:
    """Return what one split alone, saved or not, does to the values of its dimension in these days.

    The account must be in scope. Raises UserError when its dimension no longer exists. Cost: two lake queries, one
    more for a proportional split and for one by usage.
    """
    asking = _SplitReader.of(account, deadline)
    dimension = registry.resolve(asking.context, split.dimension, field="dimension")
    plan = asking.plan(dimension, days)
    result = asking.apply_splits(plan, [split_of(split)])
    sums = run_plan(account, plan, deadline, asking.sources.manifest)
    counted = [part for part in sums if plan.counts(part.charge_category)]
    moves = [part for part in result.moves if plan.counts(part.charge_category)]
    currencies = sorted({part.currency for part in counted})
    return SplitEffectAnswer(
        view=asking.view,
        start_date=days.start,
        end_date=days.end,
        totals=[_effect_total(split, counted, moves, currency) for currency in currencies],
        moved=[part for effect in result.effects for part in effect.applied.moved],
        warnings=[*dimension.warnings, *result.warnings],
    )


def _effect_total(
    split: SharedCostSplit, sums: Sequence[SpendSum], moves: Sequence[SpendSum], currency: str
) -> EffectTotal:
    before, moved = _by_value(sums, currency), _by_value(moves, currency)
    labels: dict[str | None, str] = {}
    for part in [*sums, *moves]:
        labels[part.keys[0]] = max(labels.get(part.keys[0], ""), part.labels[0] or "")
    shown = {split.source_value, *(target["value"] for target in split.targets), *moved}
    rows = [_effect_row(name, strip_date_prefix(labels.get(name)), before, moved, currency) for name in shown]
    other_amounts = [amount for name, amount in before.items() if name not in shown]
    return EffectTotal(
        currency=currency,
        rows=sorted(rows, key=lambda row: (row.value != split.source_value, -row.moved, row.value)),
        others=exact_sum(other_amounts),
        other_values=len(other_amounts),
        whole=exact_sum(before.values()),
    )


def _effect_row(
    name: str, label: str | None, before: Mapping[str, Decimal], moved: Mapping[str, Decimal], currency: str
) -> SplitEffectRow:
    previous, received = before.get(name, Decimal(0)), moved.get(name, Decimal(0))
    return SplitEffectRow(
        value=name,
        label=label or name,
        before=previous,
        moved=received,
        after=exact_sum([previous, received]),
        currency=currency,
    )


def _by_value(sums: Iterable[SpendSum], currency: str) -> dict[str, Decimal]:
    by_value: dict[str, list[Decimal]] = {}
    for part in sums:
        if part.currency == currency:
            by_value.setdefault(part.keys[0] or "", []).append(part.amount)
    return {name: exact_sum(amounts) for name, amounts in by_value.items()}
