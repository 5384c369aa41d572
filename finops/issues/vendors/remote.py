"""What a client of a tracker's API can do, and what an issue is there."""

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
    """An issue as the tracker has it now. `status` is the tracker's own word; `note` says why it is missing."""

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
    """One thing that a test looked at; `problem` says what lacks and what to do, empty where it is right."""

    label: str
    problem: str = ""

    @property
    def ok(self) -> bool:
        return not self.problem


@dataclass(frozen=True, kw_only=True)
class TrackerChanges:
    """Issues by their id, as far as the look saw them, and where the next look begins."""

    issues: Mapping[str, RemoteIssue]
    cursor: Mapping[str, Any] = field(default_factory=dict)


class TrackerClient(ABC):
    """One tracker with its credential. Every method raises TrackerUnavailable or TrackerRefusal, but for `check`."""

    @abstractmethod
    def check(self) -> list[TrackerFinding]:
        """What is right and what lacks, without creating anything."""

    @abstractmethod
    def find(self, marker: str, since: datetime) -> RemoteIssue | None:
        """The issue whose text has the marker, if it is open, or was created at `since` or later."""

    @abstractmethod
    def create(self, content: IssueContent, marker: str, request_id: UUID) -> RemoteIssue:
        """A new issue. Whether an earlier attempt made one already is the caller's question (`find`)."""

    @abstractmethod
    def changes(
        self, ids: Sequence[str], unchecked_ids: Sequence[str], cursor: Mapping[str, Any]
    ) -> TrackerChanges:
        """The states of issues. Where the tracker lists what changed, others are left out, but for `unchecked_ids`, which were
        not seen for a day: each is read, so that one that was deleted is known."""


def matching(issues: Sequence[RemoteIssue], since: datetime) -> RemoteIssue | None:
    """Of those with the marker the newest that counts as handed over already (`TrackerClient.find`)."""
    fresh = [
        each for each in issues if each.state == "open" or (each.created_at and each.created_at >= since)
    ]
    return max(fresh, key=lambda each: (each.created_at or since, each.id), default=None)


def moment(text: Any) -> datetime | None:
    """A time as the APIs write it: ISO 8601, with Z, +00:00 or +0000; None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def closing_moment(*texts: Any) -> datetime:
    """The first that is a time, else now: a tracker that closes an issue need not say when."""
    return next((value for value in map(moment, texts) if value), clock.now())
