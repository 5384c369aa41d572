"""GitHub's REST API for change events: releases, deployments and pull requests of a repository.

Lists are read from the newest entry: deployments back to the first day, pull requests by their last update, which includes the
merge; releases completely, since they are listed by the commit's date. A deployment has its last status other than `inactive`,
which only means that another deployment followed. Sources: docs.github.com/rest/releases/releases, /rest/deployments,
/rest/pulls/pulls, /rest/using-the-rest-api (rate limits, best practices).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from urllib.parse import quote

import msgspec

from finops.connections.connector import SourceError
from finops.connections.transports.event_lines import PulledEvent, web_address
from finops.connections.transports.page_cache import CachingApi
from finops.connections.vendor_apis.code_hosts import (
    PAGE,
    RepositoryEvents,
    entries_since,
    explain_missing,
    midnight,
    rate_limit,
    rate_limit_error,
    short_ref,
)
from finops.lib.outbound import ResponseStream


class _User(msgspec.Struct, frozen=True):
    login: str


class _Release(msgspec.Struct, frozen=True):
    id: int
    tag_name: str
    html_url: str
    name: str | None = None
    draft: bool = False
    prerelease: bool = False
    published_at: datetime | None = None
    author: _User | None = None


class _Deployment(msgspec.Struct, frozen=True):
    id: int
    created_at: datetime
    ref: str
    environment: str
    creator: _User | None = None


class _Status(msgspec.Struct, frozen=True):
    id: int
    state: str
    log_url: str | None = None
    target_url: str | None = None


class _PullRequest(msgspec.Struct, frozen=True):
    id: int
    number: int
    title: str
    html_url: str
    updated_at: datetime
    merged_at: datetime | None = None
    user: _User | None = None


@dataclass(frozen=True, kw_only=True)
class GitHubApi(CachingApi):
    """The REST API. GitHub uses status 403 for rate limits too."""

    def _error_of(self, response: ResponseStream) -> SourceError:
        limit = rate_limit(self.vendor, response.headers) if response.status in (403, 429) else None
        return limit or super()._error_of(response)

    def _refusal(self, reason: str, words: str) -> SourceError | None:
        return rate_limit_error(self.vendor) if "rate limit" in words.casefold() else None


@dataclass(frozen=True, kw_only=True)
class GitHubEvents(RepositoryEvents):
    """Events of one repository. `web_url` is the address of the server's pages."""

    web_url: str

    @property
    def path(self) -> str:
        return f"/repos/{quote(self.repository.name)}"

    def check(self) -> None:
        with explain_missing(self.api.vendor, self.repository, "trace"):
            self.api.get(self.path, [], dict)

    def releases(self, _first: date, _last: date) -> Iterator[PulledEvent]:
        for each in self.rows("/releases", [], _Release, "releases"):
            if each.draft or each.published_at is None:
                continue
            title = each.name or each.tag_name
            yield self.event(
                kind="release",
                title=f"{title} (pre-release)" if each.prerelease else title,
                event_id=f"release/{each.id}",
                occurred_at=each.published_at,
                actor=_login(each.author),
                url=web_address(each.html_url),
            )

    def deployments(self, first: date, last: date) -> Iterator[PulledEvent]:
        rows = self.rows("/deployments", [], _Deployment, "deployments")
        for each in entries_since(rows, lambda row: row.created_at, midnight(first)):
            if each.created_at.astimezone(UTC).date() > last:
                continue  # its status takes a separate request
            if not self.has_environment(each.environment):
                continue
            status = self._status(each)
            state = status.state if status else "pending"
            yield self.event(
                kind="deployment",
                title=f"{short_ref(each.ref)} to {each.environment}: {state}",
                event_id=f"deployment/{each.id}",
                occurred_at=each.created_at,
                actor=_login(each.creator),
                url=web_address(
                    status and status.log_url, status and status.target_url, self._deployments_page
                ),
            )

    def pull_requests(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest = [("state", "closed"), ("sort", "updated"), ("direction", "desc")]
        rows = self.rows("/pulls", newest, _PullRequest, "pull requests")
        for each in entries_since(rows, lambda row: row.updated_at, midnight(first)):
            if each.merged_at is not None:
                yield self.event(
                    kind="change",
                    title=f"#{each.number}: {each.title}",
                    event_id=f"pull/{each.id}",
                    occurred_at=each.merged_at,
                    actor=_login(each.user),
                    url=web_address(each.html_url),
                )

    def _status(self, deployment: _Deployment) -> _Status | None:
        """Return the last status other than `inactive`. A successful deployment is not read again: only `inactive` can follow."""
        statuses = self.api.get_page(
            f"{self.path}/deployments/{deployment.id}/statuses",
            [("per_page", PAGE)],
            list[_Status],
            lambda rows: (newest := _newest(rows)) is not None and newest.state == "success",
        )
        return _newest(statuses)

    @property
    def _deployments_page(self) -> str:
        return f"{self.web_url}/{self.repository.name}/deployments"


def _login(user: _User | None) -> str:
    return user.login if user else ""


def _newest(statuses: Sequence[_Status]) -> _Status | None:
    return max(
        (each for each in statuses if each.state != "inactive"), key=lambda each: each.id, default=None
    )
