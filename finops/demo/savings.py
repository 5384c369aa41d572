"""What Lumenly's people said of two recommendations: one is not worth it, one was just done."""

from __future__ import annotations

from datetime import timedelta

from accounts.audit import Actor
from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.insights.models import SavingsDismissal
from finops.insights.savings.candidates import Candidate
from finops.insights.savings.recommendations import Reader, find_candidates
from finops.insights.services.savings import dismiss, mark_acted
from finops.lib import clock

DISMISSED = ("previous_generation", "lumenly-shared-services", "Relational")
ACTED = ("weekends_off", "lumenly-staging", "Relational")


def ensure_savings(account: Account, actor: Actor) -> None:
    """The account must be in scope. Does nothing when somebody has said something already."""
    if SavingsDismissal.objects.exists():
        return
    open_candidates = find_candidates(Reader(account, load_sources(account), None), ()).open
    for each in open_candidates:
        if _is(each, DISMISSED):
            reason = "crm-copy is turned off in January, with the old CRM."
            dismiss(account=account, actor=actor, candidate=each, reason=reason)
        elif _is(each, ACTED):
            day, note = clock.today() - timedelta(days=4), "Instance scheduler, Friday 20:00 to Monday 6:00."
            mark_acted(account=account, actor=actor, candidate=each, acted_on=day, reason=note)


def _is(each: Candidate, key: tuple[str, str, str]) -> bool:
    rule, account_name, service = key
    return each.rule == rule and each.account_name == account_name and service in each.service
