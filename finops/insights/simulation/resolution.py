"""Resolves everything in a simulation's question: scopes, growth shares and price lists. Raises UserError for what
cannot be resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from accounts.models import Account
from finops.costs.dimensions import no_values_clause, registry
from finops.costs.filters import dimension_warnings, resolve_filters
from finops.costs.queries.filter_values import look_up
from finops.costs.queries.spend import Question, plan_of, resolve_query
from finops.costs.spend_query import Filter, SpendQuery, read_period
from finops.costs.token_prices import TokenPrices, token_prices
from finops.insights.cost_scope import CostReader
from finops.insights.simulation.lake import (
    RegionKey,
    RegionPriceBuild,
    Scope,
    SimulationBuild,
    read_region_prices,
)
from finops.insights.simulation.prices import PERCENT
from finops.insights.simulation.schemas import ModelChange, Purchase, SimulationQuery, UsageGrowth
from finops.lib.errors import UserError, unknown_value
from finops.lib.money import exact_difference, exact_product, ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import exact_number, quote
from finops.lib.usage_problems import clauses_text, problem_clauses
from ingestion.queries import query_usage
from ingestion.queries.source_problems import source_problems
from ingestion.usage_query import UsageQuery

MOST_PERCENT: Final = 10_000
MOST_PER_HOUR: Final = 1_000_000
MOST_UNIT_PRICE: Final = 10**9
_SHARE_PLACES: Final = Decimal(1).scaleb(-18)


@dataclass(frozen=True)
class ResolvedSimulation:
    """A resolved question. `shares`: growth by rule; `notes`: growth of the metrics that usage follows;
    `usage_clause`: what their usage lacks, and `missing`: values that no line has, both for the first sentence."""

    build: SimulationBuild
    days: DateRange
    shares: Sequence[Decimal]
    notes: Sequence[str]
    usage_clause: str
    missing: str
    warnings: Sequence[str]
    region_build: RegionPriceBuild | None
    tokens: TokenPrices | None
    changes_anything: bool


@dataclass
class _Resolver:
    reader: CostReader
    query: SimulationQuery
    warnings: list[str] = field(default_factory=list)
    missing: str = ""

    def question(self, filters: Sequence[Filter]) -> Question:
        """Raises UserError for a value that no line has."""
        spend_query = SpendQuery(
            filters=list(filters),
            start_date=self.query.start_date,
            end_date=self.query.end_date,
            period=read_period(self.query.period),
            basis="amortized",
        )
        question = resolve_query(self.reader.account, spend_query, self.reader.sources)
        if filters:
            findings = look_up(
                self.reader.account,
                plan_of(question),
                self.reader.deadline,
                self.reader.sources.manifest,
                refuse_all=True,
            )
            dimensions = [each.dimension for each in question.filters]
            self.warnings += [*dimension_warnings(dimensions), *findings.warnings]
            for clause in (no_values_clause(dimensions), findings.clause):
                self.missing += clause if clause not in self.missing else ""
        return question

    def scope(self, dimension: str, values: Sequence[str]) -> Scope:
        """All lines without a dimension."""
        return self.question([Filter(dimension=dimension, values=list(values))]).filters if dimension else ()

    def scopes_of(self, dimension: str, values: Sequence[str]) -> tuple[Scope, ...]:
        """One scope for each value, looked up together: a value that no line has is a warning."""
        if not values:
            return ()
        self.scope(dimension, list(dict.fromkeys(values)))
        filters = [Filter(dimension=dimension, values=[value]) for value in values]
        return tuple((each,) for each in resolve_filters(self.reader.context, filters))


def resolve(reader: CostReader, query: SimulationQuery) -> ResolvedSimulation:
    """Resolve a question. `simulate_cost` documents the cost."""
    _check(query)
    resolver = _Resolver(reader, query)
    question = resolver.question(query.filters)
    growth = _shares(reader, query.growth, question.days)
    regions = resolver.scopes_of("region", [each.region for each in query.regions])
    to_regions = resolver.scopes_of("region", [each.to_region for each in query.regions])
    tokens = token_prices.get("list") if query.models else None
    if tokens is not None:
        _check_models(tokens, query.models)
    build = SimulationBuild(
        filters=question.filters,
        growth=tuple(resolver.scope(each.dimension, each.values) for each in query.growth),
        incomplete=question.incomplete,
        ending=_ending(resolver, query),
        purchases=tuple(resolver.scope(each.dimension, each.values) for each in query.purchases),
        prices=resolver.scopes_of("usage_type", [each.usage_type for each in query.prices]),
        regions=regions,
        models=tuple(_model_scope(resolver, each) for each in query.models),
        token_type=registry.resolve(reader.context, "ai_token_type") if query.models else None,
    )
    return ResolvedSimulation(
        build=build,
        days=question.days,
        shares=growth.shares,
        notes=growth.notes,
        usage_clause=_usage_clause(reader.account, growth, question.days),
        missing=resolver.missing,
        warnings=list(dict.fromkeys([*resolver.warnings, *growth.warnings])),
        region_build=RegionPriceBuild(to_regions) if to_regions else None,
        tokens=tokens,
        changes_anything=bool(
            query.growth or build.ending is not None or build.purchases or build.price_changes
        ),
    )


def region_prices(
    reader: CostReader, resolved: ResolvedSimulation
) -> dict[RegionKey, tuple[Decimal, Decimal]]:
    """Cost and quantity of items in the other regions, over all lines of the account in these days. One lake query,
    none without regions."""
    build = resolved.region_build
    if build is None:
        return {}
    return read_region_prices(reader.run(resolved.days, build, build.tag_keys, allow_rollups=False))


def _ending(resolver: _Resolver, query: SimulationQuery) -> Scope | None:
    if query.ending:
        return resolver.scope("commitment", query.ending)
    return () if query.commitments == "end" else None


def _model_scope(resolver: _Resolver, change: ModelChange) -> Scope:
    of_model = resolver.scope("ai_model", [change.model])
    return (
        (*of_model, *resolver.scope("ai_token_type", [change.token_type])) if change.token_type else of_model
    )


@dataclass
class _Growth:
    """Growth shares by rule. Of the metrics that usage follows: their quantities, gaps in days, and warnings."""

    shares: list[Decimal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _shares(reader: CostReader, rules: Sequence[UsageGrowth], days: DateRange) -> _Growth:
    growth = _Growth()
    for each in rules:
        if not each.usage_metric:
            growth.shares.append(exact_product(each.percent or Decimal(0), PERCENT))
            continue
        question = UsageQuery(usage_metric=each.usage_metric, start_date=days.start, end_date=days.end)
        usage = query_usage(reader.account, question, deadline=reader.deadline)
        share = ratio(each.quantity or Decimal(0), usage.quantity) if usage.quantity else None
        if share is None or usage.quantity is None or usage.quantity < 0:
            raise UserError(f"growth: {quote(each.usage_metric)} has no usage in these days.", field="growth")
        growth.shares.append(exact_difference(share.quantize(_SHARE_PLACES), Decimal(1)))
        name = quote(usage.metric)
        growth.notes.append(f"{name} is {exact_number(usage.quantity)} in these days, of all customers.")
        if usage.days_with_data < days.days:
            growth.gaps.append(f"{name} has events on {usage.days_with_data} of {days.days} days")
        growth.warnings += usage.warnings
    return growth


def _usage_clause(account: Account, growth: _Growth, days: DateRange) -> str:
    """Usage that lacks days or a source's newest events makes the growth to a quantity too large."""
    if not growth.notes:
        return ""
    gaps = "".join(f"; {each}" for each in dict.fromkeys(growth.gaps))
    return gaps + clauses_text(problem_clauses(source_problems(account), days.end))


