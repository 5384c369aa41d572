"""The commitment to buy per hour, with its back-test: the one query behind planCommitmentPurchase and its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Final

from accounts.models import Account
from finops.costs.answers import AccountRef, AppliedPeriod
from finops.costs.coverage import continuous_from
from finops.costs.dimensions import no_values_clause
from finops.costs.filters import dimension_warnings
from finops.costs.queries.filter_values import FilterFindings, look_up
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import plan_of, resolve_query
from finops.costs.spend_query import SpendQuery
from finops.insights.commitments.purchases import covered_per_hour, hours_of, purchase_outcome
from finops.insights.cost_scope import CostReader
from finops.insights.purchase_plans import text
from finops.insights.purchase_plans.figures import (
    PLAN_RULE,
    VENDOR,
    WINDOWS,
    TestedMonth,
    back_test,
    largest_fall,
    on_demand,
    slots_of,
    tolerated_fall,
    window_capacity,
    window_days,
)
from finops.insights.purchase_plans.lake import PlanBuild, PlanUsage, read_usage
from finops.insights.purchase_plans.schemas import (
    PlanMonth,
    PurchasePlan,
    PurchasePlanAnswer,
    PurchasePlanQuery,
    WindowAdvice,
)
from finops.insights.purchase_plans.text import UnplannedUsage
from finops.lib.errors import UserError
from finops.lib.money import exact_difference, exact_product, exact_sum
from finops.lib.periods import DateRange, add_months, month_end, month_start

MONTHS: Final = 12
PERCENT: Final = Decimal("0.01")
_PER_HOUR: Final = Decimal("0.001")
"""Vendors sell commitments in steps of a tenth of a cent per hour."""


@dataclass(frozen=True)
class PlanDays:
    """Days of a plan. `before`: the day after the last complete one; `months`: whole months before it, oldest first;
    `first`: the first day from which on bills have no gap."""

    before: date
    first: date
    months: Sequence[DateRange]

    @property
    def all(self) -> DateRange:
        first = self.months[0].start - timedelta(days=max(WINDOWS)) if self.months else self.before
        return DateRange(max(self.first, min(first, self.lookback.start)), self.before - timedelta(days=1))

    @property
    def lookback(self) -> DateRange:
        return window_days(self.before, max(WINDOWS))


def plan_purchase(
    account: Account, query: PurchasePlanQuery, *, deadline: float | None = None
) -> PurchasePlanAnswer:
    """A plan for each provider and currency with on-demand usage that a commitment could cover, in addition to existing
    commitments. Exact.

    Raises UserError for what the caller can correct. Cost: one lake query over the lines of fourteen months, one or
    two small ones with filters.
    """
    _check(query)
    sources = load_sources(account)
    days = _days(sources)
    if days is None:
        return _without_cost(account, sources)
    reader = CostReader(account, sources, deadline)
    question = resolve_query(account, _spend_question(query, days.all), sources)
    findings = (
        look_up(account, plan_of(question), deadline, sources.manifest, refuse_all=True)
        if question.filters
        else FilterFindings()
    )
    build = PlanBuild(question.filters)
    usages = read_usage(reader.run(days.all, build, build.tag_keys, allow_rollups=False))
    plans = [plan for usage in usages if (plan := _plan(query, usage, days)) is not None]
    if usages and not plans:
        raise UserError(
            "discount_percent: no usage of this scope is covered by a commitment, so the discount is unknown. Give it from the "
            "provider's price list.",
            field="discount_percent",
            page="commitments/purchase/",
        )
    plans.sort(key=lambda plan: (-plan.on_demand, plan.provider, plan.currency))
    unknown = _usage_without_plan(usages, plans, days)
    notes = source_notes(account, sources, question.filters, days.lookback)
    dimensions = [each.dimension for each in question.filters]
    caveats = f"{_later_starts(usages, days)}{no_values_clause(dimensions)}{findings.clause}{notes.clause}"
    return PurchasePlanAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=text.summary(plans, unknown, days.lookback, days.before - days.first, caveats),
        period=_period(days.lookback),
        plans=plans,
        assumptions=text.assumptions(plans),
        data_through=days.before - timedelta(days=1),
        warnings=[*notes.warnings, *dimension_warnings(dimensions), *findings.warnings],
        hint=text.hint(plans),
    )


def _check(query: PurchasePlanQuery) -> None:
    percent = query.discount_percent
    if percent is not None and not (percent.is_finite() and 0 < percent < 100):
        raise UserError(
            f"discount_percent: above 0 and below 100, not {percent}.",
            field="discount_percent",
            value=percent,
        )


def _days(sources: Sources) -> PlanDays | None:
    through = sources.coverage.complete_through
    if through is None:
        return None
    first = continuous_from(sources.coverage, through)
    before = through + timedelta(days=1)
    newest = month_start(before)
    starts = [add_months(newest, -back) for back in range(MONTHS, 0, -1)]
    months = [DateRange(start, month_end(start)) for start in starts if start >= first]
    return PlanDays(before, first, months)


def _usage_without_plan(
    usages: Sequence[PlanUsage], plans: Sequence[PurchasePlan], days: PlanDays
) -> list[UnplannedUsage]:
    planned = {(plan.provider, plan.currency) for plan in plans}
    return [
        UnplannedUsage(each.provider, each.currency, on_demand(slots_of(each.usage, days.lookback)))
        for each in usages
        if (each.provider, each.currency) not in planned
    ]


def _later_starts(usages: Sequence[PlanUsage], days: PlanDays) -> str:
    """Clauses on providers whose on-demand usage begins within the last 60 days, while other bills are older: a source
    that was connected late looks as if its usage had just begun."""
    starts = [(each, min(each.usage)) for each in usages]
    return "".join(
        text.later_start(each.provider, each.currency, start)
        for each, start in starts
        if days.first <= days.lookback.start < start
    )


def _spend_question(query: PurchasePlanQuery, days: DateRange) -> SpendQuery:
    return SpendQuery(
        filters=list(query.filters), start_date=days.start, end_date=days.end, basis="amortized"
    )


def _period(days: DateRange) -> AppliedPeriod:
    return AppliedPeriod(start_date=days.start, end_date=days.end, days=days.days, name="", unfinished=False)


def _without_cost(account: Account, sources: Sources) -> PurchasePlanAnswer:
    today = sources.coverage.today
    return PurchasePlanAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=text.NO_COST,
        period=_period(DateRange(today, today)),
        plans=[],
        assumptions=[],
        data_through=None,
        warnings=[],
        hint=text.hint([]),
    )


def _plan(query: PurchasePlanQuery, usage: PlanUsage, days: PlanDays) -> PurchasePlan | None:
    """The plan of one provider and currency; None without a discount."""
    entered = query.discount_percent
    discount = exact_product(entered, PERCENT) if entered is not None else usage.covered_discount
    if discount is None or not 0 < discount < 1:
        return None
    price_share = exact_difference(Decimal(1), discount)
    lookback = days.lookback
    advice = PLAN_RULE.capacity(usage.usage, days.before, days.first, discount) or Decimal(0)
    per_hour = exact_product(advice, price_share).quantize(_PER_HOUR, rounding=ROUND_DOWN)
    capacity = covered_per_hour(per_hour, discount)
    slots, hours = slots_of(usage.usage, lookback), hours_of(lookback.days)
    outcome = purchase_outcome(slots, hours, per_hour, capacity)
    plan_months = back_test(PLAN_RULE, usage.usage, days.months, days.first, discount)
    vendor = [back_test(rule, usage.usage, days.months, days.first, discount) for rule in VENDOR]
    return PurchasePlan(
        provider=usage.provider,
        currency=usage.currency,
        per_hour=per_hour,
        covers_per_hour=capacity,
        discount_percent=exact_product(discount, Decimal(100)).normalize(),
        is_discount_entered=entered is not None,
        committed=outcome.committed,
        covered_on_demand=outcome.covered,
        on_demand=outcome.on_demand,
        saving=outcome.saving,
        utilization=outcome.utilization,
        coverage=outcome.coverage,
        break_even_utilization=price_share,
        tolerated_fall=tolerated_fall(slots, hours, per_hour, capacity) if per_hour else Decimal(0),
        largest_fall=largest_fall(usage.usage, days.months),
        saved=exact_sum(month.saving for month in plan_months),
        vendor=[
            WindowAdvice(
                days=window,
                currency=usage.currency,
                per_hour=exact_product(
                    window_capacity(usage.usage, days.before, window, discount), price_share
                ).quantize(_PER_HOUR, rounding=ROUND_DOWN),
                saved=exact_sum(month.saving for month in tested),
            )
            for window, tested in zip(WINDOWS, vendor, strict=True)
        ],
        months=[
            _month(usage, price_share, month, [tested[place] for tested in vendor])
            for place, month in enumerate(plan_months)
        ],
        days_by_day=sum(day in usage.days_by_day for day in usage.usage),
    )


def _month(
    usage: PlanUsage, price_share: Decimal, plan_month: TestedMonth, vendor: Sequence[TestedMonth]
) -> PlanMonth:
    outcome = plan_month.outcome
    return PlanMonth(
        month=f"{plan_month.days.start:%Y-%m}",
        currency=usage.currency,
        on_demand=on_demand(slots_of(usage.usage, plan_month.days)),
        per_hour=exact_product(plan_month.capacity, price_share) if outcome else None,
        saving=outcome.saving if outcome else None,
        utilization=outcome.utilization if outcome else None,
        vendor_savings=[each.saving if each.outcome else None for each in vendor],
    )
