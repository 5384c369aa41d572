"""Anomalies: the list of the page and the tool, and the page of one anomaly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, F, IntegerField, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Cast
from msgspec.structs import replace

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answers import AccountRef, MoneyAmount
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import NO_BILL, incomplete_words
from finops.costs.spend_query import CostFilter
from finops.exchange_rates.missing_rates import missing_rate_clause, without_rate
from finops.insights.anomalies.candidates import incident_candidates
from finops.insights.anomalies.display import (
    AS_STORED,
    AnomalyDisplay,
    IncidentAmounts,
    anomaly_display,
    currency_warnings,
    impacts_by_currency,
    part_of_impact,
)
from finops.insights.anomalies.lake import impacts_in_scope
from finops.insights.anomalies.rows import incident_figures, root_cause_text, row_of, with_members
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery, AnomalyRow
from finops.insights.cost_scope import CostReader, CostScope, check_currency, resolve_scope
from finops.insights.models import Anomaly, AnomalyRun, AnomalySettings, Incident
from finops.lake.engine.conversion import display_currency
from finops.lib import sentences
from finops.lib.cost_access import require_whole_account
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, quote

RECENT_DAYS = 30
SEVERITIES = ("high", "medium", "low")

NO_ANOMALY_HINT = (
    "Use status all to include expected and resolved anomalies. Use querySpend for the cost itself."
)
HINT = (
    "Amounts are amortized cost without taxes, credits, refunds, one-time fees and commitment "
    "purchases. For detail, filter querySpend by the value and group by day and usage_type or "
    "resource. Members mark an anomaly as expected or resolved in the console."
)

INSTEAD = "Anomalies are found in all cost of the account. Use What changed (explainSpendChange)."
"""What readers with limited cost access can use instead."""

MAX_IN_SCOPE = 500
"""Number of anomalies, the most severe first, that are searched for those of a scope."""

SEARCHED = f"Only the {MAX_IN_SCOPE} most severe anomalies are searched. Narrow by days or status."


def incidents_in_scope(
    reader: CostReader, rows: QuerySet[Incident], scope: CostScope
) -> tuple[Mapping[int, Decimal], list[str]]:
    """Return the incidents to which the cost of a scope contributed, as its part of the impact by primary key; and
    sentences about values that no line has. Two queries, one of the lake and one for each dimension.

    Raises UserError for a scope that does not exist in the account.
    """
    filters, warnings = resolve_scope(reader, scope)
    most_severe = list(_order_rows(rows).values_list("pk", flat=True)[: MAX_IN_SCOPE + 1])
    if len(most_severe) > MAX_IN_SCOPE:
        warnings = [*warnings, SEARCHED]
    counted = Q(is_counted=True, gone_at=None) | Q(pk=F("incident__headline_id"))
    rows_of = Anomaly.objects.filter(counted, incident__in=most_severe[:MAX_IN_SCOPE])
    members = {row.pk: row for row in rows_of}
    impacts: dict[int, Decimal] = {}
    for pk, impact in impacts_in_scope(reader, list(members.values()), filters).items():
        incident = members[pk].incident_id or 0
        impacts[incident] = exact_sum([impacts.get(incident, Decimal(0)), impact])
    return {pk: impacts[pk] for pk in most_severe if pk in impacts}, warnings


def list_anomalies(
    account: Account,
    query: AnomaliesQuery,
    *,
    sources: Sources | None = None,
    deadline: float | None = None,
) -> AnomaliesAnswer:
    """Return the incidents that match a query, most severe first, then newest. Six queries, none of the lake; for a
    team, source, account or provider also those of `incidents_in_scope`. Raises UserError for days in the wrong order
    and for a cursor of another query."""
    require_whole_account(INSTEAD)
    question = _question_of(query)
    offset = offset_of(query.cursor, *question)
    reader = CostReader(account, sources or load_sources(account), deadline)
    check_currency(reader, query.currency)
    rows = _filter_incidents(query)
    display = anomaly_display(rows)
    other_warnings = other_currency_warnings(rows, display)
    rows = display.narrow(rows)
    impacts: Mapping[int, Decimal] = {}
    warnings: list[str] = []
    if query.scope_values:
        impacts, warnings = incidents_in_scope(reader, rows, query)
        rows = rows.filter(pk__in=list(impacts))
    matches = [pair for pair in _with_figures(rows, display) if _has_impact(pair[1], query)]
    every, total, page = [pair[1] for pair in matches], len(matches), matches[offset : offset + query.limit]
    listed, not_all_events = _with_candidates(_rows_of(page, display, impacts), page, query)
    run = AnomalyRun.objects.first()
    incomplete = _run_clause(run, warnings) + not_complete(reader.sources, query)
    more = offset + len(listed) < total
    cut = f"{offset + 1} to {offset + len(listed)} of {total}. Use cursor for the next page."
    return AnomaliesAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, query, listed, every, display.only, incomplete),
        anomalies=listed,
        total_anomalies=total,
        smallest_impacts=smallest_impacts(),
        looked_at=run.finished_at if run else None,
        data_through=_data_through(run, reader.sources),
        cursor=next_cursor(offset + len(listed), *question) if more else "",
        truncated=cut if more else "",
        warnings=[
            *currency_warnings(every),
            *other_warnings,
            *warnings,
            *(_warnings(run) + not_all_events),
            *_overlap_warnings(listed, [figures for _incident, figures in page]),
        ],
        hint=HINT if total else NO_ANOMALY_HINT,
    )


def _run_clause(run: AnomalyRun | None, warnings: Sequence[str]) -> str:
    """Return a clause on a detection that has not run, or failed, and on anomalies that were not searched: "no anomaly"
    would mislead."""
    searched = f"; only the {MAX_IN_SCOPE} most severe anomalies are searched" if SEARCHED in warnings else ""
    if run is None or run.finished_at is None:
        return f"; anomaly detection has not run yet{searched}"
    return f"; the last anomaly detection failed{searched}" if run.error else searched


def _question_of(query: AnomaliesQuery) -> list[Any]:
    """Return the part of the query that a cursor belongs to."""
    days = query.start_date, query.end_date
    return [query.status, *days, query.minimum_impact, query.currency, query.search, query.scope_text]


def not_complete(sources: Sources, query: AnomaliesQuery) -> str:
    """Return a clause on the days of the query (by default the last month) in which no anomalies were detected
    because they are incomplete, or no bill covers them; empty if there are none."""
    last = query.end_date or sources.coverage.today
    first = query.start_date or last - timedelta(days=RECENT_DAYS)
    names = sources.names_by_id
    source_name = query.cost_source.strip().casefold()
    source_ids = [source for source, name in names.items() if source_name in ("", name.casefold())]
    coverage = sources.coverage.of_sources(source_ids)
    has_days = bool(query.start_date or query.end_date) and bool(coverage.spans)
    if has_days and not coverage.has_data(query.start_date or date.min, last):
        return NO_BILL
    return incomplete_words(coverage, DateRange(first, last), {}, names)


def list_note(run: AnomalyRun | None, warnings: Sequence[str], incomplete: str) -> str:
    """Return what a list of anomalies leaves out, for its CSV: `incomplete` is the clause of `not_complete`. Empty if it
    leaves nothing out."""
    days = [f"Complete days only{incomplete}."] if incomplete else []
    return " ".join([*days, *warnings, *_warnings(run)])


def _data_through(run: AnomalyRun | None, sources: Sources) -> date | None:
    """Return the last day that is complete for every source, if the last detection included it."""
    through = sources.coverage.complete_through
    if run is None or run.data_through is None or through is None:
        return None
    return min(run.data_through, through)


def _filter_incidents(query: AnomaliesQuery) -> QuerySet[Incident]:
    if query.start_date and query.end_date and query.end_date < query.start_date:
        raise UserError(
            f"end_date {query.end_date} is before start_date {query.start_date}.",
            field="end_date",
            value=str(query.end_date),
        )
    rows = Incident.objects.all()
    if query.status != "all":
        rows = rows.filter(state=query.status)
    if query.start_date:
        rows = rows.filter(last_day__gte=query.start_date)
    if query.end_date:
        rows = rows.filter(first_day__lte=query.end_date)
    for word in query.search.split():
        matches = Anomaly.objects.alias(causes_text=Cast("causes", TextField())).filter(_mentions(word))
        rows = rows.filter(pk__in=matches.values("incident_id"))
    return rows


def _has_impact(figures: IncidentAmounts, query: AnomaliesQuery) -> bool:
    """Return whether the incident is in the query's currency, as shown or as stored, and large enough in it."""
    code = query.currency.strip().casefold()
    sides = [each for each in (figures, figures.own) if each and code in ("", each.currency.casefold())]
    return bool(sides) and (
        query.minimum_impact is None or sides[0].impact.copy_abs() >= query.minimum_impact
    )


