"""GitHub and GitLab on this machine: lists in pages with ETags and rate limits, in the form of their documented answers."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent, EventMonth
from finops.connections import services
from finops.connections.models import CostConnection
from finops.lib import clock
from tests.cast import Cast
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply

GITHUB_TOKEN = "github_pat_0123456789abcdefghij"
GITLAB_TOKEN = "a-token-of-a-project"
SCOPE = {"service": ["Amazon ECS"], "tag:team": ["payments"]}
REPOSITORY = "acme/checkout"
Row = dict[str, Any]


def march_time(text: str) -> datetime:
    """A moment of March 2026: `12T09:30`."""
    return datetime.fromisoformat(f"2026-03-{text}:00+00:00")


def utc_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class CodeHost(ABC):
    """What both have in common. `charged` are the requests that count against the limit of `limit` an hour."""

    def __init__(self, replay: ReplayServer, token: str, header: str, prefix: str) -> None:
        self.replay, self.header, self.prefix = replay, header, prefix
        self.tokens = {token}
        self.charged: list[str] = []
        self.limit = 5_000
        self.reset = int(clock.now().timestamp()) + 1_800

    def serve(self, path: str, rows: Callable[[], Any]) -> None:
        self.replay.routes[self.prefix + path] = lambda request: self._answer(request, rows())

    def _answer(self, request: ReplayRequest, rows: Any) -> Reply:
        token = request.headers.get(self.header.casefold(), "").removeprefix("Bearer ")
        if token not in self.tokens:
            return Reply.of_json({"message": "Bad credentials"}, 401)
        if isinstance(rows, list):
            size, number = int(request.param("per_page")), int(request.param("page") or 1)
            rows = rows[size * (number - 1) : size * number]
        body = json.dumps(rows).encode()
        etag = f'W/"{hashlib.sha256(token.encode() + body).hexdigest()}"'
        if request.headers.get("if-none-match") == etag:
            return Reply(304, b"", {"ETag": etag, **self.rate_limit})
        if len(self.charged) >= self.limit:
            return self.refusal()
        self.charged.append(request.target)
        return Reply(200, body, {"ETag": etag, "Content-Type": "application/json", **self.rate_limit})

    @property
    def rate_limit(self) -> Mapping[str, str]:
        return {
            "X-RateLimit-Remaining": str(self.limit - len(self.charged)),
            "X-RateLimit-Reset": str(self.reset),
        }

    @abstractmethod
    def refusal(self) -> Reply:
        """What the host answers beyond the limit."""


class GitHubHost(CodeHost):
    """acme/checkout. Lists as GitHub gives them: the newest first."""

    def __init__(self, replay: ReplayServer, prefix: str = "") -> None:
        super().__init__(replay, GITHUB_TOKEN, "Authorization", prefix)
        self.releases: list[Row] = []
        self.deployments: list[Row] = []
        self.pulls: list[Row] = []
        self.statuses: dict[int, list[Row]] = {}
        path = f"/repos/{REPOSITORY}"
        self.serve(path, lambda: {"id": 1, "full_name": REPOSITORY})
        self.serve(f"{path}/releases", lambda: self.releases)
        self.serve(f"{path}/deployments", lambda: self.deployments)
        self.serve(f"{path}/pulls", lambda: self.pulls)

    def add_release(self, number: int, published_at: datetime, **more: Any) -> None:
        row = {
            "id": number,
            "tag_name": f"v{number}",
            "target_commitish": "main",
            "name": f"Version {number}",
            "draft": False,
            "prerelease": False,
            "created_at": utc_text(published_at),
            "published_at": utc_text(published_at),
            "author": {"login": "octocat", "id": 1, "type": "User"},
            "html_url": f"https://github.com/{REPOSITORY}/releases/tag/v{number}",
            "assets": [],
            "body": "What is new",
        }
        self.releases.insert(0, row | more)

    def add_deployment(self, number: int, created_at: datetime, *states: str, **more: Any) -> None:
        row = {
            "id": number,
            "sha": "a84d88e7554fc1fa21bcbc4efae3c782a70d2b9d",
            "ref": "main",
            "task": "deploy",
            "payload": {},
            "environment": "production",
            "description": None,
            "creator": {"login": "deploy-bot[bot]", "id": 2, "type": "Bot"},
            "created_at": utc_text(created_at),
            "updated_at": utc_text(created_at),
        }
        self.deployments.insert(0, row | more)
        self.statuses[number] = []
        self.serve(f"/repos/{REPOSITORY}/deployments/{number}/statuses", lambda: self.statuses[number])
        for state in states:
            self.add_status(number, state)

    def add_status(self, deployment: int, state: str) -> None:
        count = len(self.statuses[deployment]) + 1
        row = {
            "id": deployment * 100 + count,
            "state": state,
            "log_url": f"https://github.com/{REPOSITORY}/actions/runs/{deployment}",
            "target_url": "",
            "environment_url": "",
        }
        self.statuses[deployment].insert(0, row)

    def add_pull(self, number: int, merged_at: datetime | None, **more: Any) -> None:
        row = {
            "id": 9_000 + number,
            "number": number,
            "state": "closed",
            "title": f"Change {number}",
            "user": {"login": "hubot", "id": 3},
            "updated_at": utc_text(merged_at or clock.now()),
            "merged_at": utc_text(merged_at) if merged_at else None,
            "html_url": f"https://github.com/{REPOSITORY}/pull/{number}",
        }
        self.pulls.insert(0, row | more)

    def refusal(self) -> Reply:
        message = {"message": "API rate limit exceeded for user ID 1.", "documentation_url": "https://…"}
        return Reply(403, json.dumps(message).encode(), self.rate_limit)


class GitLabHost(CodeHost):
    """acme/shop/checkout."""

    def __init__(self, replay: ReplayServer) -> None:
        super().__init__(replay, GITLAB_TOKEN, "PRIVATE-TOKEN", "")
        self.releases: list[Row] = []
        self.deployments: list[Row] = []
        self.merge_requests: list[Row] = []
        path = "/api/v4/projects/acme%2Fshop%2Fcheckout"
        self.serve(path, lambda: {"id": 7, "web_url": "https://gitlab.example.com/acme/shop/checkout"})
        self.serve(f"{path}/releases", lambda: self.releases)
        self.serve(f"{path}/deployments", lambda: self.deployments)
        self.serve(f"{path}/merge_requests", lambda: self.merge_requests)

    def refusal(self) -> Reply:
        return Reply(429, b"Retry later", {"RateLimit-Remaining": "0", "Retry-After": "1800"})


def connect(cast: Cast, **more: object) -> CostConnection:
    values = {"repositories": f"{REPOSITORY} service=Amazon ECS; tag:team=payments", "token": GITHUB_TOKEN}
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="GitHub",
        connector="github",
        values=values | more,
    )


def titles(cast: Cast) -> list[str]:
    """Of the events that are stored, the oldest first."""
    with account_scope(cast.account):
        return list(ChangeEvent.objects.order_by("occurred_at").values_list("title", flat=True))


def metered_count(cast: Cast) -> int:
    with account_scope(cast.account):
        return sum(each.events for each in EventMonth.objects.all())
