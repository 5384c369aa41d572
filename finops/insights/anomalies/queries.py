"""Anomalies: the list behind the page and the tool, and what the page of one shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_

import msgspec
from django.db.models import Case, IntegerField, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Abs, Cast, Coalesce
from msgspec.structs import replace

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answers import AccountRef, MoneyAmount
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import incomplete_words
from finops.insights.anomalies.causes import Causes, top_causes
from finops.insights.anomalies.lake import impacts_in_scope
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery, AnomalyRow, RootCause
from finops.insights.cost_scope import CostReader, CostScope, check_currency, resolve_scope
from finops.insights.models import Anomaly, AnomalyRun, AnomalySettings
from finops.lib import sentences
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import quote

SHOWN_CAUSES = 3
RECENT_DAYS = 30
SEVERITIES = ("high", "medium", "low")

NO_ANOMALY_HINT = (
    "Use state all to include expected and resolved anomalies. Use querySpend for the cost itself."
)
HINT = (
    "Amounts are amortized cost without taxes, credits, refunds, one-time fees and commitment "
    "purchases. For detail, filter querySpend by the value and group by day and usage_type or "
    "resource. Members mark an anomaly as expected or resolved in the console."
)

MAX_IN_SCOPE = 500
"""Anomalies, the most severe first, that are looked through for those of a scope."""


def anomalies_in_scope(
    reader: CostReader, rows: QuerySet[Anomaly], scope: CostScope
) -> tuple[Mapping[int, Decimal], list[str]]:
    """Those of the rows in whose days the cost of a scope moved too: how much of the impact is of it, by pk; and sentences
    about values that no line has. One query, one more of the lake and one for each dimension that the rows are of.

    Raises UserError for a scope that the account does not know."""
    filters, warnings = resolve_scope(reader, scope)
    most_severe = list(_order_rows(rows)[: MAX_IN_SCOPE + 1])
    if len(most_severe) > MAX_IN_SCOPE:
        text = f"Only the {MAX_IN_SCOPE} most severe anomalies are searched. Narrow by days or state."
        warnings = [*warnings, text]
    return impacts_in_scope(reader, most_severe[:MAX_IN_SCOPE], filters), warnings


def list_anomalies(
    account: Account, query: AnomaliesQuery, *, deadline: float | None = None
) -> AnomaliesAnswer:
    """The incidents that a query asks for, the most severe first, then the newest. Six queries, none of the lake; for a
    team, source, account or provider those of `anomalies_in_scope` too.

    Raises UserError for days in the wrong order and a cursor of another question."""
    question = [query.state, query.start_date, query.end_date, query.min_impact, query.currency, query.search,
                query.scope_text]  # fmt: skip
    offset = offset_of(query.cursor, *question)
    reader = CostReader(account, load_sources(account), deadline)
    sources = reader.sources
    check_currency(reader, query.currency)
    rows = _filter_anomalies(query)
    impacts: Mapping[int, Decimal] = {}
    warnings: list[str] = []
    if query.scope_values:
        impacts, warnings = anomalies_in_scope(reader, rows, query)
        rows = rows.filter(pk__in=list(impacts))
    total = rows.count()
    page = _order_rows(rows).select_related("source").prefetch_related("views")[offset : offset + query.limit]
    shown = list(page)
    run = AnomalyRun.objects.first()
    more = offset + len(shown) < total
    return AnomaliesAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, query, shown, total, not_complete(sources, query)),
        anomalies=[replace(row_of(each), impact_in_scope=impacts.get(each.pk)) for each in shown],
        total_anomalies=total,
        smallest_impacts=smallest_impacts(),
        looked_at=run.finished_at if run else None,
        data_through=_data_through(run, sources),
        cursor=next_cursor(offset + len(shown), *question) if more else "",
        truncated=f"{offset + 1} to {offset + len(shown)} of {total}. Use cursor for the next page."
        if more
        else "",
        warnings=[*warnings, *_warnings(run), *_overlap_warnings(shown)],
        hint=HINT if total else NO_ANOMALY_HINT,
    )


def not_complete(sources: Sources, query: AnomaliesQuery) -> str:
    """A clause on the days of the question, of the last month where it names none, in which nobody has looked for
    anomalies, as they are not complete; empty when there are none."""
    last = query.end_date or sources.coverage.today
    first = query.start_date or last - timedelta(days=RECENT_DAYS)
    names = {source: each.name for source, each in sources.health.items()}
    source_name = query.source.strip().casefold()
    chosen = [source for source, name in names.items() if source_name in ("", name.casefold())]
    return incomplete_words(sources.coverage.of_sources(chosen), DateRange(first, last), {}, names)


def _data_through(run: AnomalyRun | None, sources: Sources) -> date | None:
    """The last day that is complete for every source, if the last look was at it."""
    through = sources.coverage.complete_through
    if run is None or run.data_through is None or through is None:
        return None
    return min(run.data_through, through)


def _filter_anomalies(query: AnomaliesQuery) -> QuerySet[Anomaly]:
    if query.start_date and query.end_date and query.end_date < query.start_date:
        raise UserError(
            f"end_date {query.end_date} is before start_date {query.start_date}.",
            field="end_date",
            value=str(query.end_date),
        )
    rows = primary_anomalies()
    if query.state != "all":
        rows = rows.filter(state=query.state)
    if query.start_date:
        rows = rows.filter(last_day__gte=query.start_date)
    if query.end_date:
        rows = rows.filter(first_day__lte=query.end_date)
    if query.currency:
        rows = rows.filter(currency__iexact=query.currency.strip())
    if query.min_impact is not None:
        rows = rows.alias(size=Abs("impact")).filter(size__gte=query.min_impact)
    for word in query.search.split():
        matches = Anomaly.objects.alias(said=Cast("causes", TextField())).filter(_mentions(word))
        rows = rows.filter(pk__in=matches.values_list(Coalesce("primary_id", "pk")))
    return rows


def primary_anomalies() -> QuerySet[Anomaly]:
    """One anomaly an incident; the others are views of it."""
    return Anomaly.objects.filter(primary=None)


def _mentions(word: str) -> Q:
    fields = ("value", "label", "source__name", "note", "key", "kind", "said")
    words = dict.fromkeys([*candidates("service", word), *candidates("provider", word)])
    return reduce(or_, [Q(**{f"{name}__icontains": each}) for name in fields for each in words])


def _order_rows(rows: QuerySet[Anomaly]) -> QuerySet[Anomaly]:
    places = [When(severity=name, then=Value(place)) for place, name in enumerate(SEVERITIES)]
    rank = Case(*places, default=Value(len(SEVERITIES)), output_field=IntegerField())
    return rows.alias(rank=rank).order_by("rank", "-last_day", "-id")


def row_of(anomaly: Anomaly) -> AnomalyRow:
    """An anomaly as answers have it; its source, and its views, should have been fetched with it."""
    first, last = str(anomaly.first_day), str(anomaly.last_day)
    inside = [day for day in anomaly.days if first <= day[0] <= last]
    return AnomalyRow(
        id=anomaly.key,
        state=anomaly.state,
        kind=anomaly.kind,
        severity=anomaly.severity,
        source=anomaly.source.name,
        dimension=anomaly.dimension,
        value=anomaly.value,
        name=anomaly.label,
        first_day=anomaly.first_day,
        last_day=anomaly.last_day,
        ongoing=anomaly.ongoing,
        actual=anomaly.actual,
        expected=anomaly.expected,
        expected_low=exact_sum(Decimal(day[3]) for day in inside),
        expected_high=exact_sum(Decimal(day[4]) for day in inside),
        impact=anomaly.impact,
        month_end_impact=anomaly.month_end_impact,
        currency=anomaly.currency,
        root_causes=[
            RootCause(
                dimension=causes.dimension,
                value=cause.value,
                name=cause.label,
                impact=cause.excess,
                currency=anomaly.currency,
                share=cause.share,
            )
            for causes, cause in top_causes(causes_of_row(anomaly), SHOWN_CAUSES)
        ],
        note=anomaly.note,
        marked_by=anomaly.marked_by_label,
        also_seen_as=[f"{each.dimension} {each.label or each.value}" for each in anomaly.views.all()],
    )


def causes_of_row(anomaly: Anomaly) -> list[Causes]:
    return msgspec.convert(anomaly.causes, list[Causes])


def smallest_impacts() -> list[MoneyAmount]:
    """Those that the account set; the others are a share of its spend."""
    row = AnomalySettings.objects.first()
    return [
        MoneyAmount(amount=Decimal(amount), currency=currency)
        for currency, amount in (row.minimum_impacts if row else {}).items()
    ]


def anomaly_settings(account: Account) -> AnomalySettings:
    """What the account wants watched; the defaults when it said nothing. One query."""
    return AnomalySettings.objects.first() or AnomalySettings(account=account)


@dataclass(frozen=True)
class OpenAnomalies:
    """What the overview says of anomalies: how many are open and their impact, the worst. `overlapping` more have no
    impact of their own: all of it is in those counted."""

    count: int
    overlapping: int
    ongoing: int
    impacts: list[MoneyAmount]
    worst: list[Anomaly]


def open_anomalies(shown: int = 3) -> OpenAnomalies:
    """By incident, so money that a team or cost tag shows again counts once. Two queries."""
    rows = primary_anomalies().filter(state=Anomaly.State.OPEN)
    figures = list(rows.values_list("currency", "impact", "shared_impact", "ongoing"))
    by_currency: dict[str, list[Decimal]] = {}
    own_figures = [each for each in figures if each[1].copy_abs() > each[2]]
    for currency, impact, shared, _ongoing in own_figures:
        own = impact.copy_abs() - shared
        by_currency.setdefault(currency, []).append(own if impact > 0 else -own)
    return OpenAnomalies(
        count=len(own_figures),
        overlapping=len(figures) - len(own_figures),
        ongoing=sum(ongoing for *_rest, ongoing in own_figures),
        impacts=[
            MoneyAmount(amount=exact_sum(amounts), currency=currency)
            for currency, amounts in sorted(by_currency.items(), key=lambda pair: -abs(exact_sum(pair[1])))
        ],
        worst=list(_order_rows(rows).select_related("source")[:shown]),
    )


def state_counts() -> Counter[str]:
    """How many incidents there are in each state. One query."""
    return Counter(primary_anomalies().values_list("state", flat=True))


def _summary(
    account: Account, query: AnomaliesQuery, shown: Sequence[Anomaly], total: int, incomplete: str
) -> str:
    name, state = quote(account.name), "" if query.state == "all" else f"{query.state} "
    if not total:
        return f"{name} has no {state}anomaly{query.scope_text or ' of that kind'}{incomplete}."
    noun = "anomaly" if total == 1 else "anomalies"
    counted = f"{name} has {total} {state}{noun}{query.scope_text}"
    if not shown:
        return f"{counted}{incomplete}."
    worst = shown[0]
    sign = "+" if worst.impact > 0 else ""
    return (
        f"{counted}; listed first: {quote(worst.label or worst.value)} of {quote(worst.source.name)}, "
        f"{worst.first_day} to {worst.last_day}, {sign}{sentences.money(worst.impact, worst.currency)} against what was "
        f"expected{', and it goes on' if worst.ongoing else ''}{incomplete}."
    )


def _warnings(run: AnomalyRun | None) -> list[str]:
    if run is None or run.finished_at is None:
        return ["Anomaly detection has not run yet. It runs within minutes of a cost import."]
    return [f"The last anomaly detection failed: {run.error}"] if run.error else []


def _overlap_warnings(shown: Sequence[Anomaly]) -> list[str]:
    return [
        f"{quote(each.label or each.value)}: {sentences.money(each.shared_impact, each.currency)} of "
        "its impact is also in anomalies of services. Do not add it twice."
        for each in shown
        if each.shared_impact
    ]
