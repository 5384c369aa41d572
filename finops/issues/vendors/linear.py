"""Linear's GraphQL API, with an API key.

An issue is created with an id of ours, so that a repeated creation makes only one. Too many requests are HTTP 400 with the
code RATELIMITED, and the time of the next in a header. Sources: linear.app/developers/graphql, /filtering, /rate-limiting;
its schema (IssueCreateInput.id, IssueFilter.description).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from finops.issues.content import IssueContent
from finops.issues.markdown import markdown
from finops.issues.tracker_configs import LinearConfig
from finops.issues.vendors.client import (
    TrackerApi,
    TrackerError,
    TrackerRefusal,
    TrackerUnavailable,
    error_words,
)
from finops.issues.vendors.remote import (
    RemoteIssue,
    TrackerChanges,
    TrackerClient,
    TrackerFinding,
    closing_moment,
    matching,
    moment,
)
from finops.lib import clock

PUBLIC_API: Final = "https://api.linear.app"
BATCH: Final = 100
_KEY_FIX: Final = "Create a new API key in Linear, Settings, Security & access."
_DELETED: Final = "It was deleted."
_MISSING: Final = "The issue was deleted, or the API key has no access to it."
_NOT_PLANNED: Final = frozenset({"canceled", "duplicate"})
_ISSUE: Final = "id identifier url trashed createdAt completedAt canceledAt description state { name type }"
_TEAM: Final = "query($key: String!) { teams(filter: {key: {eq: $key}}, first: 1) { nodes { id } } }"
_FIND: Final = (
    "query($key: String!, $marker: String!) { issues(filter: {team: {key: {eq: $key}}, description: {contains: $marker}}, "
    f"first: 10, includeArchived: true) {{ nodes {{ {_ISSUE} }} }} }}"
)
_CREATE: Final = (
    f"mutation($input: IssueCreateInput!) {{ issueCreate(input: $input) {{ success issue {{ {_ISSUE} }} }} }}"
)
_READ: Final = (
    "query($ids: [ID!]!, $first: Int!) { issues(filter: {id: {in: $ids}}, first: $first, includeArchived: true) "
    f"{{ nodes {{ {_ISSUE} }} }} }}"
)


class LinearClient(TrackerClient):
    def __init__(self, config: LinearConfig, secret: str) -> None:
        self.config = config
        self.api = TrackerApi(
            vendor="Linear",
            base_url=settings.CONNECTOR_BASE_URLS.get("linear") or PUBLIC_API,
            key_fix=_KEY_FIX,
            headers={"Authorization": secret},
            secrets=(secret,),
        )

    def check(self) -> list[TrackerFinding]:
        try:
            self._team_id()
        except TrackerRefusal as error:
            label = "Team" if error.status == 404 else "Sign-in"
            return [TrackerFinding(label, error.message)]
        except TrackerError as error:
            return [TrackerFinding("Sign-in", error.message)]
        return [TrackerFinding("Sign-in"), TrackerFinding("Team")]

    def find(self, marker: str, since: datetime) -> RemoteIssue | None:
        data = self._query(_FIND, {"key": self.config.team_key, "marker": marker})
        rows = [row for row in _nodes(data, "issues") if not row.get("trashed")]
        return matching([_issue(row) for row in rows], since)

    def create(self, content: IssueContent, marker: str, request_id: UUID) -> RemoteIssue:
        """Create an issue. Raises TrackerRefusal, and TrackerUnavailable also for a response without the issue."""
        values = {
            "id": str(request_id),
            "teamId": self._team_id(),
            "title": content.title,
            "description": markdown(content, marker),
        }
        data = self._query(_CREATE, {"input": values})
        payload = data.get("issueCreate") or {}
        if not payload.get("success") or not isinstance(payload.get("issue"), dict):
            raise TrackerUnavailable("Linear returned no issue. The next attempt searches for it first.")
        return _issue(payload["issue"])

    def changes(
        self, ids: Sequence[str], unchecked_ids: Sequence[str], cursor: Mapping[str, Any]
    ) -> TrackerChanges:
        issues: dict[str, RemoteIssue] = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            rows = _nodes(self._query(_READ, {"ids": list(batch), "first": BATCH}), "issues")
            present = {each.id: each for each in map(_issue, rows) if each.id in set(batch)}
            issues |= {each: present.get(each) or _missing(each, _MISSING) for each in batch}
        return TrackerChanges(issues=issues)

    def _team_id(self) -> str:
        teams = _nodes(self._query(_TEAM, {"key": self.config.team_key}), "teams")
        if not teams:
            text = f"No team {self.config.team_key} that the API key may see. Check the team's key, and the key's teams."
            raise TrackerRefusal(text, status=404)
        return str(teams[0]["id"])

    def _query(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the response's data. Errors come with 200 and with 400."""
        answer = self.api.post("/graphql", {"query": query, "variables": variables}, accept=(400,))
        value = answer.value if isinstance(answer.value, dict) else {}
        errors = value.get("errors")
        if errors:
            raise self._error_of(value, errors, answer.headers)
        data = value.get("data")
        if not isinstance(data, dict):
            raise TrackerUnavailable(f"Linear answered without data (HTTP {answer.status}).")
        return data

    def _error_of(
        self, value: Mapping[str, Any], errors: Sequence[Any], headers: Mapping[str, str]
    ) -> TrackerError:
        codes = {str(_extensions(each).get("code", "")).upper() for each in errors}
        words = self.api.redact(error_words(value))
        if "RATELIMITED" in codes:
            wait = _seconds_until(headers.get("x-ratelimit-requests-reset", ""))
            return TrackerUnavailable(
                "Linear is rate limiting requests. The next attempt is automatic.", retry_after=wait
            )
        if "INTERNAL_SERVER_ERROR" in codes or "LOCK_TIMEOUT" in codes:
            return TrackerUnavailable(f"Linear has an internal error: {words}")
        if codes & {"AUTHENTICATION_ERROR", "UNAUTHENTICATED"}:
            return TrackerRefusal(f"Linear does not accept the API key. {_KEY_FIX}", status=401, words=words)
        if "FORBIDDEN" in codes:
            text = "The API key needs the permissions Read and Create issues"
            return TrackerRefusal(f"{text}, and the team {self.config.team_key}. Linear: {words}", status=403)
        return TrackerRefusal(f"Linear refuses the request: {words}", status=400, words=words)


