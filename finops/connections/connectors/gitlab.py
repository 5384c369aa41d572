"""GitLab, gitlab.com and self-managed: deployments, releases and merged merge requests of projects, as change events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from typing import Annotated, Final

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import (
    HEADER_PATTERN,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SecretText,
    SetupStep,
)
from finops.connections.transports.event_lines import EventList, PulledEvent, listed_months, write_month
from finops.connections.vendor_apis.code_hosts import (
    MAX_TEXT,
    SCOPE_HINT,
    EnvironmentNames,
    Repository,
    names_of,
    newest_event,
    repositories_of,
)
from finops.connections.vendor_apis.gitlab import GitLabApi, ProjectEvents
from finops.costs.focus.normalise import FocusFile

BASE_URL: Final = "https://gitlab.com"
_EXAMPLE: Final = "acme/shop/checkout service=Amazon ECS; tag:team=payments"
_PROJECT: Final = re.compile(r"[\w.+-]{1,255}(/[\w.+-]{1,255}){1,20}")


class GitLabEventsConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A token and projects."""

    projects: Annotated[
        str,
        msgspec.Meta(title="Projects", description=SCOPE_HINT, examples=[_EXAMPLE], max_length=MAX_TEXT),
    ]
    token: Annotated[
        SecretText,
        msgspec.Meta(
            title="Access token",
            description="Of a project, a group or a person, with the scope read_api and the role Reporter.",
            examples=["glpat-…"],
            min_length=8,
            max_length=400,
            pattern=HEADER_PATTERN,
        ),
    ]
    deployments: Annotated[bool, msgspec.Meta(title="Deployments")] = True
    environments: EnvironmentNames = ""
    releases: Annotated[bool, msgspec.Meta(title="Releases")] = True
    merge_requests: Annotated[bool, msgspec.Meta(title="Merged merge requests")] = True
    url: Annotated[
        str,
        msgspec.Meta(
            title="Server URL",
            description="Of a self-managed GitLab. Default: gitlab.com. Private networks need the operator's permission.",
            examples=["https://gitlab.example.com"],
            pattern=r"^(https?://[^\s?#@]+)?$",
            max_length=500,
        ),
    ] = ""

    def __post_init__(self) -> None:
        repositories_of(self.projects, _PROJECT, _EXAMPLE)
        if not (self.deployments or self.releases or self.merge_requests):
            raise ValueError("Choose a kind of events")

    @property
    def repository_list(self) -> list[Repository]:
        return repositories_of(self.projects, _PROJECT, _EXAMPLE)


class GitLab(Connector[GitLabEventsConfig]):
    name = "gitlab"
    title = "GitLab"
    provider = "GitLab"
    icon = "brand-gitlab"
    docs_url = "https://docs.gitlab.com/user/project/settings/project_access_tokens/"
    description = "Change events: deployments, releases and merged merge requests."
    order = 920
    contents = Contents.CHANGE_EVENTS
    changes_while_read = True
    caches_pages = True
    Config = GitLabEventsConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create an access token",
                "In the project or group, open Settings > Access tokens. Choose the role Reporter and the scope read_api, and "
                "nothing else.",
            ),
            SetupStep("Enter the token", "Stored encrypted and never shown again."),
        )

    def check(self, config: GitLabEventsConfig) -> list[CheckFinding]:
        with check_list() as checks:
            api = _api(config).for_check()
            first, *others = _projects(api, config)
            checks.attempt(f"Read {first.repository.name}", first.check)
            for title, events in _lists(first, config).items():
                checks.attempt(f"Read {title} of {first.repository.name}", partial(newest_event, events))
            for other in others:
                checks.attempt(f"Read {other.repository.name}", other.check)
        return checks.findings

    def months(self, config: GitLabEventsConfig) -> list[BillMonth]:
        return listed_months(partial(_events, config, _api(config)))

    def fetch(self, config: GitLabEventsConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        return write_month(fetch, month.month, partial(_events, config, _api(config).for_fetch(fetch)))


def _projects(api: GitLabApi, config: GitLabEventsConfig) -> list[ProjectEvents]:
    return [ProjectEvents(api, each, names_of(config.environments)) for each in config.repository_list]


def _lists(project: ProjectEvents, config: GitLabEventsConfig) -> dict[str, EventList]:
    """Return the lists of the chosen kinds."""
    kinds: dict[str, tuple[bool, EventList]] = {
        "deployments": (config.deployments, project.deployments),
        "releases": (config.releases, project.releases),
        "merge requests": (config.merge_requests, project.merge_requests),
    }
    return {name: events for name, (is_chosen, events) in kinds.items() if is_chosen}


def _events(config: GitLabEventsConfig, api: GitLabApi, first: date, last: date) -> Iterator[PulledEvent]:
    for project in _projects(api, config):
        for events in _lists(project, config).values():
            yield from events(first, last)


def _api(config: GitLabEventsConfig) -> GitLabApi:
    return GitLabApi(
        # The operator's test address replaces gitlab.com only, not a self-managed server.
        connector="" if config.url else GitLab.name,
        vendor="GitLab",
        base_url=config.url or BASE_URL,
        headers={"PRIVATE-TOKEN": config.token},
        secrets=(config.token,),
        key_fix="Create an access token with the scope read_api and enter it in this connection.",
        scope_fix="Give the token the scope read_api and the role Reporter, and turn the project's feature on.",
    )
