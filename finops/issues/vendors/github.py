"""GitHub's REST API, github.com and Enterprise.

Issues are read from the list of changes since a time, which contains a new issue at once; the search index, which may lag,
finds old ones. A page of the list that has not changed is 304 and does not count towards the rate limit. Sources:
docs.github.com/rest/issues/issues, /rest/search/search#search-issues-and-pull-requests, /rest/using-the-rest-api.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit
from uuid import UUID

from django.conf import settings

from finops.issues.content import IssueContent
from finops.issues.markdown import markdown
from finops.issues.tracker_configs import GitHubConfig
from finops.issues.vendors.client import TrackerApi, TrackerRefusal, TrackerUnavailable
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

PUBLIC_API: Final = "https://api.github.com"
PAGE: Final = 100
MAX_PAGES: Final = 20
"""The most pages of one poll; the next poll continues from there."""
MAX_SINGLE_READS: Final = 25
CLOCKS_DIFFER: Final = timedelta(minutes=10)
_DELETED: Final = "The issue was deleted, or the token has no access to it."
_MOVED: Final = "The issue was moved to another repository."
_NOT_PLANNED: Final = frozenset({"not_planned", "duplicate"})
_KEY_FIX: Final = "Enter a new fine-grained token of the repository."
_NO_ISSUES: Final = "Issues are turned off in the repository. Turn them on in its settings."


def api_url(config: GitHubConfig) -> str:
    """Return the API's base URL: a separate host for GitHub Enterprise Cloud with data residency, a path for a server."""
    if not config.server_url:
        return settings.CONNECTOR_BASE_URLS.get("github") or PUBLIC_API
    parts = urlsplit(config.server_url)
    if parts.hostname and parts.hostname.endswith(".ghe.com"):
        return f"{parts.scheme}://api.{parts.netloc.removeprefix('api.')}"
    return f"{config.server_url}/api/v3"


