"""Jira Cloud's REST API 3, with the email address and API token of a person.

States are read by bulkfetch, up to 100 issues a request, by id: it reads the database. A search (`key in (…)`) reads an
index, fails completely for one deleted key, and does not follow an issue to another project. Sources:
developer.atlassian.com/cloud/jira/platform/rest/v3, groups Issues, Issue search, Projects, Permissions.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote, urlencode
from uuid import UUID

from finops.issues.atlassian_document import atlassian_document
from finops.issues.content import IssueContent
from finops.issues.tracker_configs import JiraConfig
from finops.issues.vendors.client import TrackerApi, TrackerError, TrackerRefusal, TrackerUnavailable
from finops.issues.vendors.remote import (
    RemoteIssue,
    TrackerChanges,
    TrackerClient,
    TrackerFinding,
    closing_moment,
    matching,
    moment,
)
from finops.lib.errors import nearest_choices
from finops.lib.sentences import join_with_and
from finops.lib.sentences import quote as quote_text

BATCH: Final = 100
_FIELDS: Final = ["status", "resolution", "resolutiondate", "created"]
_OURS: Final = frozenset({"summary", "description", "project", "issuetype", "reporter"})
_MISSING: Final = "The issue was deleted, or the token's owner has no access to it."


class JiraClient(TrackerClient):
    def __init__(self, config: JiraConfig, secret: str) -> None:
        self.config = config
        basic = base64.b64encode(f"{config.email}:{secret}".encode()).decode()
        self.api = TrackerApi(
            vendor="Jira",
            base_url=config.site_url,
            key_fix="Create a new API token at id.atlassian.com, and enter it with the email address of its owner.",
            headers={"Authorization": f"Basic {basic}"},
            secrets=(secret, basic),
        )

    def check(self) -> list[TrackerFinding]:
        findings: list[TrackerFinding] = []
        try:
            findings.extend(self._findings())
        except TrackerError as error:
            findings.append(TrackerFinding("Sign-in", error.message))
        return findings

    def _findings(self) -> Iterator[TrackerFinding]:
        self.api.get("/rest/api/3/myself")
        yield TrackerFinding("Sign-in")
        key = self.config.project_key
        try:
            project = self.api.get(f"/rest/api/3/project/{quote(key)}").value or {}
        except TrackerRefusal as error:
            if error.status != 404:
                raise
            yield TrackerFinding(
                "Project",
                (f"Project {key} does not exist or {self.config.email} has no access. Check the key."),
            )
            return
        yield TrackerFinding("Project")
        yield self._permission(key)
        types = {str(each.get("name")): str(each.get("id")) for each in project.get("issueTypes", [])}
        type_id = next(
            (types[name] for name in types if name.casefold() == self.config.issue_type.casefold()), ""
        )
        yield TrackerFinding("Issue type", "" if type_id else self._type_problem(list(types)))
        if type_id:
            yield self._required_fields(key, type_id)

    def _permission(self, key: str) -> TrackerFinding:
        query = urlencode({"projectKey": key, "permissions": "CREATE_ISSUES"})
        value = self.api.get("/rest/api/3/mypermissions", query=query).value or {}
        has = value.get("permissions", {}).get("CREATE_ISSUES", {}).get("havePermission")
        problem = f"{self.config.email} needs the project permission Create issues."
        return TrackerFinding("Permission to create issues", "" if has else problem)

    def _type_problem(self, names: list[str]) -> str:
        shown = nearest_choices(self.config.issue_type, names) or names[:8]
        types_sentence = f" It has {join_with_and([quote_text(name) for name in shown])}." if shown else ""
        return f"The project does not have the issue type {self.config.issue_type!r}.{types_sentence}"

    def _required_fields(self, key: str, type_id: str) -> TrackerFinding:
        path = f"/rest/api/3/issue/createmeta/{quote(key)}/issuetypes/{quote(type_id)}"
        value = self.api.get(path, query=urlencode({"maxResults": 200})).value or {}
        fields = value.get("fields") or value.get("results") or []
        names = [
            str(each.get("name"))
            for each in fields
            if each.get("required") and not each.get("hasDefaultValue") and each.get("fieldId") not in _OURS
        ]
        problem = (
            f"The issue type requires {join_with_and([quote_text(name) for name in names])}. "
            "Choose another type, or make it optional."
        )
        return TrackerFinding("Required fields", problem if names else "")

    def find(self, marker: str, since: datetime) -> RemoteIssue | None:
        jql = f'project = "{self.config.project_key}" AND description ~ "{marker}" ORDER BY created DESC'
        query = urlencode({"jql": jql, "fields": ",".join(_FIELDS), "maxResults": 10})
        value = self._explain_refusal(lambda: self.api.get("/rest/api/3/search/jql", query=query).value)
        rows = value.get("issues", []) if isinstance(value, dict) else []
        return matching([self._issue(row) for row in rows], since)

    def create(self, content: IssueContent, marker: str, request_id: UUID) -> RemoteIssue:
        """Create an issue. Raises TrackerRefusal, and TrackerUnavailable also for a response without the issue."""
        fields = {
            "project": {"key": self.config.project_key},
            "issuetype": {"name": self.config.issue_type},
            "summary": content.title,
            "description": atlassian_document(content, marker),
        }
        value = self._explain_refusal(lambda: self.api.post("/rest/api/3/issue", {"fields": fields}).value)
        if not isinstance(value, dict) or "id" not in value:
            raise TrackerUnavailable("Jira returned no issue. The next attempt searches for it first.")
        key = str(value.get("key", ""))
        return RemoteIssue(id=str(value["id"]), key=key, url=self._url(key), state="open")

    def changes(
        self, ids: Sequence[str], unchecked_ids: Sequence[str], cursor: Mapping[str, Any]
    ) -> TrackerChanges:
        issues: dict[str, RemoteIssue] = {}
        for start in range(0, len(ids), BATCH):
            issues |= self._states(ids[start : start + BATCH])
        return TrackerChanges(issues=issues)

    def _states(self, ids: Sequence[str]) -> dict[str, RemoteIssue]:
        body = {"issueIdsOrKeys": list(ids), "fields": _FIELDS}
        value = self._explain_refusal(lambda: self.api.post("/rest/api/3/issue/bulkfetch", body).value) or {}
        present = {each.id: each for each in map(self._issue, value.get("issues", []))}
        later = {str(each.get("id")) for each in value.get("issueErrors", [])}
        missing = {
            each: RemoteIssue(id=each, key="", url="", state="missing", note=_MISSING)
            for each in ids
            if each not in present and each not in later
        }
        return {**missing, **{key: issue for key, issue in present.items() if key in set(ids)}}

    def _issue(self, row: Mapping[str, Any]) -> RemoteIssue:
        fields = row.get("fields") or {}
        status, key = fields.get("status") or {}, str(row.get("key", ""))
        done = (status.get("statusCategory") or {}).get("key") == "done"
        resolution = str((fields.get("resolution") or {}).get("name", ""))
        not_planned = self.config.is_not_planned(resolution, str(status.get("name", "")))
        return RemoteIssue(
            id=str(row.get("id", "")),
            key=key,
            url=self._url(key),
            state="open" if not done else "not_planned" if not_planned else "completed",
            status=str(status.get("name", "")),
            created_at=moment(fields.get("created")),
            closed_at=closing_moment(fields.get("resolutiondate")) if done else None,
        )

    def _url(self, key: str) -> str:
        return f"{self.config.site_url}/browse/{quote(key)}"

    def _explain_refusal(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except TrackerRefusal as error:
            project = self.config.project_key
            texts = {
                403: f"{self.config.email} may not do this in project {project}. Jira: {error.words}",
                404: f"Project {project} is not found, or {self.config.email} may not see it any more.",
            }
            if error.status not in texts:
                raise
            raise TrackerRefusal(texts[error.status], status=error.status, words=error.words) from error