def _with_figures(
    rows: QuerySet[Incident], display: AnomalyDisplay
) -> list[tuple[Incident, IncidentAmounts]]:
    """Return the incidents with their amounts, most severe first. One query, two if they are converted."""
    ordered = _order_rows(rows)
    incidents = with_members(ordered) if display.currency else ordered
    return [(each, incident_figures(each, display)) for each in incidents]


def _rows_of(
    page: Sequence[tuple[Incident, IncidentAmounts]],
    display: AnomalyDisplay,
    impacts: Mapping[int, Decimal] | None = None,
) -> list[AnomalyRow]:
    """Return rows in the same order; `impacts`: the part of each that belongs to a scope, as stored. Two queries,
    none if they are converted."""
    incidents = {each.pk: each for each, _figures in page}
    if not display.currency:
        incidents |= with_members(Incident.objects.all()).in_bulk(list(incidents))
    rows = []
    for each, figures in page:
        impact = (impacts or {}).get(each.pk)
        part = None if impact is None else part_of_impact(impact, figures)
        rows.append(replace(row_of(incidents[each.pk], display), impact_in_scope=part))
    return rows


def _with_candidates(
    listed: Sequence[AnomalyRow], page: Sequence[tuple[Incident, IncidentAmounts]], query: AnomaliesQuery
) -> tuple[list[AnomalyRow], list[str]]:
    """Return rows with the change events near each that fit the scope of the query, and a warning if not all events
    were evaluated. Three queries if there are anomalies."""
    incidents = with_members(Incident.objects.filter(pk__in=[each.pk for each, _figures in page]))
    filters = [CostFilter(dimension=name, values=[value]) for name, value in query.scope_values.items()]
    beside, not_all = incident_candidates(list(incidents), filters) if page else ({}, "")
    rows = [
        replace(row, candidates=beside.get(incident.pk, []))
        for row, (incident, _figures) in zip(listed, page, strict=True)
    ]
    return rows, [not_all] if not_all else []


