"""Writes on anomalies: reviews by people, settings of what is monitored, and detections that are due.

The database decides what is due: `AnomalyRun` stores which data the last detection used. A detection reads, computes,
and writes once in one transaction; run twice, concurrently, or after a kill it leaves the same rows with the same
ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

from django.db import connection, transaction
from django.db.models import F

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.queries import cost_view
from finops.insights.anomalies import parts
from finops.insights.anomalies.detection import DetectionRun
from finops.insights.anomalies.reconciliation import record
from finops.insights.models import SERVICE, Anomaly, AnomalyRun, AnomalySettings, Incident
from finops.lake.engine.conversion import currency_scope
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError
from finops.worker.broker import publish

RUN_TASK: Final = "insights.find_anomalies"
MAX_WATCHES = 5
"""Maximum number of additional dimensions. Each is one more lake query, and one more series for each of its values.
"""

MAX_NOTE = 2_000
NOT_WATCHED = ("source", SERVICE, "charge_category", "pricing_category", "resource", "sku", "usage_type")

DETECTOR: Final = "6"
"""Version of the detector. A new number lets every account be evaluated again."""

RETRY: Final = timedelta(minutes=10)

_DUE: Final = """
SELECT live.account_id, live.version, coalesce(run.asks, 0) FROM (
    SELECT account_id, max(id) || '-' || count(*) || '-' || %(today)s || '-' || %(detector)s AS version
    FROM lake_lakesegment WHERE kind = 'cost' AND retired_at IS NULL {which} GROUP BY account_id
) AS live LEFT JOIN insights_anomalyrun AS run USING (account_id)
WHERE (run.data_version IS DISTINCT FROM live.version OR run.asks > run.asks_seen)
    AND (coalesce(run.error, '') = '' OR run.finished_at < %(retry)s OR run.asks > run.asks_seen)
