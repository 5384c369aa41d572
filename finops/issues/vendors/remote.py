"""The interface of a tracker's client, and the data of an issue in a tracker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from finops.issues.content import IssueContent
from finops.lib import clock

RemoteState = Literal["open", "completed", "not_planned", "missing"]


@dataclass(frozen=True, kw_only=True)
class RemoteIssue:
    """An issue's current state in the tracker. `status` is the tracker's own word; `note` says why it is missing."""

    id: str
    key: str
    url: str
    state: RemoteState
    status: str = ""
    note: str = ""
    created_at: datetime | None = None
    closed_at: datetime | None = None


@dataclass(frozen=True)
class TrackerFinding:
    """The result of one check of a test; `problem` says what is missing and what to do, empty if the check passed."""

    label: str
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True, kw_only=True)
class TrackerChanges:
    """Changed issues by id, as far as the poll read them, and where the next poll begins."""

    issues: Mapping[str, RemoteIssue]
    cursor: Mapping[str, Any] = field(default_factory=dict)


class TrackerClient(ABC):
    """One tracker with its credential. Every method raises TrackerUnavailable or TrackerRefusal, except `check`."""

    @abstractmethod
    def check(self) -> list[TrackerFinding]:
        """Return which checks pass and which fail, without creating anything."""

    @abstractmethod
    def find(self, marker: str, since: datetime) -> RemoteIssue | None:
        """Return the issue whose text has the marker, if it is open, or was created at `since` or later."""

    @abstractmethod
    def create(self, content: IssueContent, marker: str, request_id: UUID) -> RemoteIssue:
        """Create an issue. The caller checks whether an earlier attempt created one already (`find`)."""

    @abstractmethod
    def changes(
        self, ids: Sequence[str], unchecked_ids: Sequence[str], cursor: Mapping[str, Any]
    ) -> TrackerChanges:
        """Return the states of issues. Where the tracker lists changes, unchanged issues are left out, except
        `unchecked_ids`, which were not seen for a day: each is read, so that a deleted one is noticed."""


def matching(issues: Sequence[RemoteIssue], since: datetime) -> RemoteIssue | None:
    """Return the newest issue with the marker that counts as already created (`TrackerClient.find`)."""
    fresh = [
        each for each in issues if each.state == "open" or (each.created_at and each.created_at >= since)
    ]
    return max(fresh, key=lambda each: (each.created_at or since, each.id), default=None)


def moment(text: Any) -> datetime | None:
    """Parse a time in the APIs' formats: ISO 8601, with Z, +00:00 or +0000; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def closing_moment(*texts: Any) -> datetime:
    """Return the first valid time, else now: a tracker may not say when it closed an issue."""
    return next((value for value in map(moment, texts) if value), clock.now())
