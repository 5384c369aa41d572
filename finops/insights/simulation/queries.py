"""What real cost lines would cost under other assumptions: the one query behind the tool simulateCost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from accounts.models import Account
from finops.costs.answers import AccountRef, AppliedPeriod
from finops.costs.queries.filter_values import FilterFindings, look_up
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend import Question, plan_of, resolve_query
from finops.costs.spend_query import DEFAULT_PERIOD, Filter, SpendQuery, read_period
from finops.insights.cost_scope import CostReader
from finops.insights.simulation.figures import (
    COMMITMENTS_END,
    SumEffect,
    change_by_assumption,
    effect_of,
)
from finops.insights.simulation.lake import COVERED, FIXED, SimulationBuild, SimulationSum, read_sums
from finops.insights.simulation.schemas import (
    LeftOutCost,
    SimulatedEffect,
    SimulatedTotal,
    SimulationAnswer,
    SimulationQuery,
    UsageGrowth,
)
from finops.lib.errors import UserError
from finops.lib.money import currencies_by_amount, exact_product, exact_sum
from finops.lib.sentences import exact_number, join_with_and, money, quote

NO_PRICE = "covered by a commitment, without a contracted cost"
MOST_PERCENT = 10_000
PERCENT = Decimal("0.01")

KEEP = (
    "Commitments stay: they cover what they covered, more usage is at contracted prices, and less usage leaves them unused at the "
    "same cost."
)
END = "Commitments end: usage they covered is at its contracted cost, and unused commitments cost nothing."
FIXED_STAYS = (
    "Taxes, credits, fees, purchases and adjustments stay as billed, also where they depend on usage."
)
LINEAR = "Cost grows with usage in proportion: no tiers, free quotas or volume discounts."


@dataclass(frozen=True)
class MatchingLines:
    """The lines that filters choose, and sentences about values that no line has."""

    question: Question
    warnings: Sequence[str]


Simulated = tuple[SimulationSum, SumEffect]


def simulate_cost(
    account: Account, query: SimulationQuery, *, deadline: float | None = None
) -> SimulationAnswer:
    """Amortized cost of all charges of the days, as it was and under the assumptions. Exact, never added over currencies.

    Raises UserError for what the caller can repair. Cost: one lake query over the lines, one or two small ones for each
    filter and growth by values.
    """
    _check(query)
    sources = load_sources(account)
    reader = CostReader(account, sources, deadline)
    lines = _lines(reader, query, query.filters)
    question = lines.question
    rules = tuple(_rule(reader, query, each) for each in query.growth)
    build = SimulationBuild(
        question.filters,
        tuple(each.question.filters[0] if each else None for each in rules),
        question.incomplete,
    )
    sums = read_sums(reader.run(question.days, build, build.tag_keys, allow_rollups=False))
    shares = [exact_product(each.percent, PERCENT) for each in query.growth]
    simulated = [(each, effect_of(each, shares, ends=query.commitments == "end")) for each in sums]
    notes = source_notes(account, sources, question.filters, question.days)
    through = sources.coverage.complete_through
    currencies = _currencies(sums)
    totals = [_total(currency, simulated) for currency in currencies]
    left_out = _left_out(simulated)
    return SimulationAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(question, totals, left_out, sums, notes.clause),
        period=AppliedPeriod(
            start_date=question.days.start,
            end_date=question.days.end,
            days=question.days.days,
            name=query.period or ("" if query.start_date else DEFAULT_PERIOD),
            unfinished=through is None or through < question.days.end,
        ),
        totals=totals,
        effects=_effects(query, simulated, currencies),
        left_out=left_out,
        assumptions=_assumptions(query, sums, currencies),
        warnings=[
            *notes.warnings,
            *(warning for each in (lines, *rules) if each is not None for warning in each.warnings),
        ],
        hint=""
        if query.growth or query.commitments == "end"
        else "Nothing is changed: give growth or commitments.",
    )


def _check(query: SimulationQuery) -> None:
    for each in query.growth:
        if not each.percent.is_finite() or not -100 <= each.percent <= MOST_PERCENT:
            raise UserError(f"growth: percent is -100 to {MOST_PERCENT}, not {each.percent}.", field="growth")
        if bool(each.dimension) != bool(each.values):
            raise UserError(
                "growth: name a dimension with its values, or neither for all usage.", field="growth"
            )


def _lines(reader: CostReader, query: SimulationQuery, filters: Sequence[Filter]) -> MatchingLines:
    """Raises UserError for a value that no line of the days has."""
    spend_query = SpendQuery(
        filters=list(filters),
        start_date=query.start_date,
        end_date=query.end_date,
        period=read_period(query.period),
        basis="amortized",
    )
    question = resolve_query(reader.account, spend_query, reader.sources)
    findings = (
        look_up(reader.account, plan_of(question), reader.deadline, reader.sources.manifest, refuse_all=True)
        if filters
        else FilterFindings()
    )
    return MatchingLines(question, findings.warnings)


def _rule(reader: CostReader, query: SimulationQuery, growth: UsageGrowth) -> MatchingLines | None:
    if not growth.dimension:
        return None
    return _lines(reader, query, [Filter(dimension=growth.dimension, values=growth.values)])


def _total(currency: str, simulated: Sequence[Simulated]) -> SimulatedTotal:
    priced = [(each, effect) for each, effect in simulated if each.currency == currency and effect.is_priced]
    baseline = exact_sum(each.cost for each, _ in priced)
    change = exact_sum(amount for _, effect in priced for _, amount in effect.changes)
    return SimulatedTotal(
        currency=currency, baseline=baseline, simulated=exact_sum([baseline, change]), change=change
    )


def _left_out(simulated: Sequence[Simulated]) -> list[LeftOutCost]:
    sums = [each for each, effect in simulated if not effect.is_priced]
    return [
        LeftOutCost(
            reason=NO_PRICE,
            cost=exact_sum(each.cost for each in sums if each.currency == currency),
            currency=currency,
        )
        for currency in _currencies(sums)
    ]


def _currencies(sums: Sequence[SimulationSum]) -> list[str]:
    """The one of most money first."""
    names = {each.currency for each in sums}
    return currencies_by_amount(
        {name: exact_sum(each.cost for each in sums if each.currency == name) for name in names}
    )


def _effects(
    query: SimulationQuery, simulated: Sequence[Simulated], currencies: Sequence[str]
) -> list[SimulatedEffect]:
    return [
        SimulatedEffect(assumption=_name_of(query, place), change=change, currency=currency)
        for currency in currencies
        for place, change in change_by_assumption(
            [effect for each, effect in simulated if each.currency == currency]
        ).items()
    ]


def _name_of(query: SimulationQuery, place: int) -> str:
    if place == COMMITMENTS_END:
        return "Commitments end"
    growth = query.growth[place]
    of = (
        f"{growth.dimension} {join_with_and([quote(each) for each in growth.values])}"
        if growth.dimension
        else "all"
    )
    return f"Usage of {of} {'+' if growth.percent > 0 else ''}{exact_number(growth.percent)} %"


def _assumptions(
    query: SimulationQuery, sums: Sequence[SimulationSum], currencies: Sequence[str]
) -> list[str]:
    """All that is assumed, in the order in which it is applied."""
    fixed = [
        money(amount, currency)
        for currency in currencies
        if (
            amount := exact_sum(
                each.cost for each in sums if each.currency == currency and each.line == FIXED
            )
        )
    ]
    stays = f"{FIXED_STAYS} They are {join_with_and(fixed)} here." if fixed else FIXED_STAYS
    commitments = [END] if query.commitments == "end" else []
    if not commitments and any(each.line == COVERED for each in sums):
        commitments = [KEEP]
    growth = [f"{_name_of(query, place)}." for place in range(len(query.growth))]
    return [
        "Amortized cost of all charges, at the prices of these days.",
        *commitments,
        *growth,
        *([LINEAR] if growth else []),
        stays,
    ]


def _summary(
    question: Question,
    totals: Sequence[SimulatedTotal],
    left_out: Sequence[LeftOutCost],
    sums: Sequence[SimulationSum],
    clause: str,
) -> str:
    days = question.days
    if not totals:
        return f"No cost from {days.start} to {days.end}, so nothing to simulate{clause}."
    amounts = [
        f"{money(each.simulated, each.currency)} instead of {money(each.baseline, each.currency)}"
        for each in totals
    ]
    late = {
        each.currency: exact_sum(one.late for one in sums if one.currency == each.currency) for each in totals
    }
    caveats = [f"{money(each.cost, each.currency)} {each.reason} is left out" for each in left_out]
    caveats += [
        f"{money(amount, currency)} is of incomplete days" for currency, amount in late.items() if amount
    ]
    rest = f"; {'; '.join(caveats)}" if caveats else ""
    return f"{days.start} to {days.end} would have been {join_with_and(amounts)} amortized under the assumptions{rest}{clause}."
