"""Queries on issue trackers and on the issues of savings, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Count, Q

from accounts.models import Account
from finops.insights.models import SavingsDismissal
from finops.insights.savings.schemas import SavingIssueLink
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.tracker_configs import config_of

State = SavingIssue.IssueState
VERIFIED = "verified"
"""The state of an issue that was closed as completed, and whose saving is marked as acted on since."""


class TrackerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A tracker. `issues` counts its issues, `open_issues` the open ones."""

    id: int
    name: str
    kind: str
    kind_label: str
    target: str
    issues: int
    open_issues: int
    polled_at: datetime | None
    tested_at: datetime | None
    error: str
    created_at: datetime
    created_by: str


class SavingIssueRow(msgspec.Struct, frozen=True, kw_only=True):
    """An issue. `state` is the name of its badge. `unread`: why the state may be old."""

    id: int
    tracker_id: int
    tracker: str
    saving_key: str
    title: str
    state: str
    key: str
    url: str
    status: str
    note: str
    unread: str
    created_by: str
    created_at: datetime
    closed_at: datetime | None
    checked_at: datetime | None


def trackers(account: Account) -> list[TrackerRow]:
    """All trackers, by name. One query."""
    rows = IssueTracker.objects.filter(account=account).select_related("created_by")
    counted = rows.annotate(
        issue_count=Count("issues", filter=~Q(issues__remote_id="")),
        open_count=Count("issues", filter=Q(issues__state=State.OPEN)),
    )
    return [_tracker_row(each) for each in counted.order_by("name")]


def tracker_issues(tracker: IssueTracker) -> list[SavingIssueRow]:
    """The tracker's issues, the newest first. Two queries."""
    rows = SavingIssue.objects.filter(tracker=tracker).select_related("tracker")
    keys = [row.saving_key for row in rows]
    acted = SavingsDismissal.objects.filter(key__in=keys, status=SavingsDismissal.Status.ACTED)
    verified = set(acted.values_list("key", flat=True))
    return [_issue_row(row, is_verified=row.saving_key in verified) for row in rows]


def issues_of_saving(account: Account, saving_key: str, *, is_acted: bool) -> list[SavingIssueRow]:
    """Issues of one saving. One query."""
    rows = SavingIssue.objects.filter(account=account, saving_key=saving_key).select_related("tracker")
    return [_issue_row(row, is_verified=is_acted) for row in rows.order_by("id")]


def issue_links(account: Account) -> Mapping[str, list[SavingIssueLink]]:
    """Links of every saving that has an issue, by the saving's id. One query."""
    rows = SavingIssue.objects.filter(account=account).order_by("id")
    links: dict[str, list[SavingIssueLink]] = {}
    for row in rows.values("saving_key", "tracker__name", "state", "remote_key", "url", "closed_at"):
        links.setdefault(row["saving_key"], []).append(_link(row))
    return links


def _link(row: Mapping[str, Any]) -> SavingIssueLink:
    return SavingIssueLink(
        tracker=row["tracker__name"],
        state=row["state"],
        key=row["remote_key"],
        url=row["url"],
        closed_at=row["closed_at"],
    )


def _tracker_row(tracker: IssueTracker) -> TrackerRow:
    return TrackerRow(
        id=tracker.pk,
        name=tracker.name,
        kind=tracker.kind,
        kind_label=tracker.get_kind_display(),
        target=config_of(tracker).shown,
        issues=getattr(tracker, "issue_count", 0),
        open_issues=getattr(tracker, "open_count", 0),
        polled_at=tracker.polled_at,
        tested_at=tracker.tested_at,
        error=tracker.error,
        created_at=tracker.created_at,
        created_by=tracker.created_by.email if tracker.created_by else "",
    )


def _issue_row(row: SavingIssue, *, is_verified: bool) -> SavingIssueRow:
    return SavingIssueRow(
        id=row.pk,
        tracker_id=row.tracker_id,
        tracker=row.tracker.name,
        saving_key=row.saving_key,
        title=str(row.content.get("title", "")),
        state=VERIFIED if is_verified and row.state == State.COMPLETED else row.state,
        key=row.remote_key,
        url=row.url,
        status=row.remote_status,
        note=row.note,
        unread=row.tracker.error if row.remote_id else "",
        created_by=row.created_by_label,
        created_at=row.created_at,
        closed_at=row.closed_at,
        checked_at=row.checked_at,
    )
