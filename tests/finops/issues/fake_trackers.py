"""GitHub, Jira and Linear on this machine: real HTTP servers with answers in the forms that the vendors document, and a state of
their own, so that what is created is found, changes, moves and goes."""

from __future__ import annotations

import base64
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply, replay_server
from tests.finops.insights.savings.bills import NOON

SECRET = "tok_Zx81QmWv7Lr0secret"


class AnyPath(dict[str, Callable[[ReplayRequest], Reply]]):
    """Routes of a server that answers every path itself."""

    def __init__(self, answer: Callable[[ReplayRequest], Reply]) -> None:
        super().__init__()
        self._answer = answer

    def get(self, _key: str, _default: Any = None) -> Any:
        return self._answer


@dataclass
class FakeIssue:
    number: int
    title: str
    text: str
    created: datetime
    id: str = ""
    state: str = "open"
    updated: datetime = NOON
    closed: datetime | None = None
    gone: str = ""
    """"", deleted or moved."""


@dataclass
class FakeTracker(ABC):
    """What all three can. `lose_answers`: so many creations are made, and their answer breaks off."""

    kind: ClassVar[str]
    replay: ReplayServer
    now: datetime = NOON
    issues: list[FakeIssue] = field(default_factory=list)
    token: str = SECRET
    may_write: bool = True
    is_there: bool = True
    lose_answers: int = 0
    creations: int = 0

    def __post_init__(self) -> None:
        self.replay.routes = AnyPath(self.reply_to)

    @property
    def url(self) -> str:
        return self.replay.url

    @abstractmethod
    def config(self) -> dict[str, object]: ...

    @abstractmethod
    def reply_to(self, request: ReplayRequest) -> Reply: ...

    def add(self, title: str, text: str, issue_id: str = "") -> FakeIssue:
        number = len(self.issues) + 1
        issue = FakeIssue(
            number, title, text, self.now, id=issue_id or str(10_000 + number), updated=self.now
        )
        self.issues.append(issue)
        return issue

    def create(self, title: str, text: str, issue_id: str = "") -> tuple[FakeIssue, bool]:
        """The issue, and whether its answer arrives."""
        self.creations += 1
        issue = self.add(title, text, issue_id)
        if self.lose_answers:
            self.lose_answers -= 1
            return issue, False
        return issue, True

    def close(self, state: str, issue: FakeIssue | None = None) -> None:
        row = issue or self.issues[-1]
        row.state, row.closed, row.updated = state, self.now, self.now

    def reopen(self) -> None:
        row = self.issues[-1]
        row.state, row.closed, row.updated = "open", None, self.now

    def paths(self) -> list[str]:
        return self.replay.paths()


def answer(reply: Reply, arrives: bool) -> Reply:
    return reply if arrives else Reply(reply.status, reply.body, reply.headers, cut=0.5)


def utc_text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if moment else None


