"""Anomalies and savings of the demo: detection in Lumenly's bills, and notes of its people on two of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.queries.sources import load_sources
from finops.insights.anomalies.services import detect_if_due, mark_expected_anomaly, resolve
from finops.insights.models import Anomaly, Incident, SavingsDismissal
from finops.insights.savings.candidates import SavingCandidate
from finops.insights.savings.recommendations import SavingsReader, find_candidates
from finops.insights.savings.services import dismiss, record_saving_action
from finops.lib import clock

NOTES = (
    (resolve, "Amazon CloudWatch", "Debug logging of payments is off again."),
    (mark_expected_anomaly, "BigQuery", "Backfill of the revenue model, agreed with the data team."),
)
_DISMISSED = ("previous_generation", "lumenly-shared-services", "Relational")
_ACTED = ("weekends_off", "lumenly-staging", "Relational")


def detect_anomalies(accounts: list[Account], actor: Actor, say: Callable[[str], None]) -> None:
    """Detect anomalies in each account when that is due; the first time, add notes to two that ended."""
    for account in accounts:
        with account_scope(account):
            first = not Anomaly.objects.exists()
            detect_if_due(account)
            if first:
                _mark_anomalies(account, actor)
                # What was marked expected is learnt at once.
                detect_if_due(account)
            say(f"{account.name}: {Incident.objects.filter(state='open').count()} open anomalies")


def _mark_anomalies(account: Account, actor: Actor) -> None:
    for word, service, note in NOTES:
        rows = Anomaly.objects.filter(incident__state="open", ongoing=False, value=service)
        row = rows.order_by("first_day").first()
        if row is not None:
            word(account=account, actor=actor, anomaly=row, note=note)


def ensure_savings(account: Account, actor: Actor) -> None:
    """Add notes to savings. The account must be in scope. Does nothing when there are notes already."""
    if SavingsDismissal.objects.exists():
        return
    open_candidates = find_candidates(SavingsReader(account, load_sources(account), None), ()).open
    for each in open_candidates:
        if _is(each, _DISMISSED):
            reason = "crm-copy is turned off in January, with the old CRM."
            dismiss(account=account, actor=actor, candidate=each, reason=reason)
        elif _is(each, _ACTED):
            day, note = clock.today() - timedelta(days=4), "Instance scheduler, Friday 20:00 to Monday 6:00."
            record_saving_action(account=account, actor=actor, candidate=each, acted_on=day, reason=note)


def _is(each: SavingCandidate, key: tuple[str, str, str]) -> bool:
    rule, account_name, service = key
    return each.rule == rule and each.account_name == account_name and service in each.service
