"""Incidents and anomalies as answers have them: what each is called, its figures, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import msgspec
from django.db.models import Prefetch, QuerySet
from django.utils.text import capfirst
from msgspec.structs import replace

from accounts.models import Account
from finops.exchange_rates.display import display_of, display_scope
from finops.insights.anomalies.causes import AnomalyCause, Causes, merged_causes, place_of, top_causes
from finops.insights.anomalies.detection import CONTEXT_DAYS
from finops.insights.anomalies.display import (
    AS_STORED,
    AnomalyDisplay,
    IncidentAmounts,
    anomaly_display,
    anomaly_figures,
    converted_causes,
    figures_of_incident,
)
from finops.insights.anomalies.grouping import BROAD_DIMENSIONS, ROOT_CAUSE_SHARE, is_named
from finops.insights.anomalies.schemas import AnomalyRow, RootCause
from finops.insights.models import SERVICE, Anomaly, Incident
from finops.lib.money import exact_sum, ratio
from finops.lib.sentences import quote

SHOWN_CAUSES = 3
MAX_TITLE = 120


def anomaly_name(anomaly: AnomalyRow | Anomaly) -> str:
    """`Amazon CloudFront`; of another dimension than the service with its name: `Team: Payments`."""
    label = anomaly.name if isinstance(anomaly, AnomalyRow) else anomaly.label
    name = label or anomaly.value or "(none)"
    if anomaly.dimension == SERVICE:
        return name
    dimension = anomaly.dimension.replace("_", " ").replace(":", " ")
    return f"{capfirst(dimension)}: {name}"


def title_of(anomaly: Anomaly) -> str:
    """`Resource: gpu-sandbox`; without a root cause the anomaly's own name."""
    root = root_cause_of(anomaly)
    return f"{root[0]}: {root[1].name}" if root else anomaly_name(anomaly)


def root_cause_text(row: AnomalyRow) -> str:
    """` ('Resource: gpu-sandbox')`, to stand behind the name of what the amounts are of: a root cause is most of them, not all.
    Empty where the title is that name."""
    return "" if row.title == anomaly_name(row) else f" ({quote(row.title, MAX_TITLE)})"


def with_members(rows: QuerySet[Incident]) -> QuerySet[Incident]:
    """With what `row_of` reads. One query more."""
    live = Anomaly.objects.filter(gone_at=None).order_by("pk")
    return rows.select_related("source", "headline").prefetch_related(Prefetch("members", live))


def incident_figures(incident: Incident, display: AnomalyDisplay = AS_STORED) -> IncidentAmounts:
    """The amounts of an incident, converted by the days of what is counted; from `with_members` where it is."""
    stored = figures_of_incident(incident)
    if display.currency in ("", stored.currency):
        return stored
    return display.figures(stored, counted_members(incident))


def row_of(incident: Incident, display: AnomalyDisplay = AS_STORED) -> AnomalyRow:
    """An incident as answers have it, by its headline; from `with_members`."""
    headline = incident.headline
    headline.incident, headline.source = incident, incident.source  # no query for what is at hand
    others = [each for each in incident.members.all() if each.pk != headline.pk]
    counted, figures = counted_members(incident), incident_figures(incident, display)
    causes = [each for each in incident_causes(counted) if len(counted) == 1 or each.dimension != SERVICE]
    return replace(
        headline_row(headline),
        **_amounts(figures),
        root_causes=_root_causes(converted_causes(causes, figures), figures.currency),
        also_seen_as=[f"{each.dimension} {each.label or each.value}" for each in others],
    )


def headline_row(anomaly: Anomaly, display: AnomalyDisplay = AS_STORED) -> AnomalyRow:
    """An anomaly; of an incident's headline with the id and figures of the incident, whose members should have been
    fetched where it is converted."""
    row, incident = view_row(anomaly, display), anomaly.incident
    if incident is None or incident.headline_id != anomaly.pk:
        return row
    return replace(
        row,
        id=incident.key,
        severity=incident.severity,
        first_day=incident.first_day,
        last_day=incident.last_day,
        ongoing=incident.ongoing,
        note=incident.note,
        marked_by=incident.marked_by_label,
        **_amounts(incident_figures(incident, display)),
    )


