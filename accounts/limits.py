"""Limits of an account: a setting of the server, or the value that an operator set for this account in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from accounts.models import Account
from finops.lib import memory
from finops.lib.formats import numbers


@dataclass(frozen=True)
class Limit:
    """A limit, by the name of its value in `Account.limits`. An operator sets `minimum` to `maximum` for an account."""

    name: str
    label: str
    most: int | Callable[[], int]
    """The maximum; a function where it depends on the machine."""
    minimum: int = 1
    unit: str = ""
    server_value: int | Callable[[], int] | None = None
    """The default; without one, the setting of the limit's name."""
    effect: str = ""
    """What another value means, as a sentence."""

    @property
    def default(self) -> int:
        value = self.server_value
        if value is None:
            return int(getattr(settings, self.name))
        return value() if callable(value) else value

    @property
    def maximum(self) -> int:
        return self.most() if callable(self.most) else self.most

    @property
    def title(self) -> str:
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def help(self) -> str:
        bounds = f"Default: {numbers.number(self.default)}. "
        if self.minimum != 1:
            bounds += f"Minimum: {numbers.number(self.minimum)}. "
        return f"{bounds}Maximum: {numbers.number(self.maximum)}. {self.effect}".strip()

    def accepts(self, value: object) -> bool:
        return type(value) is int and self.minimum <= value <= self.maximum


MOST_REQUESTS: Final = 100_000
"""The highest limit a minute: the process that counts requests stores a time for each."""

LAKE_MEMORY: Final = "LAKE_MEMORY_MB"

LIMITS: Final = (
    Limit("MCP_RATE_LIMIT_PER_MINUTE", "MCP and REST requests per minute, each key", MOST_REQUESTS),
    Limit("USAGE_RATE_LIMIT_PER_MINUTE", "Usage pushes per minute", MOST_REQUESTS),
    Limit("EVENT_RATE_LIMIT_PER_MINUTE", "Change event pushes per minute", MOST_REQUESTS),
    Limit("SCIM_RATE_LIMIT_PER_MINUTE", "SCIM requests per minute", MOST_REQUESTS),
    Limit("COST_PUSH_RATE_LIMIT_PER_MINUTE", "Cost push requests per minute", MOST_REQUESTS),
    Limit("BUDGETS_PER_ACCOUNT", "Budgets", 1_000),
    Limit("DASHBOARDS_PER_ACCOUNT", "Shared dashboards", 1_000),
    Limit("ALERT_SUBSCRIPTIONS_PER_ACCOUNT", "Alert subscriptions", 5_000),
    Limit("JOBS_PER_ACCOUNT", "Imports or uploads waiting and running", 1_000),
    Limit(
        LAKE_MEMORY,
        "Lake memory",
        lambda: memory.lake_memory_ceiling() // memory.MB,
        minimum=memory.LEAST_LAKE_MEMORY // memory.MB,
        unit="MB",
        server_value=lambda: memory.lake_memory() // memory.MB,
        effect="The account's queries, rollups and compaction then have memory of their own in each process, besides what all "
        "other accounts share.",
    ),
)

LIMITS_BY_NAME: Final = {limit.name: limit for limit in LIMITS}


def limit_of(account: Account, name: str) -> int:
    """Return the account's limit. No query: `account` has its limits however it was loaded, by credentials too."""
    value = account.limits.get(name)
    return LIMITS_BY_NAME[name].default if value is None else value


def lake_memory_of(account: Account) -> int | None:
    """Return the memory of the account's own DuckDB, in bytes; None where it shares the process's: an operator set none, or one
    that this machine does not have."""
    value = account.limits.get(LAKE_MEMORY)
    if value is None or not LIMITS_BY_NAME[LAKE_MEMORY].accepts(value):
        return None
    return value * memory.MB
