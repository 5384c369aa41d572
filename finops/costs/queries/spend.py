"""Queries of spend: the one function behind the cost explorer and the tool querySpend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from msgspec import structs

from accounts.models import Account
from finops.costs.answers import AppliedCostView, SpendAnswer
from finops.costs.comparison import ComparisonRanges, comparison_ranges_by_source
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.filters import ResolvedFilter, resolve_filters
from finops.costs.queries.after_splits import after_splits
from finops.costs.queries.charge_spread import spread_of
from finops.costs.queries.cost_view import ALL, apply_overrides
from finops.costs.queries.filter_values import FilterFindings, labels_of_filters, look_up
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_answer import assemble
from finops.costs.queries.spend_facts import (
    MissingMeasureCost,
    SpendFacts,
    SpendNoteContext,
    SpendNotes,
    SplitPreview,
    related_notes,
    split_preview,
    sum_counted_cost,
    with_names,
)
from finops.costs.queries.spend_lake import (
    ALL_GROUPS,
    COST_COLUMNS,
    UNITS,
    MissingMeasureBuild,
    SpendBuild,
    SpendPlan,
    SpendSum,
    read_sums,
)
from finops.costs.spend_query import DEFAULT_PERIOD, MAX_GROUPS, SpendQuery
from finops.costs.split_registry import SplitQuestion, SplitResult, run_splits
from finops.costs.value_names import with_value_names
from finops.lake.engine import engine
from finops.lake.engine.conversion import currency_scope, display_currency
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import currencies_by_amount
from finops.lib.periods import DateRange, resolve_range

MAX_BUCKETS = 400
MAX_SUMS = 200_000
"""The maximum of sums of all groups read into memory; about 1 KB each."""

BUCKET_DAYS = {"none": 100_000, "day": 1, "week": 7, "month": 28}


@dataclass(frozen=True)
class Question:
    """A query with all its names resolved."""

    query: SpendQuery
    days: DateRange
    view: AppliedCostView
    dimensions: tuple[Dimension, ...]
    filters: tuple[ResolvedFilter, ...]
    compared: ComparisonRanges | None
    context: DimensionContext
    incomplete: tuple[tuple[int, date], ...] = ()


def query_spend(
    account: Account,
    query: SpendQuery,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
    with_notes: bool = False,
) -> SpendAnswer:
    """Return the spend of a query, in the account's cost view unless the query overrides it.

    Amounts are exact and never added across currencies. `deadline` is a `time.monotonic()` time. Raises UserError for
    errors that the caller can correct. `sources` avoids reading them again. Cost: one lake query for both sides of a
    comparison and all parts of the totals; one small query more when filters name values, and another when a value is
    not in the data. PostgreSQL: two queries, one more when a tag is used, one or two more for each lake query. After
    splits: see `read_sums_of`. `with_notes` adds `related_notes`: with a tag, cost tag or team, one lake
    query and at most three of PostgreSQL more.
    """
    return assemble(*read_spend(account, query, sources=sources, deadline=deadline, with_notes=with_notes))


def read_spend(
    account: Account,
    query: SpendQuery,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
    with_notes: bool = False,
) -> tuple[SpendFacts, list[SpendSum]]:
    """Return the data of `query_spend` for callers that write their own first sentence. Raises and costs the same."""
    sources = sources or load_sources(account)
    question = resolve_query(account, query, sources)
    plan = plan_of(question)
    sums, split = read_sums_of(account, question, plan, deadline)
    notes = _related_notes(account, question, plan, sums, split, deadline) if with_notes else SpendNotes()
    try:
        findings = find_values(account, plan, deadline, sources.manifest, split)
    except UserError as refusal:
        if refusal.field != "filters" or not notes.warnings:
            raise
        raise UserError(
            " ".join([refusal.message, *notes.warnings]), field=refusal.field, value=refusal.value
        ) from refusal
    facts = SpendFacts(
        account=account,
        query=query,
        plan=plan,
        view=question.view,
        compared=question.compared,
        sources=sources,
        findings=findings,
        split_result=split,
        missing_measure=missing_measure_costs(account, plan, deadline, sources.manifest),
        own_amounts=_own_amounts(account, plan, deadline, sources.manifest),
        after_splits=_split_preview(account, question, plan, sums, deadline, with_notes),
        related_notes=notes,
    )
    return facts, with_names(plan, sums)


def filter_labels(
    account: Account, query: SpendQuery, sources: Sources, *, deadline: float | None = None
) -> dict[str, str]:
    """Return the labels of filter values that are ids, by value. Raises UserError as `query_spend` does; after it no
    lake query, because its result is cached."""
    if not query.filters:
        return {}
    plan = plan_of(resolve_query(account, query, sources))
    return labels_of_filters(account, plan, deadline, sources.manifest)


def _own_amounts(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest
) -> dict[str, Decimal] | None:
    """Return counted amounts in the currency of each bill; None without conversion. One lake query, over rollups."""
    if not display_currency() or plan.basis in UNITS:
        return None
    reduced = replace(
        plan, dimensions=(), granularity="none", compared=None, previous=None, source_overrides=()
    )
    with currency_scope(None):
        return _by_currency(reduced, run_plan(account, reduced, deadline, manifest))


def _split_preview(
    account: Account,
    question: Question,
    plan: SpendPlan,
    sums: Sequence[SpendSum],
    deadline: float | None,
    with_groups: bool,
) -> SplitPreview:
    """Return what splits would change in an answer before splits."""
    query = question.query
    if query.splits != "before" or query.spread != "none" or plan.basis not in COST_COLUMNS:
        return SplitPreview()
    split_question = SplitQuestion(account, plan, question.context, deadline, question.context.manifest)
    return split_preview(split_question, sums, with_groups=with_groups)


def _related_notes(
    account: Account,
    question: Question,
    plan: SpendPlan,
    sums: Sequence[SpendSum],
    split: SplitResult,
    deadline: float | None,
) -> SpendNotes:
    if plan.basis not in COST_COLUMNS:
        return SpendNotes()
    as_lines = "before shared-cost splits" if split.moves else ""
    if question.query.spread != "none":
        as_lines = "on the charge day"
    return related_notes(
        SpendNoteContext(account, plan, question.context, sums, _by_currency(plan, sums), deadline, as_lines)
    )


def _by_currency(plan: SpendPlan, sums: Sequence[SpendSum]) -> dict[str, Decimal]:
    return {currency: amount for (_, currency), amount in sum_counted_cost(plan, sums).items()}


def missing_measure_costs(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest
) -> list[MissingMeasureCost]:
    """Return the cost of lines without the plan's measure, largest first; no query for cost, which all lines have."""
    if plan.basis in COST_COLUMNS:
        return []
    days, build = plan.days, MissingMeasureBuild(plan.basis, plan.filters, plan.categories)
    table = engine.run(
        account,
        Kind.COST,
        days.start,
        days.end,
        build,
        tag_keys=plan.tag_keys,
        allow_rollups=True,
        manifest=manifest,
        deadline=deadline,
    )
    costs = {row["currency"]: MissingMeasureCost(**row) for row in table.to_pylist()}
    sizes = {name: max(each.billed, each.amortized, key=abs) for name, each in costs.items()}
    return [costs[name] for name in currencies_by_amount(sizes) if sizes[name]]


