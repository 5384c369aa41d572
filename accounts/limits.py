"""Limits of an account: a setting of the server, or the value that an operator set for this account in its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.conf import settings

from accounts.models import Account


@dataclass(frozen=True)
class Limit:
    """A limit. `setting` names the default; an operator sets 1 to `maximum` for an account."""

    setting: str
    label: str
    maximum: int

    @property
    def default(self) -> int:
        return int(getattr(settings, self.setting))


MOST_REQUESTS: Final = 100_000
"""The highest limit a minute: the process that counts requests stores a time for each."""

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
)


def limit_of(account: Account, setting: str) -> int:
    """Return the account's limit. No query: `account` has its limits however it was loaded, by credentials too."""
    value = account.limits.get(setting)
    return int(getattr(settings, setting)) if value is None else value
