"""Applies the rules to an account's bills: at most three grouped lake queries, a fourth if there are provider
recommendations for resources, then everything in memory.

Also realized savings: the cost of the same scope before and after, from the bills, with one more query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import msgspec

from finops.costs.aliases import candidates
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.queries.sources import Sources
from finops.insights.cost_scope import WHOLE_ACCOUNT, CostReader, CostScope
from finops.insights.models import ImportedSaving, SavingsDismissal
from finops.insights.savings.billed_resources import billed_resources
from finops.insights.savings.candidates import (
    ON_DEMAND,
    RULES,
    WINDOW_DAYS,
    SavingCandidate,
    SavingScope,
    deduplicate_by_precedence,
    names_of,
    part,
)
from finops.insights.savings.compute import (
    DailySum,
    read_daily,
    steady_on_demand,
    unused_commitments,
    without_counted_compute,
)
from finops.insights.savings.lake import (
    ENV_KEYS,
    MAX_ROWS,
    GrowthBuild,
    OutcomeBuild,
    ResourceBuild,
    ResourceLookup,
    SavingsBuild,
)
from finops.insights.savings.provider_recommendations import (
    buys_compute,
    old_imports,
    provider_candidates,
)
from finops.insights.savings.resource_rules import (
    growing_storage,
    months_before,
    read_resources,
    read_storage_sums,
    successors,
    weekends_off,
)
from finops.insights.savings.schemas import RealisedSaving
from finops.lake.engine.conversion import currency_scope
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib import clock
from finops.lib.cost_access import sees_whole_account
from finops.lib.money import exact_difference, exact_sum, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and


@dataclass(frozen=True)
class SavingsResult:
    """Recommendations. `open` are deduplicated against each other; `dismissed_candidates` are dismissed by a
    person and do not count."""

    days: DateRange | None = None
    open: Sequence[SavingCandidate] = ()
    dismissed_candidates: Sequence[SavingCandidate] = ()
    warnings: list[str] = field(default_factory=list)


Build = ResourceBuild | GrowthBuild | SavingsBuild | OutcomeBuild | ResourceLookup


@dataclass(frozen=True)
class FilteredBuild:
    """A build over the lines that match filters."""

    build: Build
    filters: tuple[ResolvedFilter, ...]

    def __call__(self, table: Any) -> Any:
        return self.build(table.filter(reduce(and_, all_of(table, self.filters))))


@dataclass(frozen=True)
class SavingsReader(CostReader):
    """Queries the lake for one account, or for the lines of it that match a scope; in the currencies of the bills,
    whatever the display currency: the scope of a recommendation must not depend on it."""

    scope: CostScope = WHOLE_ACCOUNT
    filters: tuple[ResolvedFilter, ...] = ()

    def __call__(self, days: DateRange, build: Build, tag_keys: Sequence[str] = ()) -> list[dict[str, Any]]:
        keys = [*tag_keys, *(key for item in self.filters for key in item.dimension.tag_keys)]
        build_of_scope = FilteredBuild(build, self.filters) if self.filters else build
        with currency_scope(None):
            rows: list[dict[str, Any]] = self.run(days, build_of_scope, keys, allow_rollups=False).to_pylist()
        return rows


def find_candidates(read: SavingsReader, dismissed: Collection[str]) -> SavingsResult:
    """Return the candidates of all rules in the last thirty days that every source has delivered. Three lake queries,
    or four."""
    through = read.sources.coverage.complete_through
    if through is None:
        return SavingsResult()
    days = DateRange(through - timedelta(days=WINDOW_DAYS - 1), through)
    by_resource, warnings = _resource_rules(read, days)
    counted = deduplicate_by_precedence(each for each in by_resource if each.key not in dismissed)
    daily = read_daily(read(days, _remaining_build(counted)))
    by_resource = without_counted_compute(by_resource, daily)
    all_candidates = [*by_resource, *unused_commitments(daily), *steady_on_demand(daily, days)]
    open_candidates = [each for each in all_candidates if each.key not in dismissed]
    return SavingsResult(
        days,
        _drop_duplicate_commitments(deduplicate_by_precedence(open_candidates)),
        [each for each in all_candidates if each.key in dismissed],
        [*warnings, *_missing_unused_warnings(daily, read.sources)],
    )


def _drop_duplicate_commitments(counted: Sequence[SavingCandidate]) -> list[SavingCandidate]:
    """Drop our own estimate of a compute commitment if a provider recommends the same, and name it there."""
    bought = {each.bill for each in counted if buys_compute(each)}
    estimated = {each.bill for each in counted if each.rule == ON_DEMAND.name}
    return [
        replace(each, instead_of=each.instead_of | {ON_DEMAND.name})
        if buys_compute(each) and each.bill in estimated
        else each
        for each in counted
        if each.rule != ON_DEMAND.name or each.bill not in bought
    ]


def _resource_rules(read: SavingsReader, days: DateRange) -> tuple[list[SavingCandidate], list[str]]:
    every_key = cost_tag_keys(read.account, read.sources.manifest)
    keys = tuple(key for key in every_key if key.casefold() in ENV_KEYS)
    resources = read_resources(read(days, ResourceBuild(keys), keys))
    months = months_before(days.end)
    build = GrowthBuild(tuple(month.start for month in months))
    stored = read_storage_sums(read(DateRange(months[0].start, months[-1].end), build))
    warnings = []
    if not keys:
        warnings.append(
            "No tag marks dev or test (env, environment, stage), so dev and test are not checked."
        )
    if max(len(resources), len(stored)) >= MAX_ROWS:
        warnings.append(f"Only the {MAX_ROWS:,} costliest resources are checked.")
    # What clouds recommend names resources whose lines a limited reader may not see, with the provider's amounts.
    imported = list(ImportedSaving.objects.all()) if sees_whole_account() else []
    warnings += [
        (
            f"The newest recommendation of {RULES[rule].label} is from {day}. Refresh, or import a newer "
            "export."
        )
        for rule, day in old_imports(imported, clock.today()).items()
    ]
    rules = [*weekends_off(resources, days), *successors(resources), *growing_storage(stored, months)]
    whole = SavingsReader(read.account, read.sources, read.deadline)
    billed = billed_resources(lambda lookup: whole(days, lookup), imported)
    of_clouds, left_out = _imported_in_scope(read, provider_candidates(imported, billed))
    return [*of_clouds, *rules], [*warnings, *left_out]


def _imported_in_scope(
    read: SavingsReader, imported: Sequence[SavingCandidate]
) -> tuple[list[SavingCandidate], list[str]]:
    """Return whether an imported recommendation is in the scope. These have a source, an account and a provider, but
    no team."""
    scope = read.scope
    scope_values = {name: value.casefold() for name, value in scope.scope_values.items()}
    inside = [each for each in imported if _is_in_scope(each, scope_values, read.sources.names)]
    if not scope.team or not inside:
        return inside, []
    some = "1 recommendation" if len(inside) == 1 else f"{len(inside)} recommendations"
    clouds = join_with_and([RULES[rule].label for rule in sorted({each.rule for each in inside})])
    return [], [f"Left out: {some} of {clouds}, which do not name the resource's team."]


def _is_in_scope(each: SavingCandidate, scope_values: Mapping[str, str], names: Mapping[str, str]) -> bool:
    accounts = {each.account_name.casefold(), *(piece.line.account.casefold() for piece in each.pieces)}
    providers = [name.casefold() for name in candidates("provider", scope_values.get("provider", ""))]
    return (
        scope_values.get("source") in (None, names.get(each.source, "").casefold())
        and ("account" not in scope_values or scope_values["account"] in accounts)
        and ("provider" not in scope_values or each.provider.casefold() in providers)
    )


def _remaining_build(counted: Sequence[SavingCandidate]) -> SavingsBuild:
    """Return on-demand compute without the lines of other recommendations with a saving."""
    pieces = [piece for each in counted if each.saving is not None for piece in each.pieces]
    resources = {name for piece in pieces for name in names_of(piece.line.resource)}
    usage_types = {
        piece.line.usage_type for piece in pieces if piece.whole is False and not piece.line.resource
    }
    return SavingsBuild(tuple(sorted(resources - {""})), tuple(sorted(usage_types)))


def _missing_unused_warnings(daily: Sequence[DailySum], sources: Sources) -> list[str]:
    """Return warnings for exports with commitments that never have unused lines."""
    with_unused = {each.source for each in daily if each.status == "Unused"}
    blind = {each.source for each in daily if each.status == "Used"} - with_unused
    return [
        (
            f"{sources.names.get(source, source)!r} has no lines of unused commitment: all of it is used, "
            "or the export omits them."
        )
        for source in sorted(blind)
    ]


def find_with_marks(read: SavingsReader) -> tuple[SavingsResult, dict[str, SavingsDismissal]]:
    """Return the candidates, and the decisions of people by key; with limited cost access only of recommendations in
    the visible cost. One query more than `find_candidates`."""
    marks = {row.key: row for row in SavingsDismissal.objects.all()}
    dismissed = [key for key, row in marks.items() if row.status == SavingsDismissal.Status.DISMISSED]
    result = find_candidates(read, dismissed)
    keys = {each.key for each in [*result.open, *result.dismissed_candidates]}
    return result, {key: mark for key, mark in marks.items() if key in keys or sees_whole_account()}


SETTLING_DAYS: Final = 14
"""Minimum number of days to compare after acting: a change takes a day or two and weeks differ, so two whole weeks.
"""

CAVEAT: Final = (
    "Billed cost of the same resources for 30 days before and after. Includes growth and other "
    "changes; excludes resources that replaced them under other IDs."
)

WASTE_CAVEAT: Final = (
    "Billed unused commitment for 30 days before and after. It is paid for either way, so less waste "
    "is not a saving."
)


@dataclass(frozen=True)
class ActedRecommendation:
    """A recommendation that was acted on, the cost that it concerns, and the complete days of its source."""

    key: str
    day: date
    scope: SavingScope
    days: DateRange | None

    @property
    def gap(self) -> str:
        """Why the two sides cannot be compared; empty if they can."""
        if self.days is None:
            return "The bills of its source were deleted."
        measurable_on = self.day + timedelta(days=SETTLING_DAYS)
        if self.days.end < measurable_on:
            return f"Too recent: needs two full weeks of bills after {self.day}, through {measurable_on}."
        if self.day - timedelta(days=WINDOW_DAYS) < self.days.start:
            return f"Bills begin on {self.days.start}, less than {WINDOW_DAYS} days before."
        return ""


def outcomes(read: SavingsReader, rows: Iterable[SavingsDismissal]) -> dict[str, RealisedSaving]:
    """Return outcomes by key of all recommendations that were acted on. One lake query, none while all are too
    recent."""
    acted = []
    for row in rows:
        if row.acted_on is not None:
            scope = msgspec.convert(row.scope, SavingScope)
            acted.append(ActedRecommendation(row.key, row.acted_on, scope, _source_days(read, scope)))
    measurable = [each for each in acted if not each.gap]
    sums: Sequence[Mapping[str, Any]] = []
    if measurable:
        first = min(each.day for each in measurable) - timedelta(days=WINDOW_DAYS)
        last = max(each.days.end for each in acted if each.days is not None)
        resources = {name for each in measurable for name in each.scope.resources}
        commitments = {each.scope.commitment for each in measurable} - {""}
        build = OutcomeBuild(tuple(sorted(resources)), tuple(sorted(commitments)))
        sums = read(DateRange(first, last), build)
    return {each.key: _outcome(each, sums) for each in acted}


def _source_days(read: SavingsReader, scope: SavingScope) -> DateRange | None:
    coverage, source = read.sources.coverage, int(scope.source)
    span, through = coverage.sources.get(source), coverage.last_complete_days.get(source)
    return DateRange(span.first_day, through) if span and through else None


def _outcome(each: ActedRecommendation, sums: Sequence[Mapping[str, Any]]) -> RealisedSaving:
    """Compare cost before and after. The day of acting is on neither side. After: at most the newest 30 days."""
    currency = each.scope.currency
    if each.gap or each.days is None:
        return RealisedSaving(before=None, after=None, saved=None, currency=currency, reason=each.gap)
    before = DateRange(each.day - timedelta(days=WINDOW_DAYS), each.day - timedelta(days=1))
    newest = max(each.day + timedelta(days=1), each.days.end - timedelta(days=WINDOW_DAYS - 1))
    scope_sums = [row for row in sums if _is_of(row, each.scope)]
    past, since = _monthly(scope_sums, before), _monthly(scope_sums, DateRange(newest, each.days.end))
    less = exact_difference(past, since)
    if each.scope.commitment:
        return RealisedSaving(
            before=past, after=since, saved=None, waste_avoided=less, currency=currency, reason=WASTE_CAVEAT
        )
    return RealisedSaving(before=past, after=since, saved=less, currency=currency, reason=CAVEAT)


def _is_of(row: Mapping[str, Any], scope: SavingScope) -> bool:
    if (row["source"], row["currency"]) != (scope.source, scope.currency):
        return False
    if scope.compute:
        return bool(row["covers"])
    if scope.commitment:
        return bool(row["commitment"] == scope.commitment)
    return row["resource"] in scope.resources


def _monthly(rows: Iterable[Mapping[str, Any]], days: DateRange) -> Decimal:
    """Return the cost of the days as a month: daily mean · 30. Our rule, so that periods of other lengths compare."""
    inside = [row["cost"] or Decimal(0) for row in rows if days.start <= row["charge_date"] <= days.end]
    return part(ratio(exact_sum(inside), Decimal(days.days)) or Decimal(0), Decimal(WINDOW_DAYS))