ORDER BY live.account_id
"""


def mark_expected_anomaly(*, account: Account, actor: Actor, anomaly: Anomaly, note: str = "") -> Anomaly:
    """Mark all of an incident as expected spend. The detector learns from it: the days count as normal, and an
    ongoing level is the new normal. Raises UserError for a note that is too long."""
    return _mark(account, actor, anomaly, Incident.State.EXPECTED, note, "anomaly.expect")


def resolve(*, account: Account, actor: Actor, anomaly: Anomaly, note: str = "") -> Anomaly:
    """Mark an incident as resolved. If it continues for three more days, it is reopened automatically.

    Raises UserError for a note that is too long.
    """
    return _mark(account, actor, anomaly, Incident.State.RESOLVED, note, "anomaly.resolve")


def reopen(*, account: Account, actor: Actor, anomaly: Anomaly) -> Anomaly:
    """Remove the review; the detector no longer uses it."""
    return _mark(account, actor, anomaly, Incident.State.OPEN, "", "anomaly.reopen")


@transaction.atomic
def _mark(
    account: Account, actor: Actor, anomaly: Anomaly, state: Incident.State, note: str, action: str
) -> Anomaly:
    if len(note) > MAX_NOTE:
        raise UserError(f"note: {len(note):,} characters; the maximum is {MAX_NOTE:,}.", field="note")
    with account_scope(account):
        row = _lock_incident(anomaly)
        before, is_open = row.state, state == Incident.State.OPEN
        row.state, row.note = state, note.strip()
        row.marked_by, row.marked_by_label = (None, "") if is_open else (actor.user, actor.label[:254])
        row.marked_at = None if is_open else clock.now()
        row.updated_at = clock.now()
        row.save()
        if is_open:
            _restore_members(row)
        if Incident.State.EXPECTED in (before, state):
            _request_run(account)
    audit.record(
        account=account,
        actor=actor,
        action=action,
        target=str(anomaly)[:254],
        detail={"id": row.key, "from": {"state": before}, "to": {"state": state, "note": row.note}},
    )
    anomaly.incident = row
    return anomaly


def _lock_incident(anomaly: Anomaly) -> Incident:
    """Lock the incident of an anomaly. A concurrent detection may have joined it to another one, so it is looked up
    again after the lock.

    Raises UserError when the anomaly was deleted.
    """
    rows = Incident.objects.select_for_update(of=("self",)).filter(members=anomaly.pk)
    row = rows.first() or rows.all().first()
    if row is None:
        raise UserError("That anomaly was already deleted.")
    return row


def _restore_members(incident: Incident) -> None:
    """Restore the members of an incident that a person reopens, if a restated bill had removed all of it."""
    members = Anomaly.objects.filter(incident=incident)
    if not members.filter(gone_at=None).exists():
        members.update(gone_at=None)


@transaction.atomic
def change_anomaly_settings(
    *, account: Account, actor: Actor, watches: Sequence[str], minimum_impacts: Mapping[str, Decimal | None]
) -> AnomalySettings:
    """Set the dimensions to monitor by source besides the service, and the minimum impact by currency.

    None for a currency restores its default. Currencies that are not listed keep theirs. Raises UserError for an
    unknown dimension or currency, a negative amount, or more than five dimensions.
    """
    with account_scope(account):
        row = AnomalySettings.objects.select_for_update().first() or AnomalySettings(account=account)
        before = _audit_snapshot(row)
        row.watches = _watches(account, watches)
        row.minimum_impacts = _minimums(row.minimum_impacts, minimum_impacts)
        row.full_clean(exclude=["account"])
        row.save()
        _request_run(account)
    audit.record(
        account=account,
        actor=actor,
        action="anomaly_settings.change",
        target="anomalies",
        detail={"from": before, "to": _audit_snapshot(row)},
    )
    return row


def _watches(account: Account, names: Sequence[str]) -> list[str]:
    context = DimensionContext(account, cost_view(account).product_key)
    names_found = [
        registry.resolve(context, name.strip(), field="watches").name for name in names if name.strip()
    ]
    names_found = [name for name in dict.fromkeys(names_found) if name != SERVICE]
    refused = [name for name in names_found if name in NOT_WATCHED]
    if refused:
        raise UserError(
            (
                f"dimensions: {refused[0]} cannot be monitored. Choose a cost tag, tag, team, account, "
                "region or product."
            ),
            field="watches",
            value=refused[0],
        )
    if len(names_found) > MAX_WATCHES:
        raise UserError(
            f"dimensions: {len(names_found)} selected; the maximum is {MAX_WATCHES}.", field="watches"
        )
    return names_found


def _minimums(before: Mapping[str, str], changes: Mapping[str, Decimal | None]) -> dict[str, str]:
    minimums = dict(before)
    for name, amount in changes.items():
        currency = currency_code(name, field="minimum_impacts")
        if amount is None:
            minimums.pop(currency, None)
        elif amount < 0 or not amount.is_finite():
            raise UserError(
                f"Minimum impact must be 0 or more; {amount} {currency} is not.",
                field="minimum_impacts",
            )
        else:
            minimums[currency] = f"{amount:f}"
    return dict(sorted(minimums.items()))


def _audit_snapshot(row: AnomalySettings) -> dict[str, object]:
    return {"watches": list(row.watches), "minimum_impacts": dict(row.minimum_impacts)}


def _request_run(account: Account) -> None:
    """Record in the database that a detection is due, and notify a worker; without it beat finds the record within a
    minute."""
    AnomalyRun.objects.get_or_create(account=account)
    AnomalyRun.objects.update(asks=F("asks") + 1)
    transaction.on_commit(lambda: publish(RUN_TASK, account.pk, expires=300))


def due_accounts() -> list[int]:
    """Return accounts whose cost changed since the last detection, or whose last detection was on an earlier day or
    before a review.

    One statement over the live cost segments of all accounts.
    """
    return [due.account_id for due in _due("")]


def detect_if_due(account: Account) -> bool:
    """Run the detection of an account in the currencies of its bills, whatever the display currency: ids, reviews and
    alerts must not depend on it. Returns False if none is due, or another worker runs it."""
    with advisory_lock(f"anomalies {account.pk}") as has_lock:
        due = _due("AND account_id = %(account)s", account.pk) if has_lock else []
        if not due:
            return False
        with account_scope(account), currency_scope(None):
            _detect(account, due[0])
    return True


def _detect(account: Account, due: _Due) -> None:
    try:
        run = DetectionRun(account)
        in_parts = _parts(account, run, due)
        if in_parts is not None and not in_parts.is_done:
            parts.request(account, in_parts)
            return
        candidates = run.candidates() if in_parts is None else parts.candidates_of(run, in_parts.parts)
    except UserError as error:
        _finish(account, due, data_version="", error=error.message, parts=None)
        return
    has_cost, series = run.has_cost, run.series
    if in_parts is not None:
        has_cost, series = in_parts.has_cost, sum(part.series for part in in_parts.parts)
    with transaction.atomic():
        record(account, candidates, window=run.window, covered=run.covers, has_cost=has_cost)
        through = run.window.end
        _finish(
            account, due, data_version=due.version, error="", data_through=through, series=series, parts=None
        )


def _parts(account: Account, run: DetectionRun, due: _Due) -> parts.DetectionPlan | None:
    """Those of this look, planned where it begins; None for a look in one piece."""
    current = parts.current_parts(AnomalyRun.objects.first())
    if current is not None and (current.version, current.asks) == (due.version, due.asks):
        return current
    plan = parts.plan(run, due.version, due.asks)
    if plan is not None or current is not None:
        parts.store(account, plan)
    return plan


def detect_part_if_due(account: Account, number: int) -> bool:
    """Detect anomalies in a part of an account's values; the last part completes the account. False if another worker processes it."""
    with advisory_lock(f"anomalies {account.pk} part {number}") as has_lock:
        if not has_lock:
            return False
        with account_scope(account), currency_scope(None):
            is_last = parts.detect_part(account, number)
    if is_last:
        publish(RUN_TASK, account.pk, expires=300)
    return True


def _finish(account: Account, due: _Due, **values: object) -> None:
    """Record what this detection used; requests made meanwhile stay due."""
    AnomalyRun.objects.get_or_create(account=account)
    AnomalyRun.objects.update(asks_seen=due.asks, finished_at=clock.now(), **values)


@dataclass(frozen=True)
class _Due:
    """An account that is due, its data, and the number of requests so far."""

    account_id: int
    version: str
    asks: int


def _due(which: str, account_id: int | None = None) -> list[_Due]:
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(
            _DUE.format(which=which),
            {"today": str(now.date()), "retry": now - RETRY, "account": account_id, "detector": DETECTOR},
        )
        return [_Due(*row) for row in cursor.fetchall()]
