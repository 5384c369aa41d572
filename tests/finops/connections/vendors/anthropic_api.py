"""Anthropic's admin API on this machine, as far as costs need it: recorded rows, its limits and its refusals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from finops.lib import clock
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.vendors.steps import recorded_json

KEY: Final = "sk-ant-admin01-0123456789abcdef"
BETA: Final = "analytics-usage-cost-2026-08-24"
NAMES: Final = {
    "/v1/organizations/workspaces": [
        {"id": "wrkspc_01Prod", "name": "Production", "type": "workspace"},
        {"id": "wrkspc_01Research", "name": "Research", "type": "workspace"},
    ],
    "/v1/organizations/api_keys": [
        {"id": "apikey_01Backend", "name": "backend", "type": "api_key"},
        {"id": "apikey_01Batch", "name": "nightly batch", "type": "api_key"},
    ],
}
FREE_DIMENSIONS: Final = {"cost_type", "token_type"}


class AnthropicApi:
    """`scopes` are what the key may do: analytics, report, names."""

    def __init__(self, replay: ReplayServer) -> None:
        self.scopes = {"analytics", "report", "names"}
        self.cost: list[dict[str, Any]] = recorded_json("anthropic-cost.json")
        self.usage: list[dict[str, Any]] = recorded_json("anthropic-usage.json")
        self.report: list[dict[str, Any]] = recorded_json("anthropic-cost-report.json")
        self.page_size = 7
        self.replay = replay
        replay.routes = {
            "/v1/organizations/analytics/cost": lambda request: self._analytics(request, self.cost, "cost"),
            "/v1/organizations/analytics/usage": lambda request: self._analytics(
                request, self.usage, "usage"
            ),
            "/v1/organizations/cost_report": self._report,
            "/v1/organizations/me": lambda request: self._authorize(
                request, "names", {"id": "org-1", "name": "Acme AI"}
            ),
            **dict.fromkeys(NAMES, self._names),
        }

    def refusal(self, request: ReplayRequest, scope: str) -> Reply | None:
        if request.headers.get("x-api-key") != KEY:
            return _error(401, "authentication_error", "invalid x-api-key")
        if scope not in self.scopes:
            return _error(403, "permission_error", "Missing scopes: read:analytics")
        return None

    def _authorize(self, request: ReplayRequest, scope: str, value: Any) -> Reply:
        return self.refusal(request, scope) or Reply.of_json(value)

    def _names(self, request: ReplayRequest) -> Reply:
        """One name a page."""
        rows = NAMES[request.path]
        ids = [row["id"] for row in rows]
        start = ids.index(request.param("after_id")) + 1 if request.param("after_id") else 0
        page = {"data": rows[start : start + 1], "has_more": start + 1 < len(rows), "last_id": ids[start]}
        return self._authorize(request, "names", page)

    def _analytics(self, request: ReplayRequest, rows: list[dict[str, Any]], metric: str) -> Reply:
        if refusal := self.refusal(request, "analytics"):
            return refusal
        groups = request.params.get("group_by[]", [])
        start, end = (datetime.fromisoformat(request.param(name)) for name in ("starting_at", "ending_at"))
        wrong = (
            request.headers.get("anthropic-beta") != BETA
            or len(set(groups) - FREE_DIMENSIONS) > 5
            or end - start > timedelta(days=31)
            or not start < end
            or start < clock.now() - timedelta(days=366)
            or start.year < 2026
            or request.param("time_bucket_width") != "1d"
            or int(request.param("limit")) > 1000
        )
        if wrong:
            return _error(400, "invalid_request_error", "Invalid request.")
        matches = [row for row in rows if start <= datetime.fromisoformat(row["starting_at"]) < end]
        return self._page(request, matches if groups else list(_daily(matches, metric)))

    def _report(self, request: ReplayRequest) -> Reply:
        if refusal := self.refusal(request, "report"):
            return refusal
        start, end = (datetime.fromisoformat(request.param(name)) for name in ("starting_at", "ending_at"))
        matches = [row for row in self.report if start <= datetime.fromisoformat(row["starting_at"]) < end]
        return self._page(request, matches)

    def _page(self, request: ReplayRequest, rows: list[Any]) -> Reply:
        start = int(request.param("page").removeprefix("page_") or 0)
        end = start + self.page_size
        more = end < len(rows)
        body = {
            "data": _plain(rows[start:end]),
            "has_more": more,
            "next_page": f"page_{end}" if more else None,
            "data_refreshed_at": clock.now().isoformat(),
        }
        return Reply.of_json(body)


def _daily(rows: Iterable[dict[str, Any]], metric: str) -> Iterable[dict[str, Any]]:
    """What the API answers without a grouping: a row a day."""
    days: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        days[row["starting_at"], row["ending_at"]].append(row[metric])
    for (start, end), values in days.items():
        amounts = {
            name: f"{sum((Decimal(each[name]) for each in values), Decimal(0)):f}"
            for name in ("amount", "list_amount")
        }
        yield {"starting_at": start, "ending_at": end, "group": {}, "cost": {**amounts, "currency": "USD"}}


def _plain(value: Any) -> Any:
    """Without Decimal, which only whole numbers of the record are read as not."""
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _error(status: int, kind: str, message: str) -> Reply:
    return Reply.of_json({"type": "error", "error": {"type": kind, "message": message}}, status)
