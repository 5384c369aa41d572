"""OpenAI's admin API on this machine, as far as costs need it: recorded days, its limits and its refusals."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, Final

from finops.lib import clock
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.vendors.steps import DATA, recorded_json

KEY: Final = "sk-admin-0123456789abcdef"
NAMES: Final = {
    "/v1/organization/projects": [
        {"id": "proj_search", "name": "Search", "object": "organization.project"},
        {"id": "proj_support", "name": "Support", "object": "organization.project"},
    ],
    "/v1/organization/users": [
        {"id": "user-ada", "name": "Ada", "email": "ada@example.com", "object": "organization.user"},
    ],
    "/v1/organization/projects/proj_search/api_keys": [
        {"id": "key_backend", "name": "backend", "object": "organization.project.api_key"},
    ],
    "/v1/organization/projects/proj_support/api_keys": [],
}


class OpenAiApi:
    """`texts` are the recorded days as they were written; what is answered is these texts, digit by digit. `refused` are sets
    of dimensions that do not go together."""

    def __init__(self, replay: ReplayServer) -> None:
        self.scopes = {"usage", "management"}
        self.refused: list[set[str]] = []
        self.texts = [
            line.rstrip(",\n")
            for line in (DATA / "openai-costs.json").read_text().splitlines()
            if line.startswith("{")
        ]
        self.page_size = 180
        self.replay = replay
        replay.routes = {"/v1/organization/costs": self._costs, **dict.fromkeys(NAMES, self._names)}

    def days(self, month: str = "") -> list[tuple[str, list[dict[str, Any]]]]:
        """The recorded days of a month with their costs, their numbers as decimals."""
        buckets = [
            (f"{datetime.fromtimestamp(bucket['start_time'], UTC):%Y-%m-%d}", bucket["results"])
            for bucket in recorded_json("openai-costs.json")
        ]
        return [(day, results) for day, results in buckets if day.startswith(month)]

    def _refusal(self, request: ReplayRequest, scope: str) -> Reply | None:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return _error(401, "Incorrect API key provided: sk-admin-*cdef.")
        if scope not in self.scopes:
            return _error(
                403,
                f"You have insufficient permissions for this operation. Missing scopes: api.{scope}.read.",
            )
        return None

    def _names(self, request: ReplayRequest) -> Reply:
        rows = NAMES[request.path]
        page = {
            "object": "list",
            "data": rows,
            "has_more": False,
            "last_id": rows[-1]["id"] if rows else None,
        }
        return self._refusal(request, "management") or Reply.of_json(page)

    def _costs(self, request: ReplayRequest) -> Reply:
        if refusal := self._refusal(request, "usage"):
            return refusal
        groups = set(request.params.get("group_by[]", []))
        start, end = int(request.param("start_time")), int(request.param("end_time"))
        limit = int(request.param("limit"))
        if any(each <= groups for each in self.refused):
            return _error(400, "This combination of group_by fields is not supported.")
        if not 1 <= limit <= 180 or end > clock.now().timestamp() + 366 * 86_400 or start >= end:
            return _error(400, "Invalid request.")
        texts = [_of_groups(text, groups) for text in self.texts if start <= _start(text) < end]
        first = int(request.param("page") or 0)
        last = first + min(limit, self.page_size)
        more = last < len(texts)
        token = f'"{last}"' if more else "null"
        data = ", ".join(texts[first:last])
        body = f'{{"object": "page", "data": [{data}], "has_more": {json.dumps(more)}, "next_page": {token}}}'
        return Reply(200, body.encode())


def _start(text: str) -> int:
    return int(re.findall(r'"start_time": (\d+)', text)[0])


def _of_groups(text: str, groups: set[str]) -> str:
    """Fields that were not asked for are null; rows stay, as of a server that groups by more than it shows."""
    for name in ("project_id", "api_key_id", "user_id", "line_item"):
        if name not in groups:
            text = re.sub(rf'"{name}": ("[^"]*"|null)', f'"{name}": null', text)
    if "line_item" not in groups:
        text = re.sub(
            r'"quantity": [^,]*, "quantity_unit": ("[^"]*"|null)',
            '"quantity": null, "quantity_unit": null',
            text,
        )
    return text


def _error(status: int, message: str) -> Reply:
    return Reply.of_json({"error": {"message": message, "type": "invalid_request_error"}}, status)