def _issue(row: Mapping[str, Any]) -> RemoteIssue:
    state, key = row.get("state") or {}, str(row.get("identifier", ""))
    kind = str(state.get("type", ""))
    if row.get("trashed"):
        return _missing(str(row.get("id", "")), _DELETED)
    closed = kind == "completed" or kind in _NOT_PLANNED
    return RemoteIssue(
        id=str(row.get("id", "")),
        key=key,
        url=str(row.get("url", "")),
        state="open" if not closed else "completed" if kind == "completed" else "not_planned",
        status=str(state.get("name", "")),
        created_at=moment(row.get("createdAt")),
        closed_at=closing_moment(row.get("completedAt"), row.get("canceledAt")) if closed else None,
    )


def _missing(issue_id: str, note: str) -> RemoteIssue:
    return RemoteIssue(id=issue_id, key="", url="", state="missing", note=note)


def _nodes(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = (data.get(name) or {}).get("nodes") or []
    return [row for row in rows if isinstance(row, dict)]


def _extensions(error: Any) -> Mapping[str, Any]:
    value = error.get("extensions") if isinstance(error, dict) else None
    return value if isinstance(value, dict) else {}


def _seconds_until(epoch_milliseconds: str) -> float:
    if not epoch_milliseconds.isdigit():
        return 60.0
    return max(1.0, int(epoch_milliseconds) / 1_000 - clock.now().timestamp())
