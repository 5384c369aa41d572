"""Configuration of each kind of tracker, parsed from a form; its token or API key, sealed and unsealed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from finops.issues.models import IssueTracker
from finops.lib import outbound, sealing
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

Kind = IssueTracker.Kind

MAX_SECRET: Final = 2_000


class GitHubConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A repository of GitHub. `server_url` is empty for github.com, else that of GitHub Enterprise."""

    repository: str
    server_url: str = ""

    @property
    def shown(self) -> str:
        return f"{_host(self.server_url) or 'github.com'}/{self.repository}"

    @property
    def receiver(self) -> tuple[str, ...]:
        return (self.server_url,)


NOT_PLANNED: Final = (
    "won't, wont, will not, not planned, not a bug, not do, declined, rejected, cancel, duplicate, invalid, incomplete, "
    "cannot reproduce, obsolete, abandoned"
)
"""Words of Jira in English."""
MAX_NOT_PLANNED: Final = 300


class JiraConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A project of Jira. `not_planned` are words, separated by commas, in a resolution or a status that mean a closed issue
    was not done. Jira has no other sign of it: a resolution has a name in the site's language and no category, and a status
    category is To do, In progress or Done. Source: developer.atlassian.com/cloud/jira/platform/rest/v3, Issue resolutions
    and Workflow status categories."""

    site_url: str
    email: str
    project_key: str
    issue_type: str = "Task"
    not_planned: str = NOT_PLANNED

    @property
    def shown(self) -> str:
        return f"{_host(self.site_url)}, project {self.project_key}, {self.issue_type}"

    @property
    def receiver(self) -> tuple[str, ...]:
        return (self.site_url, self.email)

    def is_not_planned(self, resolution: str, status: str) -> bool:
        """Whether a closed issue with this resolution and status was not done."""
        text = _comparable(f"{resolution} {status}")
        return any(word in text for word in _words(self.not_planned))


class LinearConfig(msgspec.Struct, frozen=True, kw_only=True):
    team_key: str

    @property
    def shown(self) -> str:
        return f"linear.app, team {self.team_key}"

    @property
    def receiver(self) -> tuple[str, ...]:
        return ()


TrackerConfig = GitHubConfig | JiraConfig | LinearConfig

_TYPES: Final[Mapping[str, type[GitHubConfig] | type[JiraConfig] | type[LinearConfig]]] = {
    Kind.GITHUB: GitHubConfig,
    Kind.JIRA: JiraConfig,
    Kind.LINEAR: LinearConfig,
}


def read_config(kind: str, values: Mapping[str, object]) -> TrackerConfig:
    """Return the validated config. Raises UserError with the field. Looks up a host in DNS: up to 5 s."""
    return _READERS[kind]({name: str(value or "").strip() for name, value in values.items()})


def config_of(tracker: IssueTracker) -> TrackerConfig:
    return msgspec.convert(tracker.config, _TYPES[tracker.kind])


def read_secret(text: str) -> str:
    """Return the validated token or key. Raises UserError for one that cannot be sent in a header."""
    secret = text.strip()
    if not secret or len(secret) > MAX_SECRET or not re.fullmatch("[!-~]+", secret):
        raise UserError("Enter the token without spaces, as it was shown.", field="secret")
    return secret


def seal_secret(tracker: IssueTracker, secret: str) -> str:
    return sealing.seal({"secret": secret}, purpose=_purpose(tracker))


def secret_of(tracker: IssueTracker) -> str:
    """Return the token or key. Raises sealing.Unsealable when the server's key no longer exists."""
    return str(sealing.unseal(tracker.credentials, purpose=_purpose(tracker))["secret"])


def is_sealed_now(tracker: IssueTracker) -> bool:
    """Whether it was sealed under the current key; False for one that needs an earlier key."""
    return sealing.is_current(tracker.credentials, purpose=_purpose(tracker))


def _purpose(tracker: IssueTracker) -> str:
    return f"issue tracker {tracker.kind} of account {tracker.account_id}"


def _github_config(values: Mapping[str, str]) -> TrackerConfig:
    repository = values.get("repository", "").removeprefix("https://github.com/").removesuffix(".git")
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}", repository):
        raise UserError(
            f"Enter owner and repository, such as acme/infrastructure; {truncate(repository, 80)!r} is not.",
            field="repository",
        )
    return GitHubConfig(
        repository=repository, server_url=_server_url(values.get("server_url", ""), "server_url")
    )


def _jira_config(values: Mapping[str, str]) -> TrackerConfig:
    site_url = _server_url(values.get("site_url", ""), "site_url")
    if not site_url:
        raise UserError("Enter the site's address, such as https://acme.atlassian.net.", field="site_url")
    project_key = values.get("project_key", "").upper()
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{1,99}", project_key):
        raise UserError("Enter the project's key in capital letters, such as OPS.", field="project_key")
    email = values.get("email", "")
    try:
        validate_email(email)
    except ValidationError as error:
        raise UserError("Enter the email address of the token's owner.", field="email") from error
    issue_type = " ".join(values.get("issue_type", "").split()) or "Task"
    if len(issue_type) > 100:
        raise UserError("An issue type has at most 100 characters.", field="issue_type")
    not_planned = values.get("not_planned", "") or NOT_PLANNED
    if len(not_planned) > MAX_NOT_PLANNED or not _words(not_planned):
        raise UserError(
            f"Enter words with commas between, at most {MAX_NOT_PLANNED} characters.", field="not_planned"
        )
    return JiraConfig(
        site_url=site_url,
        email=email,
        project_key=project_key,
        issue_type=issue_type,
        not_planned=not_planned,
    )


def _words(text: str) -> list[str]:
    return [word for each in text.split(",") if (word := _comparable(each).strip())]


def _comparable(text: str) -> str:
    return text.casefold().replace("\u2019", "'")


def _linear_config(values: Mapping[str, str]) -> TrackerConfig:
    team_key = values.get("team_key", "").upper()
    if not re.fullmatch(r"[A-Z0-9]{1,20}", team_key):
        raise UserError("Enter the team's key, such as ENG for issues like ENG-12.", field="team_key")
    return LinearConfig(team_key=team_key)


_READERS: Final[Mapping[str, Callable[[Mapping[str, str]], TrackerConfig]]] = {
    Kind.GITHUB: _github_config,
    Kind.JIRA: _jira_config,
    Kind.LINEAR: _linear_config,
}


def _server_url(text: str, field: str) -> str:
    """Return scheme and host of a URL, guarded; a path is dropped."""
    if not text:
        return ""
    url = text if "://" in text else f"https://{text}"
    outbound.check_url(url, field=field)
    parts = urlsplit(url)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}"


def _host(url: str) -> str:
    return urlsplit(url).netloc
