"""GitLab's REST API for change events: releases, deployments and merge requests of a project.

Sources: docs.gitlab.com/api/deployments, /api/releases, /api/merge_requests, /api/projects, /security/rate_limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

import msgspec

from finops.connections.connector import SourceError
from finops.connections.transports.event_lines import PulledEvent, web_address
from finops.connections.transports.http import Params, path_part
from finops.connections.transports.page_cache import CachingApi
from finops.connections.vendor_apis.code_hosts import (
    RepositoryEvents,
    entries_since,
    explain_missing,
    midnight,
    rate_limit,
    short_ref,
)
from finops.lib import clock
from finops.lib.outbound import ResponseStream


class _User(msgspec.Struct, frozen=True):
    username: str


class _Project(msgspec.Struct, frozen=True):
    id: int
    web_url: str = ""


class _Environment(msgspec.Struct, frozen=True):
    name: str


class _Pipeline(msgspec.Struct, frozen=True):
    web_url: str | None = None


class _Job(msgspec.Struct, frozen=True):
    pipeline: _Pipeline | None = None


class _Deployment(msgspec.Struct, frozen=True):
    id: int
    created_at: datetime
    status: str
    ref: str
    environment: _Environment
    user: _User | None = None
    deployable: _Job | None = None


class _Links(msgspec.Struct, frozen=True):
    own: str | None = msgspec.field(name="self", default=None)


class _Release(msgspec.Struct, frozen=True):
    tag_name: str
    released_at: datetime
    name: str | None = None
    author: _User | None = None
    links: _Links = msgspec.field(name="_links", default=_Links())


class _MergeRequest(msgspec.Struct, frozen=True):
    id: int
    iid: int
    title: str
    web_url: str
    updated_at: datetime
    merged_at: datetime | None = None
    author: _User | None = None


@dataclass(frozen=True, kw_only=True)
class GitLabApi(CachingApi):
    def _error_of(self, response: ResponseStream) -> SourceError:
        limit = rate_limit(self.vendor, response.headers) if response.status == 429 else None
        return limit or super()._error_of(response)


@dataclass(frozen=True, kw_only=True)
class GitLabEvents(RepositoryEvents):
    """Events of one project."""

    @property
    def path(self) -> str:
        return f"/api/v4/projects/{path_part(self.repository.name)}"

    def check(self) -> None:
        self._project  # noqa: B018 the request

    def releases(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("order_by", "released_at"), ("sort", "desc")]
        rows = self.rows("/releases", newest, _Release, "releases")
        for each in entries_since(rows, lambda row: row.released_at, midnight(first)):
            if each.released_at > clock.now():
                continue  # planned
            yield self.event(
                kind="release",
                title=each.name or each.tag_name,
                # A release has no ID. The ID of a project stays when it is moved.
                event_id=f"release/{self._project.id}/{each.tag_name}",
                occurred_at=each.released_at,
                actor=_username(each.author),
                url=web_address(each.links.own),
            )

    def deployments(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("order_by", "created_at"), ("sort", "desc")]
        rows = self.rows("/deployments", newest, _Deployment, "deployments")
        for each in entries_since(rows, lambda row: row.created_at, midnight(first)):
            environment = each.environment.name
            if not self.has_environment(environment):
                continue
            pipeline = each.deployable.pipeline if each.deployable else None
            yield self.event(
                kind="deployment",
                title=f"{short_ref(each.ref)} to {environment}: {each.status}",
                event_id=f"deployment/{each.id}",
                occurred_at=each.created_at,
                actor=_username(each.user),
                url=web_address(pipeline and pipeline.web_url, f"{self._project.web_url}/-/environments"),
            )

    def merge_requests(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("state", "merged"), ("order_by", "updated_at"), ("sort", "desc")]
        rows = self.rows("/merge_requests", newest, _MergeRequest, "merge requests")
        for each in entries_since(rows, lambda row: row.updated_at, midnight(first)):
            if each.merged_at is not None:
                yield self.event(
                    kind="change",
                    title=f"!{each.iid}: {each.title}",
                    event_id=f"merge_request/{each.id}",
                    occurred_at=each.merged_at,
                    actor=_username(each.author),
                    url=web_address(each.web_url),
                )

    @cached_property
    def _project(self) -> _Project:
        with explain_missing(self.api.vendor, self.repository, "trace"):
            return self.api.get_page(self.path, [], _Project)


def _username(user: _User | None) -> str:
    return user.username if user else ""