class FakeGitHub(FakeTracker):
    kind = "github"
    has_issues = True

    def config(self) -> dict[str, object]:
        return {"repository": "acme/infra", "server_url": self.url}

    def reply_to(self, request: ReplayRequest) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return self.problem(401, "Bad credentials")
        path = request.path.removeprefix("/api/v3")
        if path == "/search/issues":
            return self.search(request.param("q"))
        if not path.startswith("/repos/acme/infra") or not self.is_there:
            return self.problem(404, "Not Found")
        path_in_repository = path.removeprefix("/repos/acme/infra")
        if not path_in_repository:
            body = {"full_name": "acme/infra", "has_issues": self.has_issues, "archived": False}
            return Reply.of_json({**body, "permissions": {"admin": False, "push": True, "pull": True}})
        if not self.has_issues:
            return self.problem(410, "Issues has been disabled in this repository.")
        if path_in_repository == "/issues":
            return self.post(request) if request.method == "POST" else self.list(request)
        return self.read(int(path_in_repository.removeprefix("/issues/")))

    def problem(self, status: int, message: str) -> Reply:
        url = "https://docs.github.com/rest"
        return Reply.of_json({"message": message, "documentation_url": url, "status": str(status)}, status)

    def post(self, request: ReplayRequest) -> Reply:
        if not self.may_write:
            return self.problem(403, "Resource not accessible by personal access token")
        body = json.loads(request.body)
        if not body.get("title"):
            return self.problem(422, 'Invalid request.\n\n"title" wasn\'t supplied.')
        issue, arrives = self.create(body["title"], body["body"])
        return answer(Reply.of_json(self.row(issue), 201), arrives)

    def row(self, issue: FakeIssue) -> dict[str, Any]:
        reasons = {"completed": "completed", "not_planned": "not_planned", "open": None}
        return {
            "id": 2_000_000 + issue.number,
            "number": issue.number,
            "title": issue.title,
            "body": issue.text,
            "state": "open" if issue.state == "open" else "closed",
            "state_reason": reasons[issue.state],
            "html_url": f"https://github.com/acme/infra/issues/{issue.number}",
            "created_at": utc_text(issue.created),
            "updated_at": utc_text(issue.updated),
            "closed_at": utc_text(issue.closed),
        }

    def list(self, request: ReplayRequest) -> Reply:
        since, page = datetime.fromisoformat(request.param("since")), int(request.param("page") or 1)
        rows = sorted((each for each in self.issues if not each.gone), key=lambda each: each.updated)
        some = [self.row(each) for each in rows if each.updated >= since][(page - 1) * 100 : page * 100]
        reply = Reply.of_json(some)
        etag = f'W/"{hash(reply.body):x}"'
        if request.headers.get("if-none-match") == etag:
            return Reply(304, b"", {"ETag": etag})
        return Reply(200, reply.body, {**reply.headers, "ETag": etag})

    def read(self, number: int) -> Reply:
        issue = next((each for each in self.issues if each.number == number), None)
        if issue is None:
            return self.problem(404, "Not Found")
        if issue.gone == "moved":
            body = {"message": "Moved Permanently", "url": f"{self.url}/api/v3/repositories/9/issues/1"}
            return Reply(301, json.dumps(body).encode(), {"Location": body["url"]})
        return self.problem(410, "This issue was deleted") if issue.gone else Reply.of_json(self.row(issue))

    def search(self, text: str) -> Reply:
        marker = re.findall('"([^"]+)"', text)[0]
        # The index knows nothing of the last minute.
        rows = [
            each
            for each in self.issues
            if marker in each.text and each.created < self.now - timedelta(minutes=1)
        ]
        items = [self.row(each) for each in rows if not each.gone]
        return Reply.of_json({"total_count": len(items), "incomplete_results": False, "items": items})


