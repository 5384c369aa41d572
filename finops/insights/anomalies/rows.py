"""Incidents and anomalies in the format of answers: name, amounts and root cause."""

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
    """Return the name: `Amazon CloudFront`; for other dimensions than the service with the dimension: `Team:
    Payments`."""
    label = anomaly.name if isinstance(anomaly, AnomalyRow) else anomaly.label
    name = label or anomaly.value or "(none)"
    if anomaly.dimension == SERVICE:
        return name
    dimension = anomaly.dimension.replace("_", " ").replace(":", " ")
    return f"{capfirst(dimension)}: {name}"


def title_of(anomaly: Anomaly) -> str:
    """Return the title, such as `Resource: gpu-sandbox`; without a root cause the anomaly's name."""
    root = root_cause_of(anomaly)
    return f"{root[0]}: {root[1].name}" if root else anomaly_name(anomaly)


def root_cause_text(row: AnomalyRow) -> str:
    """Return ` ('Resource: gpu-sandbox')`, to follow the name that the amounts are of: a root cause explains most of
    them, not all. Empty if the title is that name."""
    return "" if row.title == anomaly_name(row) else f" ({quote(row.title, MAX_TITLE)})"


def with_members(rows: QuerySet[Incident]) -> QuerySet[Incident]:
    """Prefetch what `row_of` reads. One additional query."""
    live = Anomaly.objects.filter(gone_at=None).order_by("pk")
    return rows.select_related("source", "headline").prefetch_related(Prefetch("members", live))


def incident_figures(incident: Incident, display: AnomalyDisplay = AS_STORED) -> IncidentAmounts:
    """Return the amounts of an incident; converted ones by the days of the counted anomalies, which needs
    `with_members`."""
    stored = figures_of_incident(incident)
    if display.currency in ("", stored.currency):
        return stored
    return display.figures(stored, counted_members(incident))


def row_of(incident: Incident, display: AnomalyDisplay = AS_STORED) -> AnomalyRow:
    """Return an incident in the format of answers, by its headline; load it with `with_members`."""
    headline = incident.headline
    headline.incident, headline.source = incident, incident.source  # the source is loaded already: no query
    members = [each for each in incident.members.all() if each.pk != headline.pk]
    counted, figures = counted_members(incident), incident_figures(incident, display)
    causes = [each for each in incident_causes(counted) if len(counted) == 1 or each.dimension != SERVICE]
    return replace(
        headline_row(headline),
        **_amounts(figures),
        root_causes=_root_causes(converted_causes(causes, figures), figures.currency),
        also_seen_as=[f"{each.dimension} {each.label or each.value}" for each in members],
    )


def headline_row(anomaly: Anomaly, display: AnomalyDisplay = AS_STORED) -> AnomalyRow:
    """Return an anomaly; a headline has the id and amounts of its incident, whose members should be prefetched if it
    is converted."""
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
    """Return one anomaly with its own amounts; select its source and incident with it."""
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
    """Anomalies that ended since a day, as alerts count them: in the account's display currency, or another one,
    whatever the current scope; as stored for an account without one."""

    account: Account
    since: date
    _displays: dict[str, AnomalyDisplay] = field(default_factory=dict, repr=False)

    def rows(self) -> list[Anomaly]:
        """Rows with source and incident, oldest first; one query. If they are converted, one more for the counted
        anomalies."""
        rows = Anomaly.objects.filter(last_day__gte=self.since).select_related("source", "incident__headline")
        if self.account.display_currency:
            live = Anomaly.objects.filter(gone_at=None).order_by("pk")
            rows = rows.prefetch_related(Prefetch("incident__members", live))
        return list(rows.order_by("pk"))

    def display(self, currency: str = "") -> AnomalyDisplay:
        """Return the display of a currency; empty: the account's display currency. Three queries for each currency,
        the first time."""
        if not self.account.display_currency:
            return AS_STORED
        if currency not in self._displays:
            with display_scope(display_of(self.account, currency)):
                incidents = Incident.objects.filter(members__last_day__gte=self.since)
                self._displays[currency] = anomaly_display(incidents, timedelta(days=CONTEXT_DAYS))
        return self._displays[currency]


def _amounts(figures: IncidentAmounts) -> dict[str, Any]:
    """Return the amount fields of an AnomalyRow."""
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
    """Return the anomalies that add up to the incident's amounts, its headline first; load it with `with_members`."""
    counted = [each for each in incident.members.all() if each.is_counted]
    return sorted(counted, key=lambda each: (each.pk != incident.headline_id, each.pk)) or [incident.headline]


def incident_causes(counted: Sequence[Anomaly]) -> list[Causes]:
    """Return the causes of one anomaly, or of all counted ones of an incident; by service too if there are several."""
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
    """Return the title of the finest dimension with a value that explains most of the anomaly, and that value; None
    if that is the anomaly's own, or there is none."""
    for causes in sorted(incident_causes([anomaly]), key=lambda each: place_of(each.dimension)):
        first = causes.rows[0] if causes.rows else None
        if causes.dimension in BROAD_DIMENSIONS or first is None or not is_named(first.value):
            continue
        if first.share is not None and first.share >= ROOT_CAUSE_SHARE:
            return causes.title, first
    return None
