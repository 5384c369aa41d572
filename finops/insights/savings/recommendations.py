"""The rules over an account's bills: at most three grouped reads of the lake, then everything in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import reduce
from operator import and_
from typing import Any

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.sources import Sources
from finops.insights.cost_scope import WHOLE_ACCOUNT, CostScope
from finops.insights.models import ImportedSaving
from finops.insights.savings.candidates import WINDOW_DAYS, Candidate, names_of
from finops.insights.savings.compute import DailySum, read_daily, steady_on_demand, unused_commitments
from finops.insights.savings.deduplication import deduplicate_by_precedence
from finops.insights.savings.growth import growing_storage, months_before, read_storage_sums
from finops.insights.savings.hub.candidates import buys_compute, hub_candidates, old_imports
from finops.insights.savings.lake import (
    ENV_KEYS,
    MAX_ROWS,
    DailyBuild,
    GrowthBuild,
    OutcomeBuild,
    ResourceBuild,
)
from finops.insights.savings.resource_rules import read_resources, successors, weekends_off
from finops.insights.savings.rules import ON_DEMAND
from finops.lake import queries as lake_queries
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib import clock
from finops.lib.periods import DateRange


@dataclass(frozen=True)
class SavingsResult:
    """`open` are weighed against each other; `aside` are those that a person dismissed, which count nothing."""

    days: DateRange | None = None
    open: Sequence[Candidate] = ()
    dismissed_candidates: Sequence[Candidate] = ()
    warnings: list[str] = field(default_factory=list)


Build = ResourceBuild | GrowthBuild | DailyBuild | OutcomeBuild


@dataclass(frozen=True)
class FilteredBuild:
    """A build over the lines that pass filters."""

    build: Build
    filters: tuple[ResolvedFilter, ...]

    def __call__(self, table: Any) -> Any:
        return self.build(table.filter(reduce(and_, all_of(table, self.filters))))


@dataclass(frozen=True)
class Reader:
    """Asks the lake about one account, or about the lines of it that pass the filters of a scope."""

    account: Account
    sources: Sources
    deadline: float | None
    scope: CostScope = WHOLE_ACCOUNT
    filters: tuple[ResolvedFilter, ...] = ()

    def __call__(
        self,
        days: DateRange,
        build: Build,
        tag_keys: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        keys = [*tag_keys, *(key for item in self.filters for key in item.dimension.tag_keys)]
        table = engine.run(
            self.account,
            Kind.COST,
            days.start,
            days.end,
            FilteredBuild(build, self.filters) if self.filters else build,
            tag_keys=list(dict.fromkeys(keys)),
            manifest=self.sources.manifest,
            deadline=self.deadline,
        )
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows


def find_candidates(read: Reader, dismissed: Collection[str]) -> SavingsResult:
    """What the rules find in the last thirty days that every source has delivered. Three lake queries."""
    through = read.sources.coverage.complete_through
    if through is None:
        return SavingsResult()
    days = DateRange(through - timedelta(days=WINDOW_DAYS - 1), through)
    by_resource, warnings = _resource_rules(read, days)
    counted = deduplicate_by_precedence(each for each in by_resource if each.key not in dismissed)
    daily = read_daily(read(days, _remaining_build(counted)))
    all_candidates = [*by_resource, *unused_commitments(daily), *steady_on_demand(daily, days)]
    open_candidates = [each for each in all_candidates if each.key not in dismissed]
    return SavingsResult(
        days,
        _drop_duplicate_commitments(deduplicate_by_precedence(open_candidates)),
        [each for each in all_candidates if each.key in dismissed],
        [*warnings, *_missing_unused_warnings(daily, read.sources)],
    )


def _drop_duplicate_commitments(counted: Sequence[Candidate]) -> list[Candidate]:
    """Where AWS recommends to commit to compute, our own estimate of the same is left out and named."""
    bought = {(each.source, each.currency) for each in counted if buys_compute(each)}
    ours = {
        (each.source, each.currency)
        for each in counted
        if each.rule == ON_DEMAND.name and (each.source, each.currency) in bought
    }
    return [
        replace(each, instead_of=each.instead_of | {ON_DEMAND.name})
        if buys_compute(each) and (each.source, each.currency) in ours
        else each
        for each in counted
        if each.rule != ON_DEMAND.name or (each.source, each.currency) not in bought
    ]


def _resource_rules(read: Reader, days: DateRange) -> tuple[list[Candidate], list[str]]:
    tag_keys = lake_queries.tag_keys(read.account)
    keys = tuple(key for key in tag_keys if key.casefold() in ENV_KEYS)
    resources = read_resources(read(days, ResourceBuild(keys), keys))
    months = months_before(days.end)
    build = GrowthBuild(tuple(month.start for month in months))
    stored = read_storage_sums(read(DateRange(months[0].start, months[-1].end), build))
    warnings = []
    if not keys:
        warnings.append(
            "No tag says what is dev or test (env, environment, stage), so that is not looked for."
        )
    if max(len(resources), len(stored)) >= MAX_ROWS:
        warnings.append(f"Of very many resources the costliest {MAX_ROWS:,} are looked at.")
    imported = list(ImportedSaving.objects.all())
    old = old_imports(imported, clock.today())
    if old:
        warnings.append(
            f"The newest recommendation imported from AWS Cost Optimization Hub is of {old}: import a newer export."
        )
    rules = [*weekends_off(resources, days), *successors(resources), *growing_storage(stored, months)]
    hub, left_out = _imported_in_scope(read, hub_candidates(imported))
    return [*hub, *rules], [*warnings, *left_out]


def _imported_in_scope(read: Reader, imported: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """Imported recommendations name source, account and provider, and no team."""
    scope = read.scope
    scope_values = {name: value.casefold() for name, value in scope.scope_values.items()}
    inside = [each for each in imported if _is_in_scope(each, scope_values, read.sources.names)]
    if not scope.team or not inside:
        return inside, []
    some = "1 recommendation" if len(inside) == 1 else f"{len(inside)} recommendations"
    return [], [f"Left out: {some} of AWS Cost Optimization Hub, whose imports do not say a resource's team."]


def _is_in_scope(each: Candidate, scope_values: Mapping[str, str], names: Mapping[str, str]) -> bool:
    accounts = {each.account_name.casefold(), *(piece.line.account.casefold() for piece in each.pieces)}
    providers = [name.casefold() for name in candidates("provider", scope_values.get("provider", ""))]
    return (
        scope_values.get("source") in (None, names.get(each.source, "").casefold())
        and ("account" not in scope_values or scope_values["account"] in accounts)
        and ("provider" not in scope_values or each.provider.casefold() in providers)
    )


def _remaining_build(counted: Sequence[Candidate]) -> DailyBuild:
    """On-demand compute without the lines that are in other recommendations, with a saving."""
    pieces = [piece for each in counted if each.saving is not None for piece in each.pieces]
    resources = {name for piece in pieces for name in names_of(piece.line.resource)}
    loose = {piece.line.usage_type for piece in pieces if piece.whole is False and not piece.line.resource}
    return DailyBuild(tuple(sorted(resources - {""})), tuple(sorted(loose)))


def _missing_unused_warnings(daily: Sequence[DailySum], sources: Sources) -> list[str]:
    """Exports that show commitments and never anything unused."""
    with_unused = {each.source for each in daily if each.status == "Unused"}
    blind = {each.source for each in daily if each.status == "Used"} - with_unused
    return [
        f"{sources.names.get(source, source)!r} has no lines of unused commitment: all is used, or its export leaves them out."
        for source in sorted(blind)
    ]
