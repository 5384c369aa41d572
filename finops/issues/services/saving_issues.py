"""Sending a saving to a tracker: the row first, then the issue, by a task that may run twice and be killed at any moment.

An attempt claims the row: it sets `next_attempt_at` to after the longest attempt, and this value identifies the claim. It
searches for an issue with the row's marker before it creates one, since an earlier attempt may have created it without
receiving the response.
"""

from __future__ import annotations

import logging
import random
from datetime import datetime, timedelta
from typing import Final

import msgspec
from django.db import IntegrityError, transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing
from finops.insights.savings.queries import ALL_ROWS, list_savings, recommendation
from finops.insights.savings.schemas import SavingsQuery
from finops.insights.savings.services import snapshot_of
from finops.insights.savings.text import OPEN
from finops.issues.content import SHOWN_EVIDENCE, IssueContent, issue_content, marker_of
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.vendors import RemoteIssue, TrackerError, TrackerUnavailable, client_of
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sealing import Unsealable
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

CREATE_TASK: Final = "issues.create"
MAX_ISSUES: Final = 5_000
"""The most issues of a tracker: each is polled."""
LEASE: Final = timedelta(minutes=5)
"""Longer than any attempt: at most 23 requests of 15 s."""
BACK_OFF: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 4, 15, 60, 240, 720))
"""Delays between attempts, each up to a fifth longer. The first is longer than a search index needs to contain a new issue.
"""
MAX_ATTEMPTS: Final = len(BACK_OFF) + 1
LONGEST_WAIT: Final = timedelta(days=1)
"""The longest delay that a tracker's Retry-After may set."""

State = SavingIssue.IssueState


def create_saving_issue(
    *, account: Account, actor: Actor, tracker: IssueTracker, saving_key: str
) -> tuple[SavingIssue, bool]:
    """Send an open saving to a tracker; a task creates the issue. Returns False when it already has an issue there.

    Raises UserError for a saving that is not open, and for a full tracker. Cost: the recommendations of the account.
    """
    with account_scope(account):
        own_issues = SavingIssue.objects.filter(tracker=tracker, saving_key=saving_key)
        present = own_issues.first()
        if present is not None:
            return present, False
        draft = _draft(account, tracker, saving_key)
        draft.created_by, draft.created_by_label = actor.user, actor.label[:254]
        try:
            with transaction.atomic():
                _lock_tracker(tracker)
                draft.save(force_insert=True)
                _record(draft, actor, "create", {})
                transaction.on_commit(lambda: publish(CREATE_TASK, account.pk, draft.pk, expires=300))
        except IntegrityError:
            return own_issues.get(), False  # a double click: the other one was first
    return draft, True


def _draft(account: Account, tracker: IssueTracker, saving_key: str) -> SavingIssue:
    candidate = recommendation(account, saving_key)[0]
    answer = list_savings(account, SavingsQuery(status="open", limit=ALL_ROWS), evidence=SHOWN_EVIDENCE)
    row = next((each for each in answer.recommendations if each.id == saving_key), None)
    if candidate is None or row is None or row.status != OPEN:
        raise UserError("An issue can be created only for an open recommendation in current bills.")
    period = f"{answer.period.start_date} to {answer.period.end_date}" if answer.period else ""
    return SavingIssue(
        account=account,
        tracker=tracker,
        saving_key=saving_key,
        content=msgspec.to_builtins(issue_content(account, row, period)),
        saving=msgspec.to_builtins(snapshot_of(candidate)),
        marker=marker_of(account, saving_key),
        created_at=clock.now(),
        next_attempt_at=clock.now(),
    )


def _lock_tracker(tracker: IssueTracker) -> None:
    """Lock the tracker. Raises UserError when it was deleted or is full."""
    row = existing(IssueTracker.objects.select_for_update(of=("self",)), tracker, "tracker")
    if row.issues.count() >= MAX_ISSUES:
        raise UserError(
            f"A tracker syncs at most {MAX_ISSUES:,} issues. Unlink completed ones, or add a tracker."
        )


@transaction.atomic
def retry_saving_issue(*, issue: SavingIssue, actor: Actor) -> None:
    """Retry the creation of a failed issue. Raises UserError for any other."""
    with account_scope(issue.account):
        row = _row(issue)
        if row.state != State.FAILED:
            raise UserError("Only issues that could not be created can be retried.")
        row.state, row.attempts, row.note, row.next_attempt_at = State.CREATING, 0, "", clock.now()
        row.save(update_fields=["state", "attempts", "note", "next_attempt_at"])
        _record(row, actor, "retry", {})
        transaction.on_commit(lambda: publish(CREATE_TASK, row.account_id, row.pk, expires=300))