class FakeJira(FakeTracker):
    kind = "jira"
    required = ""
    wont_do = "Won\u2019t Do"

    def config(self) -> dict[str, object]:
        return {"site_url": self.url, "email": "bot@example.com", "project_key": "ops", "issue_type": "task"}

    def reply_to(self, request: ReplayRequest) -> Reply:
        basic = base64.b64encode(f"bot@example.com:{self.token}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return self.problem(401, "Client must be authenticated to access this resource.")
        path = request.path.removeprefix("/rest/api/3/")
        if path == "myself":
            return Reply.of_json({"accountId": "5b1", "emailAddress": "bot@example.com"})
        if path == "mypermissions":
            permission = {"key": "CREATE_ISSUES", "havePermission": self.may_write}
            return Reply.of_json({"permissions": {"CREATE_ISSUES": permission}})
        if path.startswith("project/"):
            return self.project(path.removeprefix("project/"))
        if path.startswith("issue/createmeta/"):
            return self.fields()
        if path == "issue":
            return self.post(json.loads(request.body))
        return (
            self.search(request.param("jql")) if path == "search/jql" else self.bulk(json.loads(request.body))
        )

    def problem(self, status: int, *messages: str, **errors: str) -> Reply:
        return Reply.of_json({"errorMessages": list(messages), "errors": errors}, status)

    def project(self, key: str) -> Reply:
        if not self.is_there or key != "OPS":
            return self.problem(404, f"No project could be found with key '{key}'.")
        types = [{"id": "10001", "name": "Task", "subtask": False}, {"id": "10002", "name": "Bug"}]
        return Reply.of_json({"id": "10000", "key": "OPS", "name": "Operations", "issueTypes": types})

    def fields(self) -> Reply:
        fields = [
            {"fieldId": "summary", "name": "Summary", "required": True, "hasDefaultValue": False},
            {"fieldId": "priority", "name": "Priority", "required": True, "hasDefaultValue": True},
        ]
        if self.required:
            fields.append(
                {
                    "fieldId": "customfield_1",
                    "name": self.required,
                    "required": True,
                    "hasDefaultValue": False,
                }
            )
        return Reply.of_json({"fields": fields, "maxResults": 200, "startAt": 0, "total": len(fields)})

    def post(self, body: dict[str, Any]) -> Reply:
        fields = body["fields"]
        if not self.is_there:
            return self.problem(400, project="valid project is required")
        if not self.may_write:
            return self.problem(403, "You do not have permission to create issues in this project.")
        if self.required:
            return self.problem(400, customfield_1=f"{self.required} is required.")
        assert fields["description"]["type"] == "doc"
        issue, arrives = self.create(fields["summary"], json.dumps(fields["description"]))
        reply = Reply.of_json({"id": issue.id, "key": f"OPS-{issue.number}", "self": f"{self.url}/x"}, 201)
        return answer(reply, arrives)

    def row(self, issue: FakeIssue) -> dict[str, Any]:
        names = {
            "open": ("In Review", "indeterminate"),
            "completed": ("Done", "done"),
            "not_planned": ("Done", "done"),
        }
        name, category = names[issue.state]
        resolutions = {"open": None, "completed": {"name": "Done"}, "not_planned": {"name": self.wont_do}}
        return {
            "id": issue.id,
            "key": f"{'CLOUD' if issue.gone == 'moved' else 'OPS'}-{issue.number}",
            "fields": {
                "status": {"name": name, "statusCategory": {"id": 2, "key": category}},
                "resolution": resolutions[issue.state],
                "resolutiondate": issue.closed.strftime("%Y-%m-%dT%H:%M:%S.000+0000")
                if issue.closed
                else None,
                "created": issue.created.strftime("%Y-%m-%dT%H:%M:%S.000+0000"),
            },
        }

    def search(self, jql: str) -> Reply:
        if not self.is_there:
            return self.problem(400, "The value 'OPS' does not exist for the field 'project'.")
        marker = re.findall(r'description ~ "(\w+)"', jql)[0]
        rows = [self.row(each) for each in self.issues if marker in each.text and not each.gone]
        return Reply.of_json({"issues": rows, "isLast": True})

    def bulk(self, body: dict[str, Any]) -> Reply:
        ids = body["issueIdsOrKeys"]
        assert len(ids) <= 100
        present = [
            each for each in self.issues if each.id in ids and each.gone != "deleted" and self.is_there
        ]
        return Reply.of_json(
            {"expand": "names", "issueErrors": [], "issues": [self.row(each) for each in present]}
        )


class FakeLinear(FakeTracker):
    kind = "linear"

    def config(self) -> dict[str, object]:
        return {"team_key": "eng"}

    def reply_to(self, request: ReplayRequest) -> Reply:
        if request.headers.get("authorization") != self.token:
            return self.problem("AUTHENTICATION_ERROR", "Authentication required, not authenticated", 401)
        body = json.loads(request.body)
        query, variables = body["query"], body["variables"]
        if "issueCreate" in query:
            return self.post(variables["input"])
        if "teams(" in query:
            nodes = [{"id": "team-uuid"}] if self.is_there and variables["key"] == "ENG" else []
            return Reply.of_json({"data": {"teams": {"nodes": nodes}}})
        if "marker" in variables:
            rows = [each for each in self.issues if variables["marker"] in each.text]
        else:
            rows = [each for each in self.issues if each.id in variables["ids"] and self.is_there]
        nodes = [self.row(each) for each in rows if each.gone != "moved"]
        return Reply.of_json({"data": {"issues": {"nodes": nodes}}})

    def problem(self, code: str, message: str, status: int = 400, **headers: str) -> Reply:
        extensions = {"code": code, "userPresentableMessage": message}
        error = {"message": message, "path": ["issueCreate"], "extensions": extensions}
        return Reply.of_json({"errors": [error], "data": None}, status, **headers)

    def post(self, values: dict[str, Any]) -> Reply:
        assert values["teamId"] == "team-uuid"
        if not self.may_write:
            return self.problem("FORBIDDEN", "You don't have permission to create issues", 200)
        if any(each.id == values["id"] for each in self.issues):
            return self.problem("INPUT_ERROR", "Entity with this id exists already")
        issue, arrives = self.create(values["title"], values["description"], values["id"])
        reply = Reply.of_json({"data": {"issueCreate": {"success": True, "issue": self.row(issue)}}})
        return answer(reply, arrives)

    def row(self, issue: FakeIssue) -> dict[str, Any]:
        states = {
            "open": ("In Progress", "started"),
            "completed": ("Done", "completed"),
            "not_planned": ("Canceled", "canceled"),
        }
        name, kind = states[issue.state]
        closed = utc_text(issue.closed)
        return {
            "id": issue.id,
            "identifier": f"ENG-{issue.number}",
            "url": f"https://linear.app/acme/issue/ENG-{issue.number}/x",
            "trashed": issue.gone == "deleted" or None,
            "createdAt": utc_text(issue.created),
            "completedAt": closed if issue.state == "completed" else None,
            "canceledAt": closed if issue.state == "not_planned" else None,
            "description": issue.text,
            "state": {"name": name, "type": kind},
        }


FAKES: dict[str, type[FakeTracker]] = {each.kind: each for each in (FakeGitHub, FakeJira, FakeLinear)}


@contextmanager
def fake_tracker(kind: str) -> Iterator[FakeTracker]:
    with replay_server() as replay:
        yield FAKES[kind](replay)
