"""Issue trackers of an account: created, changed, tested and deleted by people."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.issues.models import IssueTracker
from finops.issues.tracker_configs import (
    TrackerConfig,
    config_of,
    is_sealed_now,
    read_config,
    read_secret,
    seal_secret,
    secret_of,
)
from finops.issues.vendors import TrackerFinding, client_of
from finops.lib import clock
from finops.lib.errors import UserError, unknown_value
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.sealing import Unsealable

MAX_TRACKERS: Final = 20
TESTS_A_MINUTE: Final = 10

logger = logging.getLogger(__name__)


def create_tracker(
    *, account: Account, actor: Actor, name: str, kind: str, config: Mapping[str, object], secret: str
) -> IssueTracker:
    """Create a tracker. `config` by kind: github {repository, server_url}; jira {site_url, email, project_key, issue_type};
    linear {team_key}. `secret`: the token or API key.

    Raises UserError with the field for an invalid value or a private network (looked up in DNS: seconds), a name that is
    taken, and a full account; ValidationError for a name that is empty or too long.
    """
    if kind not in IssueTracker.Kind.values:
        raise unknown_value("kind", kind, IssueTracker.Kind.values, show=str)
    checked = read_config(kind, config)
    with transaction.atomic(), account_scope(account):
        lock_account(account)
        count = IssueTracker.objects.count()
        if count >= MAX_TRACKERS:
            raise UserError(
                f"The account has {count} issue trackers; the maximum is {MAX_TRACKERS}. Delete one first."
            )
        tracker = IssueTracker(account=account, kind=kind, created_by=actor.user, created_at=clock.now())
        _fill(tracker, name, checked, read_secret(secret))
        tracker.save(force_insert=True)
        _record(tracker, actor, "create", {"kind": kind, "target": checked.shown})
    return tracker


def change_tracker(
    *, tracker: IssueTracker, actor: Actor, name: str, config: Mapping[str, object], secret: str = ""
) -> IssueTracker:
    """Change the name, the destination or the token; without a token the old one stays. The token is required again for
    another server or another person: otherwise someone who does not know it could have it sent there. Raises as
    `create_tracker` does."""
    account = tracker.account
    checked = read_config(tracker.kind, config)
    with transaction.atomic(), account_scope(account):
        lock_account(account)
        row = _row(tracker)
        before = config_of(row)
        if not secret and before.receiver != checked.receiver:
            raise UserError(
                "Enter the token again. The server or person of the tracker has changed.",
                field="secret",
            )
        if before != checked:
            row.cursor = {}
        row.next_poll_at, row.failures, row.error = clock.now(), 0, ""
        was = {"name": row.name, "target": before.shown}
        _fill(row, name, checked, read_secret(secret) if secret else "")
        row.save()
        detail = {
            "from": was,
            "to": {"name": row.name, "target": checked.shown},
            "token_replaced": bool(secret),
        }
        _record(row, actor, "change", detail)
    return row


@transaction.atomic
def delete_tracker(*, tracker: IssueTracker, actor: Actor) -> None:
    """Delete the tracker with the links to its issues; the issues stay in the tracker."""
    account = tracker.account
    with account_scope(account):
        lock_account(account)
        row = _row(tracker)
        detail = {"kind": row.kind, "target": config_of(row).shown, "issues": row.issues.count()}
        _record(row, actor, "delete", detail)
        row.delete()


def test_tracker(*, tracker: IssueTracker, actor: Actor) -> list[TrackerFinding]:
    """Return which checks pass and which fail; creates no issue. Takes up to a few requests of 15 s: call it outside a
    transaction.

    Raises UserError when the account's trackers were tested ten times within a minute.
    """
    if seconds_to_wait("issue tracker tests", f"account {tracker.account_id}", limit=TESTS_A_MINUTE):
        raise UserError(f"{TESTS_A_MINUTE} tracker tests within a minute. Wait a minute and try again.")
    try:
        findings = client_of(tracker).check()
    except Unsealable:
        findings = [
            TrackerFinding(
                "Token",
                "The stored token cannot be read since the server's secret key changed. Enter it again.",
            )
        ]
    problems = [each.label for each in findings if not each.ok]
    with transaction.atomic(), account_scope(tracker.account):
        row = _row(tracker)
        if not problems:
            row.tested_at = clock.now()
            row.save(update_fields=["tested_at"])
        _record(row, actor, "test", {"problems": problems})
    return findings


def reseal_credentials() -> int:
    """Reseal credentials that were sealed under an earlier key, and return how many."""
    # Unscoped: a sweep over all accounts.
    old = [each.pk for each in IssueTracker.objects.unscoped() if not is_sealed_now(each)]
    return sum(_reseal(pk) for pk in old)


@transaction.atomic
def _reseal(tracker_id: int) -> bool:
    # Unscoped: a sweep over all accounts.
    row = IssueTracker.objects.unscoped().select_for_update(of=("self",)).filter(pk=tracker_id).first()
    if row is None:
        return False
    try:
        row.credentials = seal_secret(row, secret_of(row))
    except Unsealable:
        logger.warning("issues: the token of tracker %s cannot be read any more", tracker_id)
        return False
    row.save(update_fields=["credentials"])
    return True


def _row(tracker: IssueTracker) -> IssueTracker:
    return existing(IssueTracker.objects.select_for_update(of=("self",)), tracker, "tracker")


def _fill(tracker: IssueTracker, name: str, config: TrackerConfig, secret: str) -> None:
    tracker.name = " ".join(name.split())
    if IssueTracker.objects.filter(name__iexact=tracker.name).exclude(pk=tracker.pk).exists():
        raise UserError(f"Issue tracker {tracker.name!r} already exists. Choose another name.", field="name")
    tracker.config = msgspec.to_builtins(config)
    tracker.changed_at = clock.now()
    if secret:
        tracker.credentials, tracker.credentials_changed_at = seal_secret(tracker, secret), clock.now()
    tracker.full_clean(exclude=["account", "cursor"])


def _record(tracker: IssueTracker, actor: Actor, verb: str, detail: dict[str, object]) -> None:
    audit.record(
        account=tracker.account,
        actor=actor,
        action=f"issue_tracker.{verb}",
        target=tracker.name,
        detail={"id": tracker.pk, **detail},
    )