def view_row(anomaly: Anomaly, display: AnomalyDisplay = AS_STORED) -> AnomalyRow:
    """One anomaly with its own figures; its source and incident should have been fetched with it."""
    figures = anomaly_figures(anomaly, display)
    causes = converted_causes(incident_causes([anomaly]), figures)
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
        root_causes=_root_causes(causes, figures.currency),
        title=title_of(anomaly),
        **_amounts(figures),
    )


@dataclass
class RecentAnomalies:
    """Anomalies that ended since a day, as alerts count them: in the account's display currency, or another one, whatever the
    scope; as stored for an account without one."""

    account: Account
    since: date
    _displays: dict[str, AnomalyDisplay] = field(default_factory=dict, repr=False)

    def rows(self) -> list[Anomaly]:
        """The oldest first, with source and incident; one query. With what the incidents' amounts are made of where they are
        converted; one more."""
        rows = Anomaly.objects.filter(last_day__gte=self.since).select_related("source", "incident__headline")
        if self.account.display_currency:
            live = Anomaly.objects.filter(gone_at=None).order_by("pk")
            rows = rows.prefetch_related(Prefetch("incident__members", live))
        return list(rows.order_by("pk"))

    def display(self, currency: str = "") -> AnomalyDisplay:
        """Of a currency; empty: the account's display currency. Three queries the first time, of each."""
        if not self.account.display_currency:
            return AS_STORED
        if currency not in self._displays:
            with display_scope(display_of(self.account, currency)):
                incidents = Incident.objects.filter(members__last_day__gte=self.since)
                self._displays[currency] = anomaly_display(incidents, timedelta(days=CONTEXT_DAYS))
        return self._displays[currency]


def _amounts(figures: IncidentAmounts) -> dict[str, Any]:
    """The fields of an AnomalyRow."""
    names = ("currency", "actual", "expected", "expected_low", "expected_high", "impact", "month_end_impact",
             "own_amounts")  # fmt: skip
    return {name: getattr(figures, name) for name in names}


def _root_causes(causes: Sequence[Causes], currency: str) -> list[RootCause]:
    return [
        RootCause(
            dimension=each.dimension,
            value=cause.value,
            name=cause.label,
            impact=cause.excess,
            currency=currency,
            share=cause.share,
        )
        for each, cause in top_causes(causes, SHOWN_CAUSES)
    ]


def counted_members(incident: Incident) -> list[Anomaly]:
    """Those whose amounts are the incident's, its headline first; from `with_members`."""
    counted = [each for each in incident.members.all() if each.is_counted]
    return sorted(counted, key=lambda each: (each.pk != incident.headline_id, each.pk)) or [incident.headline]


def incident_causes(counted: Sequence[Anomaly]) -> list[Causes]:
    """The causes of one anomaly, or of all that are counted of an incident: by service too, where they are several."""
    parts = [msgspec.convert(each.causes, list[Causes]) for each in counted]
    if len(parts) == 1:
        return parts[0]
    impacts = [each.impact for each in counted]
    whole = exact_sum(impacts)
    services = [
        AnomalyCause(
            value=each.value,
            label=each.label,
            actual=each.actual,
            expected=each.expected,
            excess=each.impact,
            share=ratio(each.impact, whole),
        )
        for each in counted
    ]
    by_service = Causes(
        dimension=SERVICE, title="Service", rows=services, other_values=0, other_excess=Decimal(0)
    )
    return [by_service, *merged_causes(parts, impacts)]


def root_cause_of(anomaly: Anomaly) -> tuple[str, AnomalyCause] | None:
    """The title of the finest dimension one of whose values explains most of it, with that value; None where it is the
    anomaly's own or there is none."""
    for causes in sorted(incident_causes([anomaly]), key=lambda each: place_of(each.dimension)):
        first = causes.rows[0] if causes.rows else None
        if causes.dimension in BROAD_DIMENSIONS or first is None or not is_named(first.value):
            continue
        if first.share is not None and first.share >= ROOT_CAUSE_SHARE:
            return causes.title, first
    return None