@dataclass
class ListPosition:
    """The position in the list of changed issues: `since` is the last issue's time; page 2 only where a whole page has the
    same time."""

    since: datetime
    page: int = 1

    @property
    def query(self) -> str:
        since = self.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        query = {"state": "all", "sort": "updated", "direction": "asc", "per_page": PAGE, "since": since}
        return urlencode({**query, "page": self.page} if self.page > 1 else query)

    def move_past(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Move to the next page; return False on the last."""
        last = moment(rows[-1].get("updated_at")) if rows else None
        if last and last > self.since:
            self.since, self.page = last, 1
        else:
            self.page += 1
        return len(rows) == PAGE


class GitHubClient(TrackerClient):
    def __init__(self, config: GitHubConfig, secret: str) -> None:
        self.config = config
        self._path = f"/repos/{quote(config.repository)}"
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        self.api = TrackerApi(
            vendor="GitHub", base_url=api_url(config), key_fix=_KEY_FIX, headers=headers, secrets=(secret,)
        )

    def check(self) -> list[TrackerFinding]:
        try:
            value = self.api.get(self._path).value
        except (TrackerRefusal, TrackerUnavailable) as error:
            return [TrackerFinding("Repository", self._repository_problem(error))]
        findings = [TrackerFinding("Repository")]
        if isinstance(value, dict) and value.get("archived"):
            return [TrackerFinding("Repository", "The repository is archived. Unarchive it.")]
        has_issues = not isinstance(value, dict) or value.get("has_issues") is not False
        findings.append(TrackerFinding("Issues", "" if has_issues else _NO_ISSUES))
        return [*findings, self._check_write()] if has_issues else findings

    def _repository_problem(self, error: TrackerRefusal | TrackerUnavailable) -> str:
        if isinstance(error, TrackerRefusal) and error.status in (301, 404):
            return (
                f"{self.config.repository} was not found. Check the name and the token's repository access."
            )
        return error.message

    def _check_write(self) -> TrackerFinding:
        """Check the permission to create issues: GitHub refuses one without a title as invalid (422) if the token may
        create issues, else as forbidden."""
        label = "Permission to create issues"
        try:
            self.api.post(f"{self._path}/issues", {})
        except TrackerRefusal as error:
            if error.status == 422:
                return TrackerFinding(label)
            if error.status in (403, 404):
                return TrackerFinding(
                    label, "The token does not have the repository permission Issues: Read and write."
                )
            return TrackerFinding(label, error.message)
        except TrackerUnavailable as error:
            return TrackerFinding(label, error.message)
        return TrackerFinding(label)

    def find(self, marker: str, since: datetime) -> RemoteIssue | None:
        rows, _position = self._rows_since(ListPosition(since - CLOCKS_DIFFER))
        with_marker = [row for row in rows if _has(row, marker)] or self._search(marker)
        return matching([self._issue(row) for row in with_marker], since)

    def _search(self, marker: str) -> list[Mapping[str, Any]]:
        text = f'"{marker}" in:body repo:{self.config.repository} is:issue'
        value = self.api.get("/search/issues", query=urlencode({"q": text, "per_page": 10})).value
        rows = value.get("items", []) if isinstance(value, dict) else []
        return [row for row in rows if _has(row, marker)]

    def create(self, content: IssueContent, marker: str, request_id: UUID) -> RemoteIssue:
        """Create an issue. Raises TrackerRefusal, and TrackerUnavailable also for a response without the issue."""
        body = {"title": content.title, "body": markdown(content, marker)}
        try:
            value = self.api.post(f"{self._path}/issues", body).value
        except TrackerRefusal as error:
            raise self._explain(error) from error
        if not isinstance(value, dict) or "number" not in value:
            raise TrackerUnavailable("GitHub returned no issue. The next attempt searches for it first.")
        return self._issue(value)

    def changes(
        self, ids: Sequence[str], unchecked_ids: Sequence[str], cursor: Mapping[str, Any]
    ) -> TrackerChanges:
        since = moment(cursor.get("since"))
        if since is None:
            cursor = {"since": (clock.now() - CLOCKS_DIFFER).isoformat()}
            return TrackerChanges(issues=self._read_each(ids[:MAX_SINGLE_READS]), cursor=cursor)
        position = ListPosition(since)
        try:
            first = self.api.get(
                f"{self._path}/issues", query=position.query, headers=_etag_header(cursor), accept=(304,)
            )
        except TrackerRefusal as error:
            raise self._explain(error) from error
        rows: list[Mapping[str, Any]] = []
        etag = cursor.get("etag", "")
        if first.status != 304:
            rows = list(first.value or [])
            etag = first.headers.get("etag", "")
            if position.move_past(rows):
                more, position = self._rows_since(position)
                rows += more
            etag = etag if position.since == since else ""
        id_set = set(ids)
        changed = {issue.id: issue for issue in map(self._issue, rows) if issue.id in id_set}
        changed |= self._read_each([each for each in unchecked_ids if each not in changed][:MAX_SINGLE_READS])
        return TrackerChanges(issues=changed, cursor={"since": position.since.isoformat(), "etag": etag})

    def _rows_since(self, position: ListPosition) -> tuple[list[Mapping[str, Any]], ListPosition]:
        rows: list[Mapping[str, Any]] = []
        for _number in range(MAX_PAGES):
            try:
                page = self.api.get(f"{self._path}/issues", query=position.query).value or []
            except TrackerRefusal as error:
                raise self._explain(error) from error
            rows += page
            if not position.move_past(page):
                break
        return rows, position

    def _read_each(self, numbers: Sequence[str]) -> dict[str, RemoteIssue]:
        return {number: self._read(number) for number in numbers}

    def _read(self, number: str) -> RemoteIssue:
        try:
            answer = self.api.get(f"{self._path}/issues/{quote(number)}", accept=(301, 404, 410))
        except TrackerRefusal as error:
            raise self._explain(error) from error
        if answer.status == 200 and isinstance(answer.value, dict):
            return self._issue(answer.value)
        note = _MOVED if answer.status == 301 else _DELETED
        return RemoteIssue(id=number, key=f"#{number}", url="", state="missing", note=note)

    def _issue(self, row: Mapping[str, Any]) -> RemoteIssue:
        number, reason = str(row.get("number", "")), str(row.get("state_reason") or "")
        closed = row.get("state") == "closed"
        state = "open" if not closed else "not_planned" if reason in _NOT_PLANNED else "completed"
        return RemoteIssue(
            id=number,
            key=f"#{number}",
            url=str(row.get("html_url", "")),
            state=state,  # type: ignore[arg-type] # three of the four
            status=reason.replace("_", " ") if closed and reason else str(row.get("state", "")),
            created_at=moment(row.get("created_at")),
            closed_at=closing_moment(row.get("closed_at")) if closed else None,
        )

    def _explain(self, error: TrackerRefusal) -> TrackerRefusal:
        """Return what to do about the status of a repository's response."""
        texts = {
            403: f"The token does not have the repository permission Issues: Read and write. GitHub: {error.words}",
            404: f"{self.config.repository} is not found, or the token has no access to it.",
            410: _NO_ISSUES,
        }
        text = texts.get(error.status)
        return TrackerRefusal(text, status=error.status, words=error.words) if text else error


def _has(row: Mapping[str, Any], marker: str) -> bool:
    return "pull_request" not in row and marker in str(row.get("body") or "")


def _etag_header(cursor: Mapping[str, Any]) -> dict[str, str]:
    etag = str(cursor.get("etag") or "")
    return {"If-None-Match": etag} if etag else {}
