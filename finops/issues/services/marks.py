"""Effects of a closed or reopened issue on its saving."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import msgspec
from django.db import transaction

from accounts.audit import Actor
from accounts.models import Account
from finops.costs.queries.sources import Sources, load_sources
from finops.insights.models import SavingsDismissal
from finops.insights.savings import services as savings
from finops.insights.savings.candidates import SavingCandidate
from finops.insights.savings.recommendations import SavingsReader, find_candidates
from finops.insights.savings.services import OLDEST_DAYS, SavingSnapshot
from finops.issues.models import IssueTracker, SavingIssue
from finops.lib import clock

State = SavingIssue.IssueState


def follow_state(row: SavingIssue) -> None:
    """Dismiss the saving of an issue that was closed as not planned, and undo the effect of closing for one that was
    reopened. In the caller's transaction, which saves the row."""
    if row.state == State.NOT_PLANNED:
        if not SavingsDismissal.objects.filter(key=row.saving_key).exists():
            reason = f"{_name(row)} was closed as not planned: {row.url}"
            mark = savings.dismiss(
                account=row.account, actor=actor_of(row), candidate=saving_of(row), reason=reason
            )
            row.marked_at = mark.marked_at
    elif row.state in (State.OPEN, State.COMPLETED) and row.marked_at is not None:
        own_mark = SavingsDismissal.objects.filter(key=row.saving_key, marked_at=row.marked_at).first()
        if own_mark is not None and row.state == State.COMPLETED and own_mark.status == own_mark.Status.ACTED:
            return  # the tracker did not return it for a while
        if own_mark is not None:
            savings.reopen(account=row.account, actor=actor_of(row), mark=own_mark)
        row.marked_at = None


def verify_savings(account: Account, tracker: IssueTracker) -> int:
    """Mark savings as acted on whose issue was completed, and which neither bills nor recommendations show any more.
    Returns how many.

    They count until then. A saving is not verified before its source has delivered days after the closing, nor while
    another recommendation covers the same resources. Cost: the account's recommendations, where an issue is to be verified.
    """
    today = clock.today()
    rows = SavingIssue.objects.filter(
        tracker=tracker,
        state=State.COMPLETED,
        marked_at=None,  # one that was marked and that a person opened again stays open
        closed_at__gt=clock.now() - timedelta(days=OLDEST_DAYS - 1),
    )
    marked = SavingsDismissal.objects.values_list("key", flat=True)
    waiting = list(rows.exclude(saving_key__in=marked).select_related("tracker", "account"))
    if not waiting:
        return 0
    sources = load_sources(account)
    result = find_candidates(SavingsReader(account, sources), [])
    candidates = [*result.open, *result.dismissed_candidates]
    verified = 0
    for row in waiting:
        if row.closed_at is None or row.closed_at.date() > today or not _is_past(row, sources, candidates):
            continue
        verified += _record_action(row)
    return verified


def _is_past(row: SavingIssue, sources: Sources, candidates: Sequence[SavingCandidate]) -> bool:
    saving = saving_of(row)
    through = sources.coverage.last_complete_days.get(int(saving.scope.source))
    if through is None or row.closed_at is None or through <= row.closed_at.date():
        return False
    return not any(_is_about(each, saving) for each in candidates)


def _is_about(candidate: SavingCandidate, saving: SavingSnapshot) -> bool:
    """Whether it is the same recommendation, or another one of the same resources, commitment or compute."""
    scope = candidate.scope
    if candidate.key == saving.key:
        return True
    if (scope.source, scope.currency) != (saving.scope.source, saving.scope.currency):
        return False
    return bool(
        set(scope.resources) & set(saving.scope.resources)
        or (saving.scope.commitment and scope.commitment == saving.scope.commitment)
        or (saving.scope.compute and scope.compute)
    )


@transaction.atomic
def _record_action(row: SavingIssue) -> bool:
    """Record the action, unless a person marked the saving meanwhile."""
    current = (
        SavingIssue.objects.select_for_update(of=("self",)).filter(pk=row.pk, state=State.COMPLETED).first()
    )
    if (
        current is None
        or SavingsDismissal.objects.filter(key=row.saving_key).exists()
        or row.closed_at is None
    ):
        return False
    mark = savings.record_saving_action(
        account=row.account,
        actor=actor_of(row),
        candidate=saving_of(row),
        acted_on=row.closed_at.date(),
        reason=f"{_name(row)} was closed as completed, and it is no longer recommended: {row.url}",
    )
    SavingIssue.objects.filter(pk=row.pk).update(marked_at=mark.marked_at)
    return True


def saving_of(row: SavingIssue) -> SavingSnapshot:
    return msgspec.convert(row.saving, SavingSnapshot)


def actor_of(row: SavingIssue) -> Actor:
    return Actor(label=_name(row))


def _name(row: SavingIssue) -> str:
    return f"{row.tracker.get_kind_display()} issue {row.remote_key}"
