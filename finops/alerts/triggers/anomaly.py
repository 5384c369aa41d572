"""Which anomalies a subscription is about, and which are news. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from finops.alerts.models import AlertSubscription
from finops.costs.coverage import Coverage
from finops.costs.numbers import folded
from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE

Scope = AlertSubscription.Scope

NEWS_DAYS: Final = 3
"""One that ended longer before the newest complete day is told no more: a first import stays quiet."""

LATE_DAYS: Final = 31
"""Nor one that ended so long before today: a bill of a month may come a month late, and older ones are history."""

SAME_EVENT: Final = timedelta(days=1)


def key_of(anomaly: Anomaly) -> str:
    """One firing for each anomaly, however it grows."""
    return f"anomaly:{anomaly.key}"


def dimension_of(subscription: AlertSubscription) -> str:
    """The dimension whose anomalies it is about; the subscription's cost tag must be loaded."""
    if subscription.cost_tag is not None:
        return f"cost_tag:{subscription.cost_tag.key}"
    return "team" if subscription.team_id is not None else SERVICE


def about(subscription: AlertSubscription, anomalies: Sequence[Anomaly]) -> list[Anomaly]:
    """Those of the subscription's scope that have its impact, up or down, whatever their state and age.

    The whole account and a source take every watched dimension, but an event once: what began on the same day in the
    same source as one of a service is that again, seen by another dimension.
    """
    found = [each for each in anomalies if _is_in_scope(subscription, each) and _is_large(subscription, each)]
    return [each for each in found if not any(_repeats(each, other) for other in found)]


def _is_in_scope(subscription: AlertSubscription, anomaly: Anomaly) -> bool:
    if subscription.scope == Scope.ACCOUNT:
        return True
    if subscription.scope == Scope.COST_SOURCE:
        return anomaly.source_id == subscription.cost_source_id
    value = subscription.team.name if subscription.team is not None else subscription.cost_tag_value
    same_dimension = folded(anomaly.dimension) == folded(dimension_of(subscription))
    return same_dimension and folded(anomaly.value) == folded(value)


def _is_large(subscription: AlertSubscription, anomaly: Anomaly) -> bool:
    smallest = subscription.minimum_impact
    if smallest is None:
        return True
    return anomaly.currency == subscription.currency and anomaly.impact.copy_abs() >= smallest


def _repeats(anomaly: Anomaly, other: Anomaly) -> bool:
    """Whether it is the event of the other one, which tells it first."""
    return (
        _rank(other) < _rank(anomaly)
        and (other.source_id, other.currency) == (anomaly.source_id, anomaly.currency)
        and (other.impact > 0) == (anomaly.impact > 0)
        and abs(other.first_day - anomaly.first_day) <= SAME_EVENT
    )


def _rank(anomaly: Anomaly) -> tuple[bool, str]:
    return anomaly.dimension != SERVICE, anomaly.dimension


def is_news(anomaly: Anomaly, coverage: Coverage) -> bool:
    """Whether it is open, and did not end too long ago: by the account's data, and by its source's, which may be newer."""
    mine, through = coverage.throughs.get(anomaly.source_id), coverage.complete_through
    if anomaly.state != Anomaly.State.OPEN or mine is None or through is None:
        return False
    newest = max(through, mine)
    oldest = max(newest - timedelta(days=NEWS_DAYS), coverage.today - timedelta(days=LATE_DAYS))
    return anomaly.last_day >= oldest
