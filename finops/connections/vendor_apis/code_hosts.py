"""Common parts of connectors to code hosts (GitHub, GitLab): repositories with their scope and their lists of events, the
connector itself, and rate limits."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Annotated, Final, Generic, TypeVar

import msgspec

from finops.change_events.event_rules import violation
from finops.connections.checks import CheckList, check_list
from finops.connections.connector import (
    AccessError,
    BillMonth,
    C,
    CheckFinding,
    ConfigError,
    Connector,
    Contents,
    Fetch,
    SourceError,
    SourceUnavailable,
)
from finops.connections.transports.event_lines import EventList, PulledEvent, listed_months, write_month
from finops.connections.transports.http import Params, RequestRefusal
from finops.connections.transports.page_cache import CachingApi
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock, outbound
from finops.lib.sentences import quote

PAGE: Final = 100
MAX_PAGES: Final = 1_000
MAX_REPOSITORIES: Final = 100
RATE_LIMIT_SECONDS: Final = 60.0
"""Seconds to wait for a rate limit without a reset time."""

SCOPE_HINT: Final = (
    "One per line, then its cost as dimension=value, separated by semicolons. Default: all cost."
)
MAX_TEXT: Final = 20_000
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

T = TypeVar("T")

EnvironmentNames = Annotated[
    str,
    msgspec.Meta(
        title="Environments",
        description="Separated by commas. Default: all.",
        examples=["production"],
        max_length=500,
    ),
]


@dataclass(frozen=True)
class Repository:
    """A repository. `name` is its path at the host; `scope` is the cost that its events are about."""

    name: str
    scope: dict[str, list[str]]

    @property
    def short_name(self) -> str:
        return self.name.rpartition("/")[2]


@dataclass(frozen=True)
class RepositoryEvents(ABC):
    """Events of the chosen kinds of one repository."""

    api: CachingApi
    repository: Repository
    environments: frozenset[str] = frozenset()
    """Environments of deployments, in lower case; empty: all."""

    @property
    @abstractmethod
    def path(self) -> str:
        """Path of the repository at the API."""

    @abstractmethod
    def check(self) -> None:
        """Test access. Raises the errors of `HttpApi.get`, and AccessError if the repository is not visible."""

    def rows(self, path: str, params: Params, type_: type[T], permission: str) -> Iterator[T]:
        """Return all entries of a list of the repository. Raises as `check`; the error names the permission."""

        def page(number: int) -> Sequence[T]:
            page_params: Params = [*params, ("per_page", PAGE), ("page", number)]
            rows: list[T] = self.api.get_page(f"{self.path}{path}", page_params, list[type_])  # type: ignore[valid-type]
            return rows

        with explain_missing(self.api.vendor, self.repository, permission):
            yield from numbered_pages(page)

    def has_environment(self, name: str) -> bool:
        return not self.environments or name.casefold() in self.environments

    def event(
        self, *, kind: str, title: str, event_id: str, occurred_at: datetime, actor: str, url: str
    ) -> PulledEvent:
        """Return an event with the repository's name before its title and the repository's scope."""
        return PulledEvent(
            kind=kind,
            title=f"{self.repository.short_name} {title}",
            event_id=event_id,
            occurred_at=occurred_at,
            actor=actor,
            url=url,
            scope=self.repository.scope,
        )


R = TypeVar("R", bound=RepositoryEvents)


class CodeHostConnector(Connector[C], Generic[C, R]):
    """A code host whose repositories have lists of events."""

    contents = Contents.CHANGE_EVENTS
    changes_while_read = True
    caches_pages = True

    @abstractmethod
    def api(self, config: C) -> CachingApi:
        """Raises SourceError for an invalid credential."""

    @abstractmethod
    def repositories(self, api: CachingApi, config: C) -> list[R]:
        """Return the repositories of the settings, at least one."""

    @abstractmethod
    def lists(self, repository: R, config: C) -> dict[str, tuple[bool, EventList]]:
        """Return the lists of a repository by the name of their kind of events, and whether the settings choose it."""

    @abstractmethod
    def check_access(self, checks: CheckList, config: C) -> list[R]:
        """Check the credential, before the lists of events. Returns the repositories, for a person who waits."""

    def check(self, config: C) -> list[CheckFinding]:
        with check_list() as checks:
            first, *other_repositories = self.check_access(checks, config)
            for title, events in self._chosen_lists(first, config).items():
                checks.attempt(f"Read {title} of {first.repository.name}", partial(newest_event, events))
            for other in other_repositories:
                checks.attempt(f"Read {other.repository.name}", other.check)
        return checks.findings

    def months(self, config: C) -> list[BillMonth]:
        return listed_months(partial(self._events, self.api(config), config))

    def fetch(self, config: C, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        api = self.api(config).for_fetch(fetch)
        return write_month(fetch, month.month, partial(self._events, api, config))

    def _chosen_lists(self, repository: R, config: C) -> dict[str, EventList]:
        lists = self.lists(repository, config)
        return {name: events for name, (is_chosen, events) in lists.items() if is_chosen}

    def _events(self, api: CachingApi, config: C, first: date, last: date) -> Iterator[PulledEvent]:
        for repository in self.repositories(api, config):
            for events in self._chosen_lists(repository, config).values():
                yield from events(first, last)


def repositories_of(text: str, pattern: re.Pattern[str], example: str) -> list[Repository]:
    """Parse repositories from a setting, one per line: `acme/checkout service=Amazon ECS; tag:team=payments`. Raises
    ValueError with what to enter."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_REPOSITORIES:
        raise ValueError(f"At most {MAX_REPOSITORIES} repositories a connection. Add another connection")
    repositories = [_repository_of(line, pattern, example) for line in lines]
    names = [each.name.casefold() for each in repositories]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise ValueError(f"{quote(twice)} appears twice. Write its scope on one line")
    return repositories


