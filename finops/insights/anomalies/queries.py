"""Anomalies: the list behind the page and the tool, and what the page of one shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_

from django.db.models import Case, F, IntegerField, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Abs, Cast
from msgspec.structs import replace

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answers import AccountRef, MoneyAmount
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_words import incomplete_words
from finops.insights.anomalies.lake import impacts_in_scope
from finops.insights.anomalies.rows import row_of, with_members
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery, AnomalyRow
from finops.insights.cost_scope import CostReader, CostScope, check_currency, resolve_scope
from finops.insights.models import Anomaly, AnomalyRun, AnomalySettings, Incident
from finops.lib import sentences
from finops.lib.answers import group_by
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from finops.lib.sentences import join_with_and, quote

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


def incidents_in_scope(
    reader: CostReader, rows: QuerySet[Incident], scope: CostScope
) -> tuple[Mapping[int, Decimal], list[str]]:
    """Those of the incidents in whose days the cost of a scope moved too: how much of the impact is of it, by pk; and
    sentences about values that no line has. Two queries, one of the lake and one for each dimension they are of.

    Raises UserError for a scope that the account does not know."""
    filters, warnings = resolve_scope(reader, scope)
    most_severe = list(_order_rows(rows).values_list("pk", flat=True)[: MAX_IN_SCOPE + 1])
    if len(most_severe) > MAX_IN_SCOPE:
        text = f"Only the {MAX_IN_SCOPE} most severe anomalies are searched. Narrow by days or state."
        warnings = [*warnings, text]
    counted = Q(is_counted=True, gone_at=None) | Q(pk=F("incident__headline_id"))
    rows_of = Anomaly.objects.filter(counted, incident__in=most_severe[:MAX_IN_SCOPE])
    members = {row.pk: row for row in rows_of}
    impacts: dict[int, Decimal] = {}
    for pk, impact in impacts_in_scope(reader, list(members.values()), filters).items():
        incident = members[pk].incident_id or 0
        impacts[incident] = exact_sum([impacts.get(incident, Decimal(0)), impact])
    return {pk: impacts[pk] for pk in most_severe if pk in impacts}, warnings


def list_anomalies(
    account: Account, query: AnomaliesQuery, *, deadline: float | None = None
) -> AnomaliesAnswer:
    """The incidents that a query asks for, the most severe first, then the newest. Six queries, none of the lake; for a
    team, source, account or provider those of `incidents_in_scope` too.

    Raises UserError for days in the wrong order and a cursor of another question."""
    question = [query.state, query.start_date, query.end_date, query.min_impact, query.currency, query.search,
                query.scope_text]  # fmt: skip
    offset = offset_of(query.cursor, *question)
    reader = CostReader(account, load_sources(account), deadline)
    sources = reader.sources
    check_currency(reader, query.currency)
    rows = _filter_incidents(query)
    impacts: Mapping[int, Decimal] = {}
    warnings: list[str] = []
    if query.scope_values:
        impacts, warnings = incidents_in_scope(reader, rows, query)
        rows = rows.filter(pk__in=list(impacts))
    every = list(rows.only("currency", "impact", "shared_impact"))
    total = len(every)
    shown = list(with_members(_order_rows(rows))[offset : offset + query.limit])
    run = AnomalyRun.objects.first()
    more = offset + len(shown) < total
    return AnomaliesAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, query, shown, every, not_complete(sources, query)),
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


def _filter_incidents(query: AnomaliesQuery) -> QuerySet[Incident]:
    if query.start_date and query.end_date and query.end_date < query.start_date:
        raise UserError(
            f"end_date {query.end_date} is before start_date {query.start_date}.",
            field="end_date",
            value=str(query.end_date),
        )
    rows = Incident.objects.all()
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
        rows = rows.filter(pk__in=matches.values("incident_id"))
    return rows


def _mentions(word: str) -> Q:
    fields = ("value", "label", "source__name", "incident__note", "key", "kind", "said")
    words = dict.fromkeys([*candidates("service", word), *candidates("provider", word)])
    return reduce(or_, [Q(**{f"{name}__icontains": each}) for name in fields for each in words])


def _order_rows(rows: QuerySet[Incident]) -> QuerySet[Incident]:
    places = [When(severity=name, then=Value(place)) for place, name in enumerate(SEVERITIES)]
    rank = Case(*places, default=Value(len(SEVERITIES)), output_field=IntegerField())
    return rows.alias(rank=rank).order_by("rank", "-last_day", "-id")


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
    """What the overview says of anomalies: how many incidents are open, their impact with each one's money once, the
    worst."""

    count: int
    ongoing: int
    impacts: list[MoneyAmount]
    worst: list[AnomalyRow]


def open_anomalies(shown: int = 3) -> OpenAnomalies:
    """Open incidents: what is counted is what is listed and summed. Three queries."""
    rows = Incident.objects.filter(state=Incident.State.OPEN)
    return OpenAnomalies(
        count=len(rows),
        ongoing=sum(each.ongoing for each in rows),
        impacts=own_impacts(rows),
        worst=[row_of(each) for each in with_members(_order_rows(rows))[:shown]],
    )


def own_impacts(rows: Iterable[Incident]) -> list[MoneyAmount]:
    """Their impact by currency, the largest first. Cost that several of them have counts once."""
    sums = {
        currency: exact_sum(each.own_impact for each in own)
        for currency, own in group_by(rows, lambda each: each.currency).items()
    }
    ranked = sorted(sums.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return [MoneyAmount(amount=amount, currency=currency) for currency, amount in ranked]


def state_counts() -> Counter[str]:
    """How many incidents there are in each state. One query."""
    return Counter(Incident.objects.values_list("state", flat=True))


def _summary(
    account: Account,
    query: AnomaliesQuery,
    shown: Sequence[Incident],
    every: Sequence[Incident],
    incomplete: str,
) -> str:
    name, state = quote(account.name), "" if query.state == "all" else f"{query.state} "
    if not every:
        return f"{name} has no {state}anomaly{query.scope_text or ' of that kind'}{incomplete}."
    noun = "anomaly" if len(every) == 1 else "anomalies"
    counted = f"{name} has {len(every)} {state}{noun}{query.scope_text}"
    if len(every) > 1 and not query.scope_text:
        amounts = [_signed_amount(each.amount, each.currency) for each in own_impacts(every)]
        counted += f", net impact {join_with_and(amounts)} with shared cost counted once"
    if not shown:
        return f"{counted}{incomplete}."
    worst = shown[0]
    row = worst.headline
    return (
        f"{counted}; listed first: {quote(row.label or row.value)} of {quote(worst.source.name)}, "
        f"{worst.first_day} to {worst.last_day}, {_signed_amount(worst.impact, worst.currency)} against what was "
        f"expected{', and it goes on' if worst.ongoing else ''}{incomplete}."
    )


def _signed_amount(amount: Decimal, currency: str) -> str:
    return f"{'+' if amount > 0 else ''}{sentences.money(amount, currency)}"


def _warnings(run: AnomalyRun | None) -> list[str]:
    if run is None or run.finished_at is None:
        return ["Anomaly detection has not run yet. It runs within minutes of a cost import."]
    return [f"The last anomaly detection failed: {run.error}"] if run.error else []


def _overlap_warnings(shown: Sequence[Incident]) -> list[str]:
    return [
        f"{quote(each.headline.label or each.headline.value)}: {sentences.money(each.shared_impact, each.currency)} of "
        "its impact is also in other anomalies. Do not add it twice."
        for each in shown
        if each.shared_impact
    ]
