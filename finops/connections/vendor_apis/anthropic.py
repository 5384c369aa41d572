"""Anthropic's two reports of cost: the Usage and cost analytics API (beta), and the older cost report.

Facts from Anthropic's API reference and the types of its Python SDK 2.12: group_by takes at most 5 dimensions beside cost_type
and token_type, a request spans at most 31 days, amounts are decimal text in cents.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from finops.connections.connector import AccessError
from finops.connections.transports.http import HttpApi, PermissionRefusal, RequestRefusal
from finops.connections.transports.pages import Page, TokenPage, VendorObject, names_by_id, token_pages
from finops.lib import clock
from finops.lib.periods import add_months, month_start

ANALYTICS, LEGACY = "analytics", "report"
WORKSPACES: Final = "/v1/organizations/workspaces"


class ClaudeActor(msgspec.Struct, frozen=True):
    type: str = ""
    user_id: str | None = None
    email_address: str | None = None
    name: str | None = None
    service_account_id: str | None = None
    subject: str | None = None
    api_key_id: str | None = None


class ClaudeGroup(msgspec.Struct, frozen=True):
    """Values by which a row is grouped: in the analytics API as a struct, in the report as fields of the row."""

    workspace_id: str | None = None
    api_key_id: str | None = None
    actor: ClaudeActor | None = None
    model: str | None = None
    service_tier: str | None = None
    product: str | None = None
    cost_type: str | None = None
    token_type: str | None = None
    context_window: str | None = None
    description: str | None = None


class ClaudeAmount(msgspec.Struct, frozen=True):
    amount: Decimal
    currency: str
    list_amount: Decimal | None = None
    requests: int | None = None


class _CostItem(msgspec.Struct, frozen=True):
    starting_at: datetime
    cost: ClaudeAmount
    group: ClaudeGroup = ClaudeGroup()


class _CacheCreation(msgspec.Struct, frozen=True):
    ephemeral_1h_input_tokens: int = 0
    ephemeral_5m_input_tokens: int = 0


class _ToolUse(msgspec.Struct, frozen=True):
    web_search_requests: int = 0


class _Usage(msgspec.Struct, frozen=True):
    uncached_input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation: _CacheCreation = _CacheCreation()
    server_tool_use: _ToolUse = _ToolUse()

    def quantities(self) -> dict[str, int]:
        """Return quantities by token type, and of web searches by cost type."""
        return {
            "uncached_input_tokens": self.uncached_input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_input_tokens": self.cache_read_input_tokens,
            "cache_creation.ephemeral_1h_input_tokens": self.cache_creation.ephemeral_1h_input_tokens,
            "cache_creation.ephemeral_5m_input_tokens": self.cache_creation.ephemeral_5m_input_tokens,
            "web_search": self.server_tool_use.web_search_requests,
        }


class _UsageItem(msgspec.Struct, frozen=True):
    starting_at: datetime
    usage: _Usage
    group: ClaudeGroup = ClaudeGroup()


class _CostPage(TokenPage, frozen=True, kw_only=True):
    data: list[_CostItem]


class _UsagePage(TokenPage, frozen=True, kw_only=True):
    data: list[_UsageItem]


class _ReportResult(ClaudeGroup, frozen=True, kw_only=True):
    amount: Decimal
    currency: str


class _ReportBucket(msgspec.Struct, frozen=True):
    starting_at: datetime
    results: list[_ReportResult]


class _ReportPage(TokenPage, frozen=True, kw_only=True):
    data: list[_ReportBucket]


@dataclasses.dataclass(frozen=True)
class ClaudeNames:
    """Readable names by id; empty if the key has no permission to read them."""

    organization: VendorObject | None
    workspaces: Mapping[str, VendorObject]
    api_keys: Mapping[str, VendorObject]


@dataclasses.dataclass(frozen=True)
class ClaudeCost:
    """A row of either API for one day. `quantity` is in tokens or searches."""

    day: date
    money: ClaudeAmount
    group: ClaudeGroup
    quantity: int | None = None


def _range(month: date) -> list[tuple[str, str | int]]:
    end = min(add_months(month, 1), clock.today() + timedelta(days=1))
    return [("starting_at", f"{month}T00:00:00Z"), ("ending_at", f"{end}T00:00:00Z")]


def _group_params(names: Sequence[str]) -> list[tuple[str, str | int]]:
    return [("group_by[]", name) for name in names]


def daily_totals(api: HttpApi, month: date, kind: str = "") -> tuple[str, list[str]]:
    """Return the API that accepts the key, and its daily totals as text. Raises AccessError of the newer API if neither does."""
    if kind != LEGACY:
        try:
            pages = _analytics(api, "cost", month, (), _CostPage)
            return ANALYTICS, [f"{item.starting_at} {item.cost}" for page in pages for item in page.data]
        except (PermissionRefusal, RequestRefusal) as error:
            if kind or not _may_be_legacy(error):
                raise
            refusal = error
    try:
        return LEGACY, [f"{bucket.starting_at} {bucket.results}" for bucket in _buckets(api, month, ())]
    except (PermissionRefusal, RequestRefusal) as error:
        raise (error if kind else refusal) from error


def _may_be_legacy(error: PermissionRefusal | RequestRefusal) -> bool:
    """Return whether the key may still read the older report: no permission, no such path, or no access to the beta."""
    return isinstance(error, PermissionRefusal) or error.status == 404 or "beta" in error.message


def _analytics(
    api: HttpApi, report: str, month: date, groups: Sequence[str], type_: type[Page]
) -> Iterator[Page]:
    params = [*_range(month), ("time_bucket_width", "1d"), ("limit", 1000), *_group_params(groups)]
    return token_pages(api, f"/v1/organizations/analytics/{report}", params, type_)


def _buckets(api: HttpApi, month: date, groups: Sequence[str]) -> Iterator[_ReportBucket]:
    params = [*_range(month), ("bucket_width", "1d"), ("limit", 31), *_group_params(groups)]
    for page in token_pages(api, "/v1/organizations/cost_report", params, _ReportPage):
        yield from page.data


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def analytics_costs(api: HttpApi, month: date, groups: Sequence[str]) -> Iterator[ClaudeCost]:
    """Return costs with their tokens, from the usage report of the same day and group. If rows of a day have the same group (people
    that the key may not see), the first has the tokens of all. Days outside the month are left to their own month."""
    quantities = _quantities(api, month, groups)
    for page in _analytics(api, "cost", month, [*groups, "cost_type", "token_type"], _CostPage):
        for item in page.data:
            day, kind = _day(item.starting_at), item.group.token_type or item.group.cost_type
            if month_start(day) == month:
                quantity = quantities.pop((day, _values(item.group), kind or ""), None)
                yield ClaudeCost(day, item.cost, item.group, quantity)


def _quantities(api: HttpApi, month: date, groups: Sequence[str]) -> dict[tuple[date, ClaudeGroup, str], int]:
    """Return tokens and searches by day, group and type; empty if the key may read costs only."""
    quantities: dict[tuple[date, ClaudeGroup, str], int] = defaultdict(int)
    try:
        for page in _analytics(api, "usage", month, groups, _UsagePage):
            for item in page.data:
                for kind, quantity in item.usage.quantities().items():
                    if quantity:
                        quantities[_day(item.starting_at), _values(item.group), kind] += quantity
    except (AccessError, RequestRefusal):
        return {}
    return quantities


def _values(group: ClaudeGroup) -> ClaudeGroup:
    """Return the common group values of cost and usage."""
    return msgspec.structs.replace(group, cost_type=None, token_type=None)


def report_costs(api: HttpApi, month: date) -> Iterator[ClaudeCost]:
    for bucket in _buckets(api, month, ("workspace_id", "description")):
        day = _day(bucket.starting_at)
        if month_start(day) == month:
            for result in bucket.results:
                yield ClaudeCost(day, ClaudeAmount(result.amount, result.currency), result)


def names_of(api: HttpApi) -> ClaudeNames:
    def readable_names(path: str, *params: tuple[str, str | int]) -> dict[str, VendorObject]:
        try:
            return names_by_id(api, path, [("limit", 1000), *params], "after_id")
        except (AccessError, RequestRefusal):
            return {}

    try:
        organization = api.get("/v1/organizations/me", [], VendorObject)
    except (AccessError, RequestRefusal):
        organization = None
    return ClaudeNames(
        organization,
        readable_names(WORKSPACES, ("include_archived", "true"), ("include_default", "true")),
        readable_names("/v1/organizations/api_keys"),
    )