@transaction.atomic
def unlink_saving_issue(*, issue: SavingIssue, actor: Actor) -> None:
    """Delete the link to the issue: it stays in the tracker, and the saving no longer follows it."""
    with account_scope(issue.account):
        row = _row(issue)
        _record(row, actor, "unlink", {"state": row.state})
        row.delete()


def create_due() -> list[tuple[int, int]]:
    """Account and id of rows whose issue is due to be created."""
    # Unscoped: a sweep over all accounts.
    due = SavingIssue.objects.unscoped().filter(state=State.CREATING, next_attempt_at__lte=clock.now())
    return list(due.order_by("next_attempt_at").values_list("account_id", "pk")[:500])


def create_remote_issue(*, account: Account, issue_id: int) -> bool:
    """Create the issue of a row that is due. Returns False when it is not due or is claimed elsewhere. Safe to call twice,
    at once, and after kill -9 at any moment. Call it outside a transaction."""
    with account_scope(account):
        row = _claim_issue(issue_id)
        if row is None:
            return False
        claim, problem, wait, remote = row.next_attempt_at, "", None, None
        try:
            remote = _find_or_create(row)
        except TrackerUnavailable as error:
            problem, wait = error.message, error.retry_after
        except (TrackerError, Unsealable) as error:
            problem = error.message
        _record_attempt(row, claim, remote, problem, wait)
    return True


def _find_or_create(row: SavingIssue) -> RemoteIssue:
    client, content = client_of(row.tracker), msgspec.convert(row.content, IssueContent)
    remote = client.find(row.marker, row.created_at)
    return remote or client.create(content, row.marker, row.request_id)


@transaction.atomic
def _claim_issue(issue_id: int) -> SavingIssue | None:
    rows = SavingIssue.objects.select_for_update(skip_locked=True, of=("self",)).select_related(
        "tracker", "account"
    )
    now = clock.now()
    row = rows.filter(pk=issue_id, state=State.CREATING, next_attempt_at__lte=now).first()
    if row is None:
        return None
    if row.attempts >= MAX_ATTEMPTS:
        _give_up(row, row.note or "The server stopped while the issue was being created.")
        return None
    row.attempts, row.next_attempt_at = row.attempts + 1, now + LEASE
    row.save(update_fields=["attempts", "next_attempt_at"])
    return row


@transaction.atomic
def _record_attempt(
    claimed: SavingIssue, claim: datetime | None, remote: RemoteIssue | None, problem: str, wait: float | None
) -> None:
    attempt_rows = SavingIssue.objects.select_for_update(of=("self",)).filter(
        state=State.CREATING, next_attempt_at=claim
    )
    row = attempt_rows.filter(pk=claimed.pk).first()
    if row is None:
        logger.warning(
            "issues: creation of %s was taken over, or unlinked, before its answer came", claimed.pk
        )
        return
    if remote is not None:
        _keep_issue(row, remote)
    elif wait is None or row.attempts >= MAX_ATTEMPTS:
        _give_up(row, problem)
    else:
        # Not cryptography: random jitter.
        usual = BACK_OFF[row.attempts - 1] * random.uniform(1.0, 1.2)  # noqa: S311
        row.note = problem
        row.next_attempt_at = clock.now() + max(usual, min(timedelta(seconds=wait), LONGEST_WAIT))
        row.save(update_fields=["note", "next_attempt_at"])


def _keep_issue(row: SavingIssue, remote: RemoteIssue) -> None:
    """Store the issue as open, whatever its state: the next poll applies the effects of another state."""
    row.state, row.next_attempt_at, row.note = State.OPEN, None, ""
    row.remote_id, row.remote_key, row.url = remote.id[:100], remote.key[:100], remote.url[:500]
    row.remote_status, row.checked_at = remote.status[:100], None
    row.save()
    # The tracker's list may begin after a change of this issue, which is read by itself once.
    IssueTracker.objects.filter(pk=row.tracker_id, next_poll_at__gt=clock.now()).update(
        next_poll_at=clock.now()
    )
    _record(row, Actor.command("issues"), "link", {"issue": row.remote_key, "url": row.url})


def _give_up(row: SavingIssue, problem: str) -> None:
    row.state, row.next_attempt_at, row.note = State.FAILED, None, problem
    row.save(update_fields=["state", "next_attempt_at", "note"])
    _record(row, Actor.command("issues"), "fail", {"reason": problem})


def _row(issue: SavingIssue) -> SavingIssue:
    return existing(SavingIssue.objects.select_for_update(of=("self",)), issue, "issue")


def _record(row: SavingIssue, actor: Actor, verb: str, detail: dict[str, object]) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"saving_issue.{verb}",
        target=str(row.content.get("title", "")),
        detail={"id": row.pk, "saving": row.saving_key, "tracker": row.tracker.name, **detail},
    )