def other_currency_warnings(rows: QuerySet[Incident], display: AnomalyDisplay) -> list[str]:
    """Return warnings about incidents in other currencies, which are not shown. One query, none if all are shown."""
    if not display.only:
        return []
    counts = Counter(rows.exclude(currency=display.only).values_list("currency", flat=True))
    texts = [f"{count} in {currency}" for currency, count in sorted(counts.items())]
    return [f"Not included: {join_with_and(texts)}. Switch the currency to show them."] if texts else []


def _mentions(word: str) -> Q:
    fields = ("value", "label", "source__name", "incident__note", "key", "kind", "causes_text")
    words = dict.fromkeys([*candidates("service", word), *candidates("provider", word)])
    return reduce(or_, [Q(**{f"{name}__icontains": each}) for name in fields for each in words])


def _order_rows(rows: QuerySet[Incident]) -> QuerySet[Incident]:
    places = [When(severity=name, then=Value(place)) for place, name in enumerate(SEVERITIES)]
    rank = Case(*places, default=Value(len(SEVERITIES)), output_field=IntegerField())
    return rows.alias(rank=rank).order_by("rank", "-last_day", "-id")


def smallest_impacts() -> list[MoneyAmount]:
    """Return the minimum impacts set by the account; by default they are a share of its spend."""
    row = AnomalySettings.objects.first()
    return [
        MoneyAmount(amount=Decimal(amount), currency=currency)
        for currency, amount in (row.minimum_impacts if row else {}).items()
    ]


def anomaly_settings(account: Account) -> AnomalySettings:
    """Return what the account monitors; the defaults if it has no settings. One query."""
    return AnomalySettings.objects.first() or AnomalySettings(account=account)


@dataclass(frozen=True)
class OpenAnomalies:
    """Anomalies on the overview: the number of open incidents, their impact with shared cost counted once, the most
    severe."""

    count: int
    ongoing: int
    impacts: list[MoneyAmount]
    worst: list[AnomalyRow]
    warnings: list[str]


