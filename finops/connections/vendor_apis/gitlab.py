"""GitLab's REST API for change events: releases, deployments and merge requests of a project.

Sources: docs.gitlab.com/api/deployments, /api/releases, /api/merge_requests, /api/projects, /security/rate_limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import TypeVar

import msgspec

from finops.connections.connector import SourceError
from finops.connections.transports.event_lines import PulledEvent, web_address
from finops.connections.transports.http import Params, path_part
from finops.connections.transports.page_cache import CachingApi
from finops.connections.vendor_apis.code_hosts import (
    PAGE,
    Repository,
    explain_missing,
    midnight,
    numbered_pages,
    rate_limit,
    short_ref,
    while_after,
)
from finops.lib import clock
from finops.lib.outbound import ResponseStream

T = TypeVar("T")


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


@dataclass(frozen=True)
class ProjectEvents:
    """Events of the chosen kinds of one project."""

    api: GitLabApi
    repository: Repository
    environments: frozenset[str] = frozenset()
    """Environments of deployments, in lower case; empty: all."""

    def check(self) -> None:
        """Test access. Raises the errors of `HttpApi.get`, and AccessError if the project is not visible."""
        self._project  # noqa: B018 the request

    def releases(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("order_by", "released_at"), ("sort", "desc")]
        rows = self._pages("/releases", newest, _Release, "releases")
        for each in while_after(rows, lambda row: row.released_at, midnight(first)):
            if each.released_at > clock.now():
                continue  # planned
            yield self._event(
                kind="release",
                title=f"{self.repository.short_name} {each.name or each.tag_name}",
                # A release has no number of its own; a project keeps its when it is moved.
                event_id=f"release/{self._project.id}/{each.tag_name}",
                occurred_at=each.released_at,
                actor=each.author,
                url=web_address(each.links.own),
            )

    def deployments(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("order_by", "created_at"), ("sort", "desc")]
        rows = self._pages("/deployments", newest, _Deployment, "deployments")
        for each in while_after(rows, lambda row: row.created_at, midnight(first)):
            environment = each.environment.name
            if self.environments and environment.casefold() not in self.environments:
                continue
            pipeline = each.deployable.pipeline if each.deployable else None
            yield self._event(
                kind="deployment",
                title=f"{self.repository.short_name} {short_ref(each.ref)} to {environment}: {each.status}",
                event_id=f"deployment/{each.id}",
                occurred_at=each.created_at,
                actor=each.user,
                url=web_address(pipeline and pipeline.web_url, f"{self._project.web_url}/-/environments"),
            )

    def merge_requests(self, first: date, _last: date) -> Iterator[PulledEvent]:
        newest: Params = [("state", "merged"), ("order_by", "updated_at"), ("sort", "desc")]
        rows = self._pages("/merge_requests", newest, _MergeRequest, "merge requests")
        for each in while_after(rows, lambda row: row.updated_at, midnight(first)):
            if each.merged_at is not None:
                yield self._event(
                    kind="change",
                    title=f"{self.repository.short_name} !{each.iid}: {each.title}",
                    event_id=f"merge_request/{each.id}",
                    occurred_at=each.merged_at,
                    actor=each.author,
                    url=web_address(each.web_url),
                )

    @cached_property
    def _project(self) -> _Project:
        with explain_missing("GitLab", self.repository, "trace"):
            return self.api.get_page(self._path, [], _Project)

    def _pages(self, path: str, params: Params, type_: type[T], what: str) -> Iterator[T]:
        def page(number: int) -> Sequence[T]:
            asked: Params = [*params, ("per_page", PAGE), ("page", number)]
            rows: list[T] = self.api.get_page(f"{self._path}{path}", asked, list[type_])  # type: ignore[valid-type]
            return rows

        with explain_missing("GitLab", self.repository, what):
            yield from numbered_pages(page)

    def _event(
        self, *, kind: str, title: str, event_id: str, occurred_at: datetime, actor: _User | None, url: str
    ) -> PulledEvent:
        return PulledEvent(
            kind=kind,
            title=title,
            event_id=event_id,
            occurred_at=occurred_at,
            actor=actor.username if actor else "",
            url=url,
            scope=self.repository.scope,
        )

    @property
    def _path(self) -> str:
        return f"/api/v4/projects/{path_part(self.repository.name)}"
