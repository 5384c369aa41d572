"""AI spend: the one function behind its page and its widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from accounts.models import Account
from finops.ai_spend.ai_spend_query import MODEL_AND_TOKEN_TYPE, AiSpendQuery
from finops.ai_spend.answers import AiSpendAnswer, AiSpendRow, AiSpendTotal, UnpricedTokens
from finops.ai_spend.dimensions import KEY, MODEL, PERSON, TOKEN_TYPE, VENDOR
from finops.ai_spend.prices import PriceList
from finops.ai_spend.queries import words
from finops.ai_spend.queries.comparison import BilledDay, Sides, estimates_of
from finops.ai_spend.queries.costs import AiCosts, read_ai_costs, read_groups
from finops.ai_spend.queries.estimates import (
    EstimatedTokens,
    Pricing,
    estimate_tokens,
    own_price_models,
    tokens_without_price,
)
from finops.ai_spend.queries.prices import account_prices
from finops.ai_spend.queries.rows import NONE, Cells, Group, meter_cells, rows_of, value_cells
from finops.ai_spend.queries.totals import buckets_of, totals_of, trend_of
from finops.ai_spend.queries.usage import (
    read_by_day,
    read_tokens,
    seat_metric,
    session_metric,
    token_metrics,
)
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries.sources import Sources, load_sources
from finops.exchange_rates.display import current_display
from finops.lib.answers import AccountRef
from finops.lib.money import exact_sum
from finops.lib.usage_problems import problem_clauses
from ingestion.models import UsageMetric
from ingestion.queries import MetricUsage, metrics_of

_METER_GROUPS: Final = {
    MODEL_AND_TOKEN_TYPE: ["Model", "Token type"],
    "model": ["Model"],
    "token_type": ["Token type"],
}
_TITLES: Final = {
    "vendor": "Vendor",
    "person": "Person",
    "key": "Key",
    "feature": "Feature",
    "customer": "Customer",
}
_DIMENSIONS: Final = {"vendor": VENDOR, "person": PERSON, "key": KEY, "customer": "customer", "team": "team"}
_MAPPED_FILTERS: Final = (MODEL, TOKEN_TYPE)


@dataclass(frozen=True)
class _Usage:
    """Tokens from usage with their estimates, and the metrics that count them."""

    rows: Sequence[EstimatedTokens]
    metrics: Sequence[UsageMetric]
    reason: str = ""


def review_ai_spend(
    account: Account,
    query: AiSpendQuery,
    *,
    sources: Sources | None = None,
    metrics: list[UsageMetric] | None = None,
    deadline: float | None = None,
) -> AiSpendAnswer:
    """AI spend, billed and estimated from usage, by model, token type, person, key or feature.

    The two are never added: an estimate is compared with the billed cost of the same days, with the reasons for the
    difference. The account must be in scope. Raises UserError for what the caller can correct. Lake queries: two of
    cost, one or two more with filters, one of tokens, sessions and seats each, one of cost by another group.
    """
    sources = sources or load_sources(account)
    metrics = metrics_of(account) if metrics is None else metrics
    costs = read_ai_costs(account, query, sources, deadline)
    prices = account_prices(account)
    billed, pricing = _billed_days(costs, prices), _pricing(prices, costs)
    usage = _read_usage(account, query, metrics, costs, pricing, deadline)
    sides = Sides(billed, costs.tokens, usage.rows, pricing, sources.coverage.complete_through)
    sessions, seats = session_metric(metrics, query.session_metric), seat_metric(metrics, query.seat_metric)
    sessions_by_day, seats_by_day = (_by_day(account, each, costs, deadline) for each in (sessions, seats))
    spend, buckets = costs.sums.totals(), buckets_of(costs.plan.days, query.granularity)
    totals = totals_of(spend, billed, costs.tokens, sessions_by_day, seats_by_day, buckets, query.granularity)
    cells, labels = _cells(account, query, costs, billed, usage, prices, deadline)
    rows = _rows(cells, labels, totals, query.limit)
    estimates, notes = estimates_of(sides), _usage_notes(usage)
    problems = _problems(sources, costs, [*usage.metrics, sessions, seats])
    return AiSpendAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=words.summary_of(account, costs, totals, estimates, notes, problems),
        view=costs.question.view,
        period=costs.sums.period,
        group_by=_METER_GROUPS.get(query.group_by) or [_TITLES.get(query.group_by, "Team")],
        totals=totals,
        estimates=estimates,
        estimate_reason=usage.reason,
        unpriced=_without_price(usage.rows),
        rows=rows,
        trend=trend_of(billed, buckets, query.granularity),
        token_metrics=[metric.name for metric in usage.metrics],
        session_metric=sessions.name if sessions else "",
        seat_metric=seats.name if seats else "",
        price_list_read_on=prices.read_on,
        own_price_models=notes.own_models,
        data_through=sources.coverage.complete_through,
        truncated=words.truncation_note(rows, query.limit),
        warnings=[*words.warnings_of(costs, sides, usage.metrics, problems), *costs.sums.warnings(spend)],
    )


def _usage_notes(usage: _Usage) -> words.UsageNotes:
    unpriced = exact_sum(tokens_without_price(usage.rows).values())
    return words.UsageNotes(usage.reason, unpriced, own_price_models(usage.rows))


def _problems(sources: Sources, costs: AiCosts, metrics: Sequence[UsageMetric | None]) -> list[str]:
    """Clauses on sources that may lack usage of these days; none if no metric counts anything."""
    return problem_clauses(sources.usage_problems, costs.plan.days.end) if any(metrics) else []


def _by_day(
    account: Account, metric: UsageMetric | None, costs: AiCosts, deadline: float | None
) -> MetricUsage | None:
    return read_by_day(account, metric, costs.plan.days, deadline) if metric else None


def _billed_days(costs: AiCosts, prices: PriceList) -> list[BilledDay]:
    """Cost in the chosen view, by model, token type and day; different names of one model are added up."""
    return [
        BilledDay(
            (prices.model_name(_value(part.keys[0])) if _value(part.keys[0]) else "", _value(part.keys[1])),
            part.bucket,
            part.currency,
            part.amount,
        )
        for part in costs.sums.sums
        if part.bucket is not None and costs.plan.counts(part.charge_category)
    ]


def _value(key: str | None) -> str:
    return "" if key in (None, NONE) else str(key)


def _pricing(prices: PriceList, costs: AiCosts) -> Pricing:
    """Prices, with the exchange rates of the range if answers are converted."""
    display = current_display()
    if display is None:
        return Pricing(prices)
    days = costs.plan.days
    rates = {(rate.currency, rate.day): rate.rate for rate in display.rates_of(days.start, days.end)}
    return Pricing(prices, display.currency, rates)


def _read_usage(
    account: Account,
    query: AiSpendQuery,
    metrics: list[UsageMetric],
    costs: AiCosts,
    pricing: Pricing,
    deadline: float | None,
) -> _Usage:
    """The tokens that correspond to the cost. A filter that usage does not support leaves no estimate, with a
    warning."""
    selected_metrics = token_metrics(metrics, query.token_metric)
    if not selected_metrics:
        return _Usage([], [], "No usage metric counts tokens.")
    filters = costs.question.filters
    unknown = [item.dimension.title for item in filters if item.dimension.name not in _MAPPED_FILTERS]
    if unknown:
        return _Usage(
            [], selected_metrics, f"Usage is not filtered by {unknown[0]}, so there is no estimate."
        )
    tokens = read_tokens(account, selected_metrics, costs.plan.days, query.group_by, deadline)
    for item in filters:
        at = _MAPPED_FILTERS.index(item.dimension.name)
        tokens = [row for row in tokens if item.matches_value((row.model, row.token_type)[at] or NONE)]
    rows = estimate_tokens(tokens, pricing)
    return _Usage(rows, selected_metrics, "" if rows else "No usage events with tokens on these days.")


def _cells(
    account: Account,
    query: AiSpendQuery,
    costs: AiCosts,
    billed: Sequence[BilledDay],
    usage: _Usage,
    prices: PriceList,
    deadline: float | None,
) -> tuple[Cells, dict[str, str]]:
    if query.group_by in _METER_GROUPS:

        def group_of(model: str, token_type: str) -> Group:
            names = {"model": model or NONE, "token_type": token_type or NONE}
            return (
                tuple(names.values()) if query.group_by == MODEL_AND_TOKEN_TYPE else (names[query.group_by],)
            )

        name = prices.model_name
        return meter_cells(billed, costs.tokens, usage.rows, name, group_of), {}
    rows = usage.rows
    if query.group_by == "vendor":
        rows = [row._replace(value=prices.vendor_of(row.model) or None) for row in rows]
    labels: dict[str, str] = {}
    dimension = _dimension(costs.question.context, query.group_by)
    return value_cells(read_groups(account, costs, dimension, deadline), rows, labels), labels


def _dimension(context: DimensionContext, group: str) -> Dimension:
    """The dimension to group cost by. A feature is a cost tag or tag of that name, or else the account's product."""
    if group != "feature":
        return registry.resolve(context, _DIMENSIONS[group])
    own = {kind.name: kind.own_keys() for kind in registry.kinds() if kind.own_keys}
    cost_tags = [key for key in own.get("cost_tag:", []) if key.casefold() == "feature"]
    tags = [key for key in context.tag_keys if key.casefold() == "feature"]
    names = [*(f"cost_tag:{key}" for key in cost_tags), *(f"tag:{key}" for key in sorted(tags)), "product"]
    return registry.resolve(context, names[0])


def _rows(
    cells: Cells, labels: dict[str, str], totals: Sequence[AiSpendTotal], limit: int
) -> list[AiSpendRow]:
    amounts = {total.currency: total.billed for total in totals}
    return [_with_name(row, labels) for row in rows_of(cells, amounts, limit)]


def _with_name(row: AiSpendRow, labels: dict[str, str]) -> AiSpendRow:
    return replace(row, group=[labels.get(value, value) for value in row.group])


def _without_price(rows: Sequence[EstimatedTokens]) -> list[UnpricedTokens]:
    tokens = tokens_without_price(rows)
    ranked = sorted(tokens, key=lambda key: (-abs(tokens[key]), key))
    return [
        UnpricedTokens(
            model=model, token_type=token_type, tokens=tokens[model, token_type, reason], reason=reason
        )
        for model, token_type, reason in ranked
    ]