def _check(query: SimulationQuery) -> None:
    for growth in query.growth:
        _check_growth(growth)
        _check_scope("growth", growth.dimension, growth.values)
    for purchase in query.purchases:
        _check_purchase(purchase)
    for price in query.prices:
        _check_range("prices", "unit_price", price.unit_price, MOST_UNIT_PRICE, zero=True)
    for move in query.regions:
        if move.region.strip().lower() == move.to_region.strip().lower():
            raise UserError(f"regions: {quote(move.region)} is both region and to_region.", field="regions")
    for change in query.models:
        _check_range("models", "percent", change.percent, 100)
        if not change.to_model and not change.to_token_type:
            raise UserError("models: give to_model, to_token_type or both.", field="models")
    if query.purchases and (query.prices or query.regions or query.models):
        raise UserError(
            "purchases: simulate purchases without prices, regions and models: discounts are of today's prices.",
            field="purchases",
        )


def _check_purchase(purchase: Purchase) -> None:
    _check_scope("purchases", purchase.dimension, purchase.values)
    _check_range("purchases", "per_hour", purchase.per_hour, MOST_PER_HOUR)
    if purchase.discount_percent is not None:
        _check_range("purchases", "discount_percent", purchase.discount_percent, 100, below=True)


def _check_scope(field: str, dimension: str, values: Sequence[str]) -> None:
    if bool(dimension) != bool(values):
        raise UserError(f"{field}: name a dimension with its values, or neither for all usage.", field=field)


def _check_growth(growth: UsageGrowth) -> None:
    if growth.usage_metric:
        quantity = growth.quantity
        if growth.percent is not None or quantity is None or not quantity.is_finite() or quantity < 0:
            raise UserError(
                "growth: a metric needs the quantity that it grows to, and no percent.", field="growth"
            )
        return
    percent = growth.percent
    if percent is None or not percent.is_finite() or not -100 <= percent <= MOST_PERCENT:
        raise UserError(f"growth: percent is -100 to {MOST_PERCENT}, not {percent}.", field="growth")


def _check_range(
    field: str, name: str, value: Decimal, most: int, *, zero: bool = False, below: bool = False
) -> None:
    is_inside = value.is_finite() and (value > 0 or (zero and value == 0)) and value <= most
    if not is_inside or (below and value == most):
        limit = f"below {most}" if below else f"at most {most}"
        raise UserError(
            f"{field}: {name} is {'0' if zero else 'above 0'} and {limit}, not {value}.", field=field
        )


def _check_models(tokens: TokenPrices, models: Sequence[ModelChange]) -> None:
    """Refuse a model without a published price, which would leave all of its usage out."""
    for each in models:
        if each.to_model and not tokens.has_prices(each.to_model):
            raise unknown_value("models", each.to_model, tokens.models())
