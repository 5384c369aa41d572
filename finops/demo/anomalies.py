"""Anomalies of the demo: what the detector finds in Lumenly's bills, and what its people said of two of them."""

from __future__ import annotations

from collections.abc import Callable

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.insights.models import Anomaly
from finops.insights.services import detect_if_due, mark_expected, resolve

NOTES = (
    (resolve, "Amazon CloudWatch", "Debug logging of payments is off again."),
    (mark_expected, "BigQuery", "Backfill of the revenue model, agreed with the data team."),
)


def look_for_anomalies(accounts: list[Account], actor: Actor, say: Callable[[str], None]) -> None:
    """Look at each account when that is due; the first time, say something of two that ended."""
    for account in accounts:
        with account_scope(account):
            first = not Anomaly.objects.exists()
            detect_if_due(account)
            if first:
                _mark_anomalies(account, actor)
                # What was marked expected is learnt at once.
                detect_if_due(account)
            say(f"{account.name}: {Anomaly.objects.filter(state='open').count()} open anomalies")


def _mark_anomalies(account: Account, actor: Actor) -> None:
    for word, service, note in NOTES:
        row = Anomaly.objects.filter(state="open", ongoing=False, value=service).order_by("first_day").first()
        if row is not None:
            word(account=account, actor=actor, anomaly=row, note=note)
