"""GitLab, gitlab.com and self-managed: deployments, releases and merged merge requests of projects, as change events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

from finops.connections.checks import CheckList
from finops.connections.connector import (
    HEADER_PATTERN,
    ConfigError,
    ConnectorConfig,
    SecretText,
    SetupStep,
)
from finops.connections.transports.event_lines import EventList
from finops.connections.transports.page_cache import CachingApi
from finops.connections.vendor_apis.code_hosts import (
    MAX_TEXT,
    SCOPE_HINT,
    CodeHostConnector,
    EnvironmentNames,
    Repository,
    check_repositories,
    names_of,
    repositories_of,
)
from finops.connections.vendor_apis.gitlab import GitLabApi, GitLabEvents

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
        check_repositories("projects", self.projects, _PROJECT, _EXAMPLE)
        if not (self.deployments or self.releases or self.merge_requests):
            raise ConfigError("Choose a kind of events", field="deployments")

    @property
    def repository_list(self) -> list[Repository]:
        return repositories_of(self.projects, _PROJECT, _EXAMPLE)


class GitLab(CodeHostConnector[GitLabEventsConfig, GitLabEvents]):
    name = "gitlab"
    title = "GitLab"
    provider = "GitLab"
    icon = "brand-gitlab"
    docs_url = "https://docs.gitlab.com/user/project/settings/project_access_tokens/"
    description = "Change events: deployments, releases and merged merge requests."
    order = 920
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

    def api(self, config: GitLabEventsConfig) -> GitLabApi:
        return GitLabApi(
            # The operator's test address replaces gitlab.com only, not a self-managed server.
            connector="" if config.url else self.name,
            vendor="GitLab",
            base_url=config.url or BASE_URL,
            headers={"PRIVATE-TOKEN": config.token},
            secrets=(config.token,),
            key_fix="Create an access token with the scope read_api and enter it in this connection.",
            scope_fix="Give the token the scope read_api and the role Reporter, and turn the project's feature on.",
        )

    def repositories(self, api: CachingApi, config: GitLabEventsConfig) -> list[GitLabEvents]:
        environments = names_of(config.environments)
        return [
            GitLabEvents(api=api, repository=each, environments=environments)
            for each in config.repository_list
        ]

    def lists(
        self, repository: GitLabEvents, config: GitLabEventsConfig
    ) -> dict[str, tuple[bool, EventList]]:
        return {
            "deployments": (config.deployments, repository.deployments),
            "releases": (config.releases, repository.releases),
            "merge requests": (config.merge_requests, repository.merge_requests),
        }

    def check_access(self, checks: CheckList, config: GitLabEventsConfig) -> list[GitLabEvents]:
        projects = self.repositories(self.api(config).for_check(), config)
        checks.attempt(f"Read {projects[0].repository.name}", projects[0].check)
        return projects
