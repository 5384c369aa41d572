"""Which anomalies a subscription is about, and which are news. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from finops.alerts.models import AlertSubscription
from finops.costs.coverage import Coverage
from finops.costs.dictionary_encoding import fold_case
from finops.insights.models import Anomaly
from finops.insights.models.anomalies import SERVICE

Scope = AlertSubscription.Scope

NEWS_DAYS: Final = 3
"""One that ended longer before the newest complete day is told no more: a first import stays quiet."""

LATE_DAYS: Final = 31
"""Nor one that ended so long before today: a bill of a month may come a month late, and older ones are history."""


def key_of(anomaly: Anomaly) -> str:
    """One firing for each anomaly, however it grows."""
    return f"anomaly:{anomaly.key}"


def dimension_of(subscription: AlertSubscription) -> str:
    """The dimension whose anomalies it is about; the subscription's cost tag must be loaded."""
    if subscription.cost_tag is not None:
        return f"cost_tag:{subscription.cost_tag.key}"
    return "team" if subscription.team_id is not None else SERVICE


def relevant_anomalies(subscription: AlertSubscription, anomalies: Sequence[Anomaly]) -> list[Anomaly]:
    """Those of the subscription's scope that have its impact, up or down, whatever their state and age.

    The whole account and a source take every watched dimension, but an incident once: by its primary view, where that
    is one of them.
    """
    matches = [
        each for each in anomalies if _is_in_scope(subscription, each) and _is_large(subscription, each)
    ]
    first = {each.incident: each for each in sorted(matches, key=_rank, reverse=True)}
    return [each for each in matches if first[each.incident] is each]


def keys_of_incident(anomaly: Anomaly, anomalies: Sequence[Anomaly]) -> list[str]:
    """Those of all views of its incident: what was told by one of them is told."""
    return [key_of(each) for each in anomalies if each.incident == anomaly.incident]


def _is_in_scope(subscription: AlertSubscription, anomaly: Anomaly) -> bool:
    if subscription.scope == Scope.ACCOUNT:
        return True
    if subscription.scope == Scope.COST_SOURCE:
        return anomaly.source_id == subscription.cost_source_id
    value = subscription.team.name if subscription.team is not None else subscription.cost_tag_value
    same_dimension = fold_case(anomaly.dimension) == fold_case(dimension_of(subscription))
    return same_dimension and fold_case(anomaly.value) == fold_case(value)


def _is_large(subscription: AlertSubscription, anomaly: Anomaly) -> bool:
    smallest = subscription.minimum_impact
    if smallest is None:
        return True
    return anomaly.currency == subscription.currency and anomaly.impact.copy_abs() >= smallest


def _rank(anomaly: Anomaly) -> tuple[bool, bool, str, int]:
    return anomaly.primary_id is not None, anomaly.dimension != SERVICE, anomaly.dimension, anomaly.pk


def is_news(anomaly: Anomaly, coverage: Coverage) -> bool:
    """Whether it is open, and did not end too long ago: by the account's data, and by its source's, which may be newer."""
    mine, through = coverage.last_complete_days.get(anomaly.source_id), coverage.complete_through
    if anomaly.state != Anomaly.State.OPEN or mine is None or through is None:
        return False
    newest = max(through, mine)
    oldest = max(newest - timedelta(days=NEWS_DAYS), coverage.today - timedelta(days=LATE_DAYS))
    return anomaly.last_day >= oldest