def read_sums_of(
    account: Account, question: Question, plan: SpendPlan, deadline: float | None
) -> tuple[list[SpendSum], SplitResult]:
    """Return the sums of a plan, before or after splits as the question says, and the effect of the splits.

    Before splits: the one lake query of `run_plan`. After: one query of PostgreSQL more; where a split is on one of
    the question's dimensions, one lake query by day over the lines of its source, one over the targets of
    proportional splits, and one of usage for each usage metric; and all groups are read, because splits decide which
    are large. Spread: all groups, and the lake query of `spread_of`.
    """
    manifest = question.context.manifest
    if question.query.spread == "charge_period":
        return _spread(account, question, plan, deadline)
    if question.query.splits == "before":
        return run_plan(account, plan, deadline, manifest), SplitResult()
    split = run_splits(SplitQuestion(account, plan, question.context, deadline, manifest))
    if not split.moves:
        return run_plan(account, plan, deadline, manifest), split
    sums = run_plan(account, replace(plan, limit=ALL_GROUPS), deadline, manifest)
    return after_splits(plan, sums, split.moves), split


def _spread(
    account: Account, question: Question, plan: SpendPlan, deadline: float | None
) -> tuple[list[SpendSum], SplitResult]:
    if question.query.splits == "after":
        raise UserError(
            "spread charge_period cannot be combined with splits. Remove one of them.",
            field="spread",
        )
    manifest = question.context.manifest
    sums = run_plan(account, replace(plan, limit=ALL_GROUPS), deadline, manifest)
    spread = spread_of(account, plan, deadline, manifest)
    return (
        after_splits(plan, sums, spread.moves),
        SplitResult(warnings=spread.warnings, spread=spread.change),
    )


def find_values(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest, split: SplitResult
) -> FilterFindings:
    """Return the filters' values that the data has; without filters no query runs."""
    if not plan.filters:
        return FilterFindings()
    return look_up(account, plan, deadline, manifest, receiving_values=split.receiving_values)


