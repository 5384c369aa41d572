"""The anomalies of a subscription, the check whether they are new, and their messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from accounts.models import Account
from finops.alerts.messages import Fact, Message, Severity, console_url
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.figures import amount, signed_amount
from finops.costs.coverage import Coverage
from finops.costs.dictionary_encoding import fold_case
from finops.insights.anomalies.display import AS_STORED, AnomalyDisplay, IncidentAmounts, anomaly_figures
from finops.insights.anomalies.rows import headline_row, incident_figures, root_cause_text
from finops.insights.anomalies.schemas import AnomalyRow, RootCause
from finops.insights.models import SERVICE, Anomaly, Incident
from finops.lib import sentences
from finops.lib.drawings.chart import MAX_COLUMNS, ColumnChart, DrawnSeries
from finops.lib.formats import dates, numbers

Scope = AlertSubscription.Scope

NEWS_DAYS: Final = 3
"""An anomaly that ended more days before the newest complete day is not sent, so that a first import is quiet."""

LATE_DAYS: Final = 31
"""Nor one that ended more days before today: a month's bill may come a month late, and older ones are history."""


def key_of(anomaly: Anomaly) -> str:
    """Return the firing key: one firing for each anomaly, also when it grows."""
    return f"anomaly:{anomaly.key}"


def dimension_of(subscription: AlertSubscription) -> str:
    """Return the dimension of the subscription's anomalies. The subscription's cost tag must be loaded."""
    if subscription.cost_tag is not None:
        return f"cost_tag:{subscription.cost_tag.key}"
    return "team" if subscription.team_id is not None else SERVICE


def relevant_anomalies(
    subscription: AlertSubscription, anomalies: Sequence[Anomaly], display: AnomalyDisplay = AS_STORED
) -> list[Anomaly]:
    """Return the anomalies in the subscription's scope with at least its minimum impact, up or down, in any state and
    of any age. `display`: in the currency of that impact.

    The whole account and a source include every watched dimension, but each incident once: by its primary view if
    that is included.
    """
    matches = [
        each
        for each in anomalies
        if _is_in_scope(subscription, each) and _is_large(subscription, each, display)
    ]
    first = {each.incident_id: each for each in sorted(matches, key=_rank, reverse=True)}
    return [each for each in matches if first[each.incident_id] is each]


def keys_of_incident(anomaly: Anomaly, anomalies: Sequence[Anomaly]) -> list[str]:
    """Return the keys of all anomalies of the incident: if one of them was sent, all count as sent."""
    return [key_of(each) for each in anomalies if each.incident_id == anomaly.incident_id]


def _is_in_scope(subscription: AlertSubscription, anomaly: Anomaly) -> bool:
    if subscription.scope == Scope.ACCOUNT:
        return True
    if subscription.scope == Scope.COST_SOURCE:
        return anomaly.source_id == subscription.cost_source_id
    value = subscription.team.name if subscription.team is not None else subscription.cost_tag_value
    same_dimension = fold_case(anomaly.dimension) == fold_case(dimension_of(subscription))
    return same_dimension and fold_case(anomaly.value) == fold_case(value)


def _is_large(subscription: AlertSubscription, anomaly: Anomaly, display: AnomalyDisplay) -> bool:
    smallest = subscription.minimum_impact
    if smallest is None:
        return True
    figures = _figures_for(subscription, anomaly, display)
    if figures.currency != subscription.currency:
        # Without an exchange rate the impact cannot be compared, so the anomaly is sent. Without conversion, the
        # currency selects the anomalies.
        return bool(display.currency)
    return figures.impact.copy_abs() >= smallest


def _figures_for(
    subscription: AlertSubscription, anomaly: Anomaly, display: AnomalyDisplay
) -> IncidentAmounts:
    """Return the anomaly's own part of an incident for a team or cost tag, the whole incident for other scopes."""
    incident = anomaly.incident
    whole = subscription.scope in (Scope.ACCOUNT, Scope.COST_SOURCE) and _is_headline(anomaly)
    if incident is not None and whole:
        return incident_figures(incident, display)
    return anomaly_figures(anomaly, display)


def _is_headline(anomaly: Anomaly) -> bool:
    return anomaly.incident is not None and anomaly.incident.headline_id == anomaly.pk


def _rank(anomaly: Anomaly) -> tuple[bool, bool, str, int]:
    return not _is_headline(anomaly), anomaly.dimension != SERVICE, anomaly.dimension, anomaly.pk


def is_news(anomaly: Anomaly, coverage: Coverage) -> bool:
    """Return whether it is open and recent: by the account's data, and by its source's, which may be newer."""
    source_through, through = coverage.last_complete_days.get(anomaly.source_id), coverage.complete_through
    if anomaly.state != Incident.State.OPEN or source_through is None or through is None:
        return False
    newest = max(through, source_through)
    oldest = max(newest - timedelta(days=NEWS_DAYS), coverage.today - timedelta(days=LATE_DAYS))
    return anomaly.last_day >= oldest


MOST_LISTED: Final = 20

_SEVERITIES: Final[dict[str, Severity]] = {"high": "critical", "medium": "warning", "low": "info"}


