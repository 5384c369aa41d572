"""The cost of actual lines under other assumptions: the one query behind the tool simulateCost and its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from accounts.models import Account
from finops.costs.answers import AccountRef, AppliedPeriod
from finops.costs.queries.source_notes import SourceNotes, selected_sources, source_notes
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_words import days_clause
from finops.costs.spend_query import DEFAULT_PERIOD
from finops.insights.commitments.purchases import covered_per_hour, hours_of, purchase_outcome
from finops.insights.cost_scope import CostReader
from finops.insights.simulation import text
from finops.insights.simulation.figures import (
    PURCHASE,
    Assumption,
    Simulated,
    SumEffect,
    change_by_assumption,
    covered_discount,
    effect_of,
    purchase_slots,
)
from finops.insights.simulation.lake import COVERED, FIXED, SimulationSum, read_sums
from finops.insights.simulation.prices import PERCENT, PriceChanges, units_of
from finops.insights.simulation.resolution import ResolvedSimulation, region_prices, resolve
from finops.insights.simulation.schemas import (
    LeftOutCost,
    Purchase,
    PurchaseResult,
    SimulatedEffect,
    SimulatedTotal,
    SimulationAnswer,
    SimulationQuery,
)
from finops.lib.errors import UserError
from finops.lib.money import currencies_by_amount, exact_difference, exact_product, exact_sum
from finops.lib.periods import DateRange, each_day


@dataclass(frozen=True)
class PurchaseEffect:
    """The effect of a purchase; `is_entered`: whether its discount was entered."""

    result: PurchaseResult
    place: int
    is_entered: bool

    @property
    def change(self) -> Decimal:
        return exact_difference(self.result.committed, self.result.covered_on_demand)


def simulate_cost(
    account: Account, query: SimulationQuery, *, deadline: float | None = None
) -> SimulationAnswer:
    """Amortized cost of all charges of the days, as billed and under the assumptions. Exact, never added across
    currencies.

    Raises UserError for what the caller can correct. Cost: one lake query over the lines, one more for prices of
    other regions, one or two small ones for each filter and assumption by values, and one of usage for each metric.
    """
    sources = load_sources(account)
    reader = CostReader(account, sources, deadline)
    resolved = resolve(reader, query)
    build, days = resolved.build, resolved.days
    sums = read_sums(reader.run(days, build, build.tag_keys, allow_rollups=False))
    prices = PriceChanges(
        query.prices,
        query.regions,
        query.models,
        units_of(sums),
        region_prices(reader, resolved),
        resolved.tokens,
    )
    through = sources.coverage.complete_through
    return _assemble(
        Simulation(
            account=account,
            query=query,
            resolved=resolved,
            lines=[(each, effect_of(each, resolved.shares, prices)) for each in sums],
            counted=_complete_days(days, sources.coverage.first_day, through),
            is_unfinished=through is None or through < days.end,
            not_final=days_clause(
                sources.coverage,
                days,
                _late(sums),
                sources.names_by_id,
                selected_sources(account, sources, build.filters, days),
            ),
            notes=source_notes(account, sources, build.filters, days),
        )
    )


@dataclass(frozen=True)
class Simulation:
    """The parts of an answer. `counted`: the days on which purchases count."""

    account: Account
    query: SimulationQuery
    resolved: ResolvedSimulation
    lines: Sequence[Simulated]
    counted: DateRange | None
    is_unfinished: bool
    not_final: str
    notes: SourceNotes

    @property
    def sums(self) -> list[SimulationSum]:
        return [each for each, _ in self.lines]


def _assemble(simulation: Simulation) -> SimulationAnswer:
    query, days, lines, sums = simulation.query, simulation.resolved.days, simulation.lines, simulation.sums
    purchases, currencies = _purchases(simulation), _currencies(sums)
    every = (_total(currency, lines, purchases) for currency in currencies)
    totals, left_out = [total for total in every if total is not None], _left_out(lines)
    results = [each.result for each in purchases]
    notes = simulation.notes
    return SimulationAnswer(
        account=AccountRef(slug=simulation.account.slug, name=simulation.account.name),
        summary=text.summary(
            days,
            totals,
            left_out,
            simulation.not_final,
            results,
            simulation.counted,
            simulation.resolved.missing + notes.clause + simulation.resolved.usage_clause,
            filtered=bool(query.filters),
            has_assumptions=simulation.resolved.changes_anything,
        ),
        period=AppliedPeriod(
            start_date=days.start,
            end_date=days.end,
            days=days.days,
            name=query.period or ("" if query.start_date else DEFAULT_PERIOD),
            unfinished=simulation.is_unfinished,
        ),
        totals=totals,
        effects=_effects(query, lines, purchases, currencies),
        purchases=results,
        left_out=left_out,
        assumptions=text.assumptions(
            query,
            _sums_of([each for each in sums if each.line == FIXED], currencies, "cost"),
            [(each.result, each.is_entered) for each in purchases],
            has_covered=any(each.line == COVERED for each in sums),
            notes=simulation.resolved.notes,
        ),
        warnings=[*notes.warnings, *simulation.resolved.warnings],
        hint="" if simulation.resolved.changes_anything else text.NOTHING,
    )


def _complete_days(days: DateRange, first: date | None, through: date | None) -> DateRange | None:
    if first is None or through is None:
        return None
    start, end = max(days.start, first), min(days.end, through)
    return DateRange(start, end) if start <= end else None


def _purchases(simulation: Simulation) -> list[PurchaseEffect]:
    query, counted = simulation.query, simulation.counted
    if not query.purchases or not simulation.lines:
        return []
    if counted is None:
        raise UserError(
            "purchases: these days have no complete day of cost. Ask about earlier days.", field="purchases"
        )
    return [
        _purchase(query, each, place, simulation.lines, counted) for place, each in enumerate(query.purchases)
    ]


def _purchase(
    query: SimulationQuery, purchase: Purchase, place: int, simulated: Sequence[Simulated], counted: DateRange
) -> PurchaseEffect:
    sums = [each for each, _ in simulated]
    currency = _currency_of(purchase, sums, place)
    discount = (
        exact_product(purchase.discount_percent, PERCENT)
        if purchase.discount_percent is not None
        else covered_discount(sums, currency, place)
    )
    if discount is None or not 0 < discount < 1:
        raise UserError(
            "purchases: no usage of this scope is covered at a discount in these days, so the discount is unknown. Give "
            "discount_percent from the provider's price list.",
            field="purchases",
        )
    usage = purchase_slots(simulated, currency, place, set(each_day(counted)))
    outcome = purchase_outcome(
        usage.slots,
        hours_of(counted.days),
        purchase.per_hour,
        covered_per_hour(purchase.per_hour, discount),
    )
    result = PurchaseResult(
        assumption=text.name_of(query, Assumption(PURCHASE, place)),
        currency=currency,
        committed=outcome.committed,
        covered_on_demand=outcome.covered,
        eligible_on_demand=outcome.on_demand,
        discount_percent=exact_product(discount, Decimal(100)).normalize(),
        utilization=outcome.utilization,
        break_even_utilization=exact_difference(Decimal(1), discount),
        coverage=outcome.coverage,
        days_by_hour=usage.days - usage.days_by_day,
        days_by_day=usage.days_by_day,
    )
    return PurchaseEffect(result, place, purchase.discount_percent is not None)


def _currency_of(purchase: Purchase, sums: Sequence[SimulationSum], place: int) -> str:
    currencies = sorted({each.currency for each in sums if each.purchase == place})
    currency = purchase.currency.strip().upper()
    if currency in currencies or (currency and not currencies):
        return currency
    if len(currencies) == 1 and not currency:
        return currencies[0]
    if not currencies:
        raise UserError(
            "purchases: no usage of these days could be covered. See pricing_category.", field="purchases"
        )
    raise UserError(
        f"purchases: give the currency of per_hour: {' or '.join(currencies)}.",
        field="purchases",
        value=currency,
    )


def _total(
    currency: str, simulated: Sequence[Simulated], purchases: Sequence[PurchaseEffect]
) -> SimulatedTotal | None:
    """The total of a currency; None if nothing in it has a price."""
    priced = [(each, effect) for each, effect in simulated if each.currency == currency and effect.is_priced]
    bought = [each.change for each in purchases if each.result.currency == currency]
    if not priced and not bought:
        return None
    baseline = exact_sum(each.cost for each, _ in priced)
    change = exact_sum([*(amount for _, effect in priced for _, amount in effect.changes), *bought])
    return SimulatedTotal(
        currency=currency, baseline=baseline, simulated=exact_sum([baseline, change]), change=change
    )


def _left_out(simulated: Sequence[Simulated]) -> list[LeftOutCost]:
    """Cost left out by reason and currency, largest first."""
    keys = dict.fromkeys((effect.reason, each.currency) for each, effect in simulated if not effect.is_priced)
    rows = [
        LeftOutCost(
            reason=reason,
            cost=exact_sum(
                each.cost
                for each, effect in simulated
                if (effect.reason, each.currency) == (reason, currency)
            ),
            currency=currency,
        )
        for reason, currency in keys
    ]
    return sorted(rows, key=lambda row: (row.currency, -row.cost, row.reason))


def _sums_of(
    sums: Sequence[SimulationSum], currencies: Sequence[str], name: str
) -> list[tuple[str, Decimal]]:
    return [
        (currency, exact_sum(getattr(each, name) for each in sums if each.currency == currency))
        for currency in currencies
    ]


def _late(sums: Sequence[SimulationSum]) -> dict[str, Decimal]:
    """Cost on incomplete days by currency, largest first."""
    return {currency: late for currency, late in _sums_of(sums, _currencies(sums), "late") if late}


def _currencies(sums: Sequence[SimulationSum]) -> list[str]:
    """Currencies, the one with the largest amount first."""
    names = {each.currency for each in sums}
    return currencies_by_amount(
        {name: exact_sum(each.cost for each in sums if each.currency == name) for name in names}
    )


def _effects(
    query: SimulationQuery,
    simulated: Sequence[Simulated],
    purchases: Sequence[PurchaseEffect],
    currencies: Sequence[str],
) -> list[SimulatedEffect]:
    effects = []
    for currency in currencies:
        bought = [
            SumEffect(((Assumption(PURCHASE, each.place), each.change),))
            for each in purchases
            if each.result.currency == currency
        ]
        of_lines = [effect for each, effect in simulated if each.currency == currency and effect.is_priced]
        effects += [
            SimulatedEffect(assumption=text.name_of(query, assumption), change=change, currency=currency)
            for assumption, change in change_by_assumption([*of_lines, *bought]).items()
        ]
    return effects