def check_repositories(field: str, text: str, pattern: re.Pattern[str], example: str) -> None:
    """Check the repositories of a config's field. Raises ConfigError with what to enter."""
    try:
        repositories_of(text, pattern, example)
    except ValueError as error:
        raise ConfigError(str(error), field=field) from error


def _repository_of(line: str, pattern: re.Pattern[str], example: str) -> Repository:
    name, _blank, scope_text = line.strip().partition(" ")
    if not pattern.fullmatch(name):
        raise ValueError(f"{quote(name[:60])} is no repository. For example: {example}")
    scope: dict[str, list[str]] = {}
    for part in filter(None, map(str.strip, scope_text.split(";"))):
        dimension, equals, value = (each.strip() for each in part.partition("="))
        if not (equals and dimension and value):
            raise ValueError(f"{quote(part[:60])} is no scope. Write dimension=value, for example: {example}")
        scope.setdefault(dimension, []).append(value)
    if problem := violation({"kind": "note", "title": name, "scope": scope}):
        raise ValueError(f"{name}: {problem}")
    return Repository(name, scope)


def names_of(text: str) -> frozenset[str]:
    """Return comma-separated names in lower case."""
    return frozenset(filter(None, (each.strip().casefold() for each in text.split(","))))


def short_ref(ref: str) -> str:
    """Return a branch or tag unchanged, a commit as its first seven digits."""
    return ref[:7] if _COMMIT.fullmatch(ref) else ref


def numbered_pages(page_of: Callable[[int], Sequence[T]]) -> Iterator[T]:
    """Return the entries of a list in pages of PAGE, until a page is not full. Raises SourceError beyond MAX_PAGES."""
    for number in range(1, MAX_PAGES + 1):
        page = page_of(number)
        yield from page
        if len(page) < PAGE:
            return
    raise SourceError(
        f"A list has more than {MAX_PAGES * PAGE:,} entries, the limit. Choose fewer kinds of events."
    )


def entries_since(rows: Iterable[T], moment_of: Callable[[T], datetime], first: datetime) -> Iterator[T]:
    """Return the entries of a descending list from a moment on."""
    for row in rows:
        if moment_of(row) < first:
            return
        yield row


def midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def newest_event(events: EventList) -> PulledEvent | None:
    """Return the newest entry, to test whether the list can be read. One page."""
    today = clock.today()
    return next(iter(events(today, today)), None)


@contextmanager
def explain_missing(vendor: str, repository: Repository, permission: str) -> Iterator[None]:
    """Raises AccessError for a repository that is not visible to the credential, or was moved."""
    try:
        yield
    except RequestRefusal as error:
        if error.status not in (301, 302, 307, 308, 404):
            raise
        raise AccessError(
            f"{vendor} shows no {permission} of {repository.name}. Check its name, which changes when it is moved, and that the "
            "credential has access to it."
        ) from error


def rate_limit(vendor: str, headers: Mapping[str, str]) -> SourceUnavailable | None:
    """Return the error of a response whose headers report a reached rate limit and its end: Retry-After, or
    (X-)RateLimit-Remaining and -Reset (seconds since 1970). None for other responses."""
    seconds = outbound.retry_after(headers)
    if not seconds and _number(headers, "remaining") == 0:
        reset = _number(headers, "reset") or 0
        seconds = max(1.0, reset - clock.now().timestamp())
    return rate_limit_error(vendor, seconds) if seconds else None


def rate_limit_error(vendor: str, seconds: float = RATE_LIMIT_SECONDS) -> SourceUnavailable:
    failure = SourceUnavailable(
        f"{vendor}'s rate limit is reached. The next sync continues once it is reset. If it fails again, sync less often, or "
        "choose fewer repositories."
    )
    failure.retry_after = seconds
    return failure


def _number(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(f"x-ratelimit-{name}") or headers.get(f"ratelimit-{name}") or ""
    return int(text[:12]) if text.isascii() and text.isdigit() else None