def anomaly_message(account: Account, anomaly: Anomaly, display: AnomalyDisplay = AS_STORED) -> Message:
    """Return the message of an anomaly, in the display currency with the bill's amount. Its source must be loaded."""
    row = headline_row(anomaly, display)
    more = "more" if row.impact > 0 else "less"
    size = numbers.money(row.impact.copy_abs(), row.currency)
    return Message(
        title=f"{sentences.quote(account.name)}: {sentences.quote(_name(row))} cost {size} {more} than expected{root_cause_text(row)}",
        summary=_summary(row),
        facts=tuple(_facts(account, row, display.currency)),
        url=console_url(account, "anomaly", anomaly_key=row.id),
        # A drop costs nothing, but may be an outage.
        severity=_SEVERITIES[row.severity] if row.impact > 0 else "info",
        kind="anomaly",
        dedup_key=f"account-{account.pk}:{row.id}",
        data=_data(row),
        chart=_chart(anomaly, display if row.own_amounts else AS_STORED, row.currency),
    )


def _chart(anomaly: Anomaly, display: AnomalyDisplay, currency: str) -> ColumnChart:
    """Return the chart of cost by day, with the days of the anomaly in red."""
    first, last = str(anomaly.first_day), str(anomaly.last_day)
    costs = [(str(day), float(cells[0])) for day, cells in display.days(anomaly).items()][-MAX_COLUMNS:]
    usual = [None if first <= day <= last else cost for day, cost in costs]
    unusual = [cost if first <= day <= last else None for day, cost in costs]
    return ColumnChart(
        title=f"Cost by day in {currency}",
        currency=currency,
        labels=[day for day, _ in costs],
        series=[
            DrawnSeries(name="Usual", values=usual),
            DrawnSeries(name="Unusual", values=unusual, tone="unusual"),
        ],
    )


def combined_message(
    account: Account, anomalies: Sequence[Anomaly], display: AnomalyDisplay = AS_STORED
) -> Message:
    """Return one message about many anomalies, largest first. Their sources must be loaded."""
    rows = [headline_row(each, display) for each in anomalies]
    facts = [
        Fact(f"{_name(row)}{root_cause_text(row)}, {row.source}", signed_amount(row.impact, row.currency))
        for row in rows
    ]
    omitted_count = len(rows) - MOST_LISTED
    return Message(
        title=f"{sentences.quote(account.name)}: {len(rows)} more anomalies",
        summary=f"{len(rows)} more anomalies at the same time; the largest: {_summary(rows[0])}",
        facts=(*facts[:MOST_LISTED], *([Fact("And", f"{omitted_count} more")] if omitted_count > 0 else [])),
        url=console_url(account, "anomalies"),
        severity="warning",
        kind="anomaly",
        dedup_key=f"account-{account.pk}:{rows[0].id}:and-more",
        data={"anomalies": [_data(row) for row in rows[:MOST_LISTED]]},
    )


def _name(row: AnomalyRow) -> str:
    """Return the display name of a service, team or cost tag value."""
    return sentences.truncate(row.name or row.value or "(none)", 120)


def _summary(row: AnomalyRow) -> str:
    actual, expected = (numbers.money(each, row.currency) for each in (row.actual, row.expected))
    days = dates.day_range(row.first_day, row.last_day)
    end = " It is ongoing." if row.ongoing else ""
    return f"{sentences.quote(_name(row))} of {sentences.quote(row.source)}, {days}: {actual} where {expected} was expected.{end}"


def _facts(account: Account, row: AnomalyRow, target: str) -> list[Fact]:
    facts = [
        Fact("Account", account.name),
        Fact("Impact", signed_amount(row.impact, row.currency)),
        Fact("Actual", numbers.money(row.actual, row.currency)),
        Fact("Expected", numbers.money(row.expected, row.currency)),
        Fact("Days", f"{dates.day_range(row.first_day, row.last_day)}{', ongoing' if row.ongoing else ''}"),
        Fact("Source", row.source),
    ]
    if row.own_amounts is not None:
        own = row.own_amounts
        facts.insert(2, Fact("Before conversion", signed_amount(own.impact, own.currency)))
    if target and row.currency != target:
        facts.append(Fact("Conversion", f"No exchange rate from {row.currency} to {target}"))
    if row.ongoing:
        facts.append(Fact("Impact by month end", signed_amount(row.month_end_impact, row.currency)))
    return [*facts, *(Fact(f"By {cause.dimension}", _cause(cause)) for cause in row.root_causes)]


def _cause(cause: RootCause) -> str:
    part = f" ({numbers.percent(cause.share)})" if cause.share is not None else ""
    return f"{sentences.truncate(cause.name or cause.value, 120)} {signed_amount(cause.impact, cause.currency)}{part}"


def _data(row: AnomalyRow) -> dict[str, Any]:
    own = row.own_amounts
    return {
        "anomaly_id": row.id,
        "source": row.source,
        "dimension": row.dimension,
        "value": row.value,
        "kind": row.kind,
        "first_day": str(row.first_day),
        "last_day": str(row.last_day),
        "ongoing": row.ongoing,
        "impact": amount(row.impact, row.currency),
        "actual": amount(row.actual, row.currency),
        "expected": amount(row.expected, row.currency),
        **({"own_impact": amount(own.impact, own.currency)} if own else {}),
    }