def resolve_query(
    account: Account, query: SpendQuery, sources: Sources, *, together: bool = False
) -> Question:
    """Resolve all names of a query. One query of PostgreSQL, none without tags. Raises UserError.

    `together`: a comparison pairs the same days of all sources.
    """
    context = sources.context(account)
    days = query_days(account, query)
    _check_buckets(query, days)
    _check_order(query)
    return Question(
        query=query,
        days=days,
        view=_view(query, sources),
        dimensions=_dimensions(context, query),
        filters=tuple(resolve_filters(context, query.filters)),
        compared=_comparison(query, days, sources, together),
        incomplete=tuple(sources.coverage.incomplete_from(days).items()),
        context=context,
    )


def _view(query: SpendQuery, sources: Sources) -> AppliedCostView:
    view = apply_overrides(sources.view, basis=query.basis, charge_categories=query.charge_categories)
    if query.measure == "cost":
        return view
    if query.splits == "after":
        raise UserError(
            (
                f"splits: shared-cost splits apply to cost, not {query.measure}. Remove splits, or use "
                "measure cost."
            ),
            field="splits",
            value=query.splits,
        )
    if query.spread != "none":
        raise UserError(
            f"spread: applies to cost, not {query.measure}. Remove spread, or use measure cost.",
            field="spread",
            value=query.spread,
        )
    return structs.replace(view, basis=query.measure, is_account_view=False)


def query_days(account: Account, query: SpendQuery) -> DateRange:
    """Return the days of a query; by default the last 30. Raises UserError."""
    return resolve_range(
        start=query.start_date,
        end=query.end_date,
        period=query.period,
        default=DEFAULT_PERIOD,
        today=clock.today(),
        fiscal_start_month=account.fiscal_start_month,
    )


def _check_buckets(query: SpendQuery, days: DateRange) -> None:
    limit = MAX_BUCKETS * BUCKET_DAYS[query.granularity]
    if days.days > limit:
        coarser = [name for name in ("week", "month") if days.days <= MAX_BUCKETS * BUCKET_DAYS[name]]
        raise UserError(
            f"granularity {query.granularity} over {days.days} days has more than {MAX_BUCKETS} "
            f"buckets. Use at most {limit:,} days or a coarser granularity ({', '.join(coarser)}).",
            field="granularity",
            value=query.granularity,
        )


def _check_order(query: SpendQuery) -> None:
    if query.order_by == "change" and query.compare_to == "none":
        raise UserError(
            "order_by: change needs compare_to: previous_period or previous_year.",
            field="order_by",
            value=query.order_by,
        )


def _dimensions(context: DimensionContext, query: SpendQuery) -> tuple[Dimension, ...]:
    if len(query.group_by) > MAX_GROUPS:
        raise UserError(
            f"group_by has {len(query.group_by)} dimensions; the maximum is {MAX_GROUPS}. Filter by "
            "one of them instead.",
            field="group_by",
            value=query.group_by,
        )
    dimensions = tuple(with_value_names(context, registry.resolve(context, name)) for name in query.group_by)
    if len({dimension.name for dimension in dimensions}) < len(dimensions):
        raise UserError(f"group_by has {dimensions[0].name} twice.", field="group_by", value=query.group_by)
    return dimensions


def _comparison(
    query: SpendQuery, days: DateRange, sources: Sources, together: bool
) -> ComparisonRanges | None:
    if query.compare_to == "none":
        return None
    return comparison_ranges_by_source(
        compare_to=query.compare_to,
        days=days,
        period=query.period or ("" if query.start_date else DEFAULT_PERIOD),
        coverage=sources.coverage,
        together=together,
    )


def plan_of(question: Question) -> SpendPlan:
    view, compared = question.view, question.compared
    return SpendPlan(
        days=question.days,
        dimensions=question.dimensions,
        filters=question.filters,
        basis=view.basis,
        categories=() if view.charge_categories == [ALL] else tuple(view.charge_categories),
        granularity=question.query.granularity,
        limit=question.query.limit,
        order_by=question.query.order_by if compared else "amount",
        compared=compared.current if compared else None,
        previous=compared.previous if compared else None,
        source_overrides=compared.source_overrides if compared else (),
        incomplete=question.incomplete,
    )


def run_plan(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest | None = None
) -> list[SpendSum]:
    """Run the one lake query of a plan. Raises UserError if a plan of all groups has too many sums for memory."""
    table = engine.run(
        account,
        Kind.COST,
        min(days.start for days in plan.ranges),
        max(days.end for days in plan.ranges),
        SpendBuild.of(plan),
        tag_keys=plan.tag_keys,
        allow_rollups=True,
        manifest=manifest,
        deadline=deadline,
    )
    if plan.limit == ALL_GROUPS and table.num_rows > MAX_SUMS:
        raise UserError(
            f"{table.num_rows:,} totals of {(plan.dimensions[0].name if plan.dimensions else 'cost')} "
            f"by {plan.granularity} bucket exceed the maximum of {MAX_SUMS:,}. Use fewer days, a "
            "coarser granularity or a filter."
        )
    return read_sums(plan, table)
