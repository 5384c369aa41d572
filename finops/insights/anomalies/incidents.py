"""Incidents in the database after a detection. An incident keeps its id and review while its anomalies grow, join or
split."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from accounts.models import Account
from finops.insights.anomalies.causes import Causes
from finops.insights.anomalies.grouping import IncidentGroup, View, incident_groups
from finops.insights.models import SERVICE, Anomaly, Incident
from finops.lib import clock
from finops.lib.money import exact_sum

DETECTOR: Final = "the detector"
GONE: Final = "No longer detected: the bill was restated or the settings were changed."
OLD: Final = "Ended more than 90 days ago."
RESUMED: Final = "Reopened: it continued after it was resolved."

REOPENED_AFTER: Final = timedelta(days=2)
"""Days after which a resolved incident that continues is reopened."""

REVIEW: Final = ("state", "note", "marked_by_id", "marked_by_label", "marked_at")
RANK: Final = ("high", "medium", "low")

State = Incident.State


def regroup(account: Account, since: date) -> None:
    """Update the incidents of anomalies that ended since a day; then close incidents that are no longer detected or
    too old.

    Call it in a transaction that locks the account's incidents. Eight queries, and one for each changed row.
    """
    rows = list(Anomaly.objects.filter(last_day__gte=since, gone_at=None).order_by("pk"))
    incidents = Incident.objects.in_bulk({row.incident_id for row in rows if row.incident_id})
    by_pk = {row.pk: row for row in rows}
    groups = incident_groups(map(_view, rows))
    owners = _owners(groups, by_pk, incidents)
    used_keys = set(Incident.objects.values_list("key", flat=True))
    for place, group in enumerate(groups):
        members = [by_pk[pk] for pk in group.members]
        previous = sorted({row.incident_id for row in members if row.incident_id})
        owned = [incidents[pk] for pk in previous if owners[pk] == place]
        incident = (
            owned[0]
            if owned
            else _new_incident(account, members, [incidents[pk] for pk in previous], used_keys)
        )
        is_new_review = _join_reviews(incident, owned, members)
        _store(incident, group, by_pk, is_new_review=is_new_review)
        _move_members(incident, owned[1:], members, set(group.counted))
    _close(since)


def reopen(incident: Incident, note: str = "") -> None:
    """Reopen the incident without a review."""
    incident.state, incident.note = State.OPEN, note
    incident.marked_by, incident.marked_by_label, incident.marked_at = None, "", None
    incident.save()


def _view(row: Anomaly) -> View:
    causes = msgspec.convert(row.causes, list[Causes])
    return View(
        id=row.pk,
        source_id=row.source_id,
        currency=row.currency,
        dimension=row.dimension,
        value=row.value,
        is_service=row.dimension == SERVICE,
        first=row.first_day,
        last=row.last_day,
        impact=row.impact,
        causes={each.dimension: {cause.value: cause.excess for cause in each.rows} for each in causes},
        overlaps={
            name: {value: Decimal(excess) for value, excess in by_value.items()}
            for name, by_value in row.overlaps.items()
        },
    )


def _owners(
    groups: Sequence[IncidentGroup], by_pk: Mapping[int, Anomaly], incidents: Mapping[int, Incident]
) -> dict[int, int]:
    """Return for each incident the index of the group that continues it: the group with the row of its key, else with
    its headline, else the largest."""
    owners: dict[int, int] = {}
    for pk, incident in incidents.items():
        places = [
            (
                by_pk[member].key != incident.key,
                member != incident.headline_id,
                -abs(by_pk[member].impact),
                place,
            )
            for place, group in enumerate(groups)
            for member in group.members
            if by_pk[member].incident_id == pk
        ]
        owners[pk] = min(places)[-1]
    return owners


def _new_incident(
    account: Account, members: Sequence[Anomaly], previous: Sequence[Incident], used_keys: set[str]
) -> Incident:
    """Return a new incident, or one that split from another and inherits its review."""
    ranked = sorted(members, key=lambda row: (row.dimension != SERVICE, -abs(row.impact), row.pk))
    free = (row.key for row in ranked if row.key not in used_keys)
    incident = Incident(account=account, key=next(free, "") or f"anom_{secrets.token_hex(8)}")
    used_keys.add(incident.key)
    for name in REVIEW if previous else ():
        setattr(incident, name, getattr(previous[0], name))
    return incident


def _join_reviews(incident: Incident, joined: Sequence[Incident], members: Sequence[Anomaly]) -> bool:
    """Merge the reviews of several incidents: expected before resolved, the newest first; an incident that continued
    afterwards is open. All notes are kept. Returns False for a single incident."""
    if len(joined) < 2:
        return False
    of_people = [each for each in joined if each.marked_by_label != DETECTOR]
    note = "\n".join(dict.fromkeys(each.note for each in of_people if each.note))
    reviews = [each for each in of_people if each.state != State.OPEN]
    newest = max(
        reviews, key=lambda each: (each.state == State.EXPECTED, str(each.marked_at), each.pk), default=None
    )
    if newest is None:
        reopen(incident, note)
    elif len(reviews) < len(of_people) and has_resumed(newest, max(row.last_day for row in members)):
        reopen(incident, f"{note}\n{RESUMED}".strip())
    else:
        values = {name: getattr(newest, name) for name in REVIEW} | {"note": note}
        for name, value in values.items():
            setattr(incident, name, value)
    return True


def has_resumed(incident: Incident, last_day: date) -> bool:
    """Return whether resolved cost continued until `last_day`, long enough to reopen the incident."""
    marked = incident.marked_at
    return bool(incident.state == State.RESOLVED and marked and last_day > marked.date() + REOPENED_AFTER)


def _store(
    incident: Incident, group: IncidentGroup, by_pk: Mapping[int, Anomaly], *, is_new_review: bool
) -> None:
    counted = [by_pk[pk] for pk in group.counted]
    figures = figures_of(counted) | {"headline_id": group.headline, "shared_impact": group.shared}
    is_same = all(getattr(incident, name) == value for name, value in figures.items())
    if incident.pk and is_same and not is_new_review:
        return
    for name, value in figures.items():
        setattr(incident, name, value)
    incident.updated_at = clock.now()
    incident.save()


def figures_of(counted: Sequence[Anomaly]) -> dict[str, Any]:
    """Return the amounts and days of an incident: the sums of anomalies that share no lines."""
    inside = [day for row in counted for day in row.days if str(row.first_day) <= day[0] <= str(row.last_day)]
    return {
        "source_id": counted[0].source_id,
        "currency": counted[0].currency,
        "severity": min((row.severity for row in counted), key=RANK.index),
        "first_day": min(row.first_day for row in counted),
        "last_day": max(row.last_day for row in counted),
        "ongoing": any(row.ongoing for row in counted),
        "expected_low": exact_sum(Decimal(day[3]) for day in inside),
        "expected_high": exact_sum(Decimal(day[4]) for day in inside),
        **{
            name: exact_sum(getattr(row, name) for row in counted)
            for name in ("actual", "expected", "impact", "month_end_impact")
        },
    }


def _move_members(
    incident: Incident, merged: Sequence[Incident], members: Sequence[Anomaly], counted: set[int]
) -> None:
    for row in members:
        if (row.incident_id, row.is_counted) != (incident.pk, row.pk in counted):
            row.incident, row.is_counted = incident, row.pk in counted
            row.save(update_fields=["incident", "is_counted"])
    if merged:
        Anomaly.objects.filter(incident__in=merged).update(incident=incident, is_counted=False)
        Incident.objects.filter(pk__in=[each.pk for each in merged]).delete()


def _close(since: date) -> None:
    """Close incidents that no bill contains any more, and unreviewed ones that ended before the evaluated days."""
    live = Anomaly.objects.filter(gone_at=None, incident__isnull=False)
    opened = Incident.objects.filter(state=State.OPEN)
    closed = {
        "state": State.RESOLVED,
        "ongoing": False,
        "marked_by_label": DETECTOR,
        "marked_at": clock.now(),
    }
    opened.exclude(pk__in=live.values("incident_id")).update(note=GONE, **closed)
    opened.exclude(pk__in=live.filter(last_day__gte=since).values("incident_id")).update(note=OLD, **closed)
    Anomaly.objects.filter(ongoing=True, last_day__lt=since).update(ongoing=False)