def open_anomalies(limit: int = 3) -> OpenAnomalies:
    """Return the open incidents; the number, the list and the sum are of the same ones. Three queries, and those of
    the rates if they are converted."""
    require_whole_account(INSTEAD)
    rows = Incident.objects.filter(state=Incident.State.OPEN)
    display = anomaly_display(rows)
    pairs = _with_figures(display.narrow(rows), display)
    figures = [each for _incident, each in pairs]
    return OpenAnomalies(
        count=len(pairs),
        ongoing=sum(incident.ongoing for incident, _figures in pairs),
        impacts=_impacts(figures),
        worst=_rows_of(pairs[:limit], display),
        warnings=[*currency_warnings(figures), *other_currency_warnings(rows, display)],
    )


def _impacts(figures: Sequence[IncidentAmounts]) -> list[MoneyAmount]:
    """Return the impact by currency, the display currency first, then the largest. Shared cost counts once."""
    sums = impacts_by_currency(figures)
    ranked = sorted(sums, key=lambda code: (code != display_currency(), -abs(sums[code]), code))
    return [MoneyAmount(amount=sums[code], currency=code) for code in ranked]


def state_counts(display: AnomalyDisplay = AS_STORED) -> Counter[str]:
    """Return the number of incidents in each state. One query."""
    return Counter(display.narrow(Incident.objects.all()).values_list("state", flat=True))


def _summary(
    account: Account,
    query: AnomaliesQuery,
    listed: Sequence[AnomalyRow],
    every: Sequence[IncidentAmounts],
    only: str,
    incomplete: str,
) -> str:
    name, state = quote(account.name), "" if query.status == "all" else f"{query.status} "
    of = f"{query.scope_text}{f' in {only}' if only else ''}"
    if not every:
        limits = (query.start_date, query.end_date, query.minimum_impact, query.currency, query.search)
        matching = " that matches the filters" if any(each for each in limits) else ""
        return f"{name} has no {state}anomaly{of}{matching}{incomplete}."
    noun = "anomaly" if len(every) == 1 else "anomalies"
    counted = f"{name} has {len(every)} {state}{noun}{of}"
    if len(every) > 1 and not query.scope_text:
        counted += _net_impact(every)
    counted += missing_rate_clause(impacts_by_currency(every))
    if not listed:
        return f"{counted}{incomplete}."
    worst = listed[0]
    return (
        f"{counted}; listed first: {quote(worst.name or worst.value)}{root_cause_text(worst)} of {quote(worst.source)}, "
        f"{worst.first_day} to {worst.last_day}, {_signed_amount(worst.impact, worst.currency)} against what was "
        f"expected{', ongoing' if worst.ongoing else ''}{incomplete}."
    )


def _net_impact(every: Sequence[IncidentAmounts]) -> str:
    """Return a clause on the net impact. Amounts without a rate to the display currency are in no sum."""
    impacts = _impacts(every)
    left_out = without_rate({each.currency: each.amount for each in impacts})
    amounts = [
        _signed_amount(each.amount, each.currency)
        for each in impacts
        if each.currency not in left_out or len(left_out) == len(impacts)
    ]
    if not amounts:
        return ""
    daily = " at daily exchange rates" if any(each.own for each in every) else ""
    return f", net impact {join_with_and(amounts)}{daily} with shared cost counted once"


def _signed_amount(amount: Decimal, currency: str) -> str:
    return f"{'+' if amount > 0 else ''}{sentences.money(amount, currency)}"


def _warnings(run: AnomalyRun | None) -> list[str]:
    if run is None or run.finished_at is None:
        return ["Anomaly detection has not run yet. It runs within minutes of a cost import."]
    return [f"The last anomaly detection failed: {run.error}"] if run.error else []


def _overlap_warnings(listed: Sequence[AnomalyRow], figures: Sequence[IncidentAmounts]) -> list[str]:
    return [
        f"{quote(row.name or row.value)}: {sentences.money(each.shared_impact, each.currency)} of "
        "its impact is also in other anomalies. Do not add it twice."
        for row, each in zip(listed, figures, strict=True)
        if each.shared_impact
    ]
