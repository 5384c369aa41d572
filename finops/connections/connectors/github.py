"""GitHub, github.com and Enterprise Server: deployments, releases and merged pull requests of repositories, as change events.

Pages are cached by their ETag, so a check of unchanged pages does not count towards the rate limit. With an App it does, since each
token has its own ETags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from finops.connections.checks import CheckList
from finops.connections.connector import (
    ConfigError,
    ConnectorConfig,
    SecretText,
    SetupStep,
    shown_for,
)
from finops.connections.transports.event_lines import EventList
from finops.connections.transports.page_cache import CachingApi
from finops.connections.transports.tokens import RenewableToken
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
from finops.connections.vendor_apis.github import GitHubApi, GitHubEvents
from finops.connections.vendor_apis.service_account import rsa_key, signed_jwt
from finops.lib import clock

BASE_URL: Final = "https://api.github.com"
TOKEN_SECONDS: Final = 540
"""Lifetime of the App's own token in seconds; GitHub allows at most ten minutes."""
_EXAMPLE: Final = "acme/checkout service=Amazon ECS; tag:team=payments"
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}")
_HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class GitHubEventsConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A credential and repositories."""

    repositories: Annotated[
        str,
        msgspec.Meta(title="Repositories", description=SCOPE_HINT, examples=[_EXAMPLE], max_length=MAX_TEXT),
    ]
    access: Annotated[
        Literal["token", "app"],
        msgspec.Meta(title="Access", description="A fine-grained personal access token, or a GitHub App."),
    ] = "token"
    token: Annotated[
        SecretText,
        msgspec.Meta(
            title="Personal access token",
            description="Fine-grained, with read access to Contents, Deployments and Pull requests.",
            examples=["github_pat_…"],
            pattern=r"^[!-~]*$",
            max_length=400,
            extra_json_schema=shown_for("access", "token", required=["token"]),
        ),
    ] = ""
    app_id: Annotated[
        str,
        msgspec.Meta(
            title="App ID",
            description="Or the client ID.",
            examples=["123456"],
            max_length=40,
            extra_json_schema=shown_for("access", "app", required=["app"]),
        ),
    ] = ""
    installation_id: Annotated[
        str,
        msgspec.Meta(
            title="Installation ID",
            description="The number at the end of the installation's address.",
            examples=["7654321"],
            pattern=r"^[0-9]*$",
            max_length=20,
            extra_json_schema=shown_for("access", "app", required=["app"]),
        ),
    ] = ""
    private_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Private key of the App",
            description="PEM.",
            examples=["-----BEGIN RSA PRIVATE KEY-----"],  # pragma: allowlist secret
            max_length=10_000,
            extra_json_schema=shown_for("access", "app", required=["app"]),
        ),
    ] = ""
    deployments: Annotated[bool, msgspec.Meta(title="Deployments")] = True
    environments: EnvironmentNames = ""
    releases: Annotated[bool, msgspec.Meta(title="Releases")] = True
    pull_requests: Annotated[bool, msgspec.Meta(title="Merged pull requests")] = True
    url: Annotated[
        str,
        msgspec.Meta(
            title="Server URL",
            description="Of GitHub Enterprise. Default: github.com. Private networks need the operator's permission.",
            examples=["https://github.example.com"],
            pattern=r"^(https?://[^\s?#@]+)?$",
            max_length=500,
        ),
    ] = ""

    def __post_init__(self) -> None:
        check_repositories("repositories", self.repositories, _REPOSITORY, _EXAMPLE)
        if not (self.deployments or self.releases or self.pull_requests):
            raise ConfigError("Choose a kind of events", field="deployments")

    @property
    def repository_list(self) -> list[Repository]:
        return repositories_of(self.repositories, _REPOSITORY, _EXAMPLE)


class _InstallationToken(msgspec.Struct, frozen=True):
    token: str


class GitHub(CodeHostConnector[GitHubEventsConfig, GitHubEvents]):
    name = "github"
    title = "GitHub"
    provider = "GitHub"
    icon = "brand-github"
    docs_url = "https://docs.github.com/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens"
    description = "Change events: deployments, releases and merged pull requests."
    order = 910
    Config = GitHubEventsConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a fine-grained token",
                "In GitHub, open Settings > Developer settings > Fine-grained tokens. Choose the repositories. Grant Read on "
                "Contents (releases), Deployments and Pull requests, and nothing else.",
            ),
            SetupStep(
                "Or install a GitHub App",
                "Create an App with the same permissions and no webhook, install it on the repositories, and generate a private key.",
            ),
            SetupStep("Enter the credential", "Stored encrypted and never shown again."),
        )

    def api(self, config: GitHubEventsConfig) -> GitHubApi:
        is_app = config.access == "app"
        secret = config.private_key if is_app else config.token
        api = GitHubApi(
            # The operator's test address replaces github.com only, not an Enterprise Server.
            connector="" if config.url else self.name,
            vendor="GitHub",
            base_url=api_url(config.url),
            headers=_HEADERS if is_app else {**_HEADERS, "Authorization": f"Bearer {secret}"},
            secrets=(secret,),
            key_fix="Create a fine-grained token, or a private key of the App, and enter it in this connection.",
            scope_fix="Grant Read on Contents, Deployments and Pull requests.",
        )
        if not is_app:
            return api
        rsa_key(config.private_key, "private_key")
        return replace(api, token=RenewableToken(lambda: _installation_token(api, config)))

    def repositories(self, api: CachingApi, config: GitHubEventsConfig) -> list[GitHubEvents]:
        web_url, environments = config.url.rstrip("/") or "https://github.com", names_of(config.environments)
        return [
            GitHubEvents(api=api, repository=each, web_url=web_url, environments=environments)
            for each in config.repository_list
        ]

    def lists(
        self, repository: GitHubEvents, config: GitHubEventsConfig
    ) -> dict[str, tuple[bool, EventList]]:
        return {
            "deployments": (config.deployments, repository.deployments),
            "releases": (config.releases, repository.releases),
            "pull requests": (config.pull_requests, repository.pull_requests),
        }

    def check_access(self, checks: CheckList, config: GitHubEventsConfig) -> list[GitHubEvents]:
        api = checks.attempt("Read the credential", lambda: self.api(config).for_check())
        return self.repositories(api, config)


def api_url(url: str) -> str:
    """Return the API's base URL: Enterprise Cloud with data residency has a host of its own, Enterprise Server a path."""
    if not url:
        return BASE_URL
    parts = urlsplit(url)
    if parts.hostname and parts.hostname.endswith(".ghe.com"):
        return f"{parts.scheme}://api.{parts.netloc.removeprefix('api.')}"
    return f"{url.rstrip('/')}/api/v3"


def _installation_token(api: GitHubApi, config: GitHubEventsConfig) -> str:
    """Return a token that is valid for an hour. One request."""
    now = int(clock.now().timestamp())
    # A minute in the past, because clocks differ.
    claims = {"iat": now - 60, "exp": now + TOKEN_SECONDS, "iss": config.app_id}
    key = rsa_key(config.private_key, "private_key")
    jwt = signed_jwt({"alg": "RS256", "typ": "JWT"}, claims, key)
    signed = replace(api, headers={**_HEADERS, "Authorization": f"Bearer {jwt}"}, secrets=(*api.secrets, jwt))
    path = f"/app/installations/{config.installation_id}/access_tokens"
    return signed.post(path, b"", "application/json", _InstallationToken).token
