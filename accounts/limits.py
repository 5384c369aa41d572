"""Limits of an account: a setting of the server, or the value that an operator set for this account in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeGuard

from django.conf import settings
from django.db.models import Q

from accounts.models import Account
from finops.lib import clock, memory
from finops.lib.errors import UserError
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
    """The default; if it is None, the setting with the limit's name."""
    effect: str = ""
    """Sentence on the effect of a value other than the default."""
    zero: str = ""
    """Meaning of 0 where 0 is no number: "Forever". Such a limit accepts 0 besides minimum to maximum."""

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
        bounds = f"Default: {self.text(self.default)}. "
        if self.minimum != 1:
            bounds += f"Minimum: {numbers.number(self.minimum)}. "
        return f"{bounds}Maximum: {numbers.number(self.maximum)}. {self.effect}".strip()

    def text(self, value: int) -> str:
        """Return the value as pages show it."""
        return self.zero if self.zero and value == 0 else numbers.number(value)

    def accepts(self, value: object) -> TypeGuard[int]:
        is_forever = bool(self.zero) and value == 0
        return type(value) is int and (is_forever or self.minimum <= value <= self.maximum)


MOST_REQUESTS: Final = 100_000
"""The highest limit per minute: the process that counts requests stores a time for each request."""

LAKE_MEMORY: Final = "LAKE_MEMORY_MB"
AUDIT_LOG_DAYS: Final = "AUDIT_LOG_DAYS"


def _retention(
    name: str, label: str, days: int, most: int, effect: str, *, least: int = 7, zero: str = ""
) -> Limit:
    label = f"{label} kept"
    return Limit(name, label, most, minimum=least, unit="days", server_value=days, effect=effect, zero=zero)


def _ceiling(
    name: str,
    label: str,
    value: int,
    most: int,
    effect: str,
    *,
    least: int,
    unit: str = "days",
    zero: str = "",
) -> Limit:
    label = f"{label} kept at most"
    return Limit(name, label, most, minimum=least, unit=unit, server_value=value, effect=effect, zero=zero)


RETENTIONS: Final = (
    _retention(
        "ALERT_DELIVERY_DAYS",
        "Alert deliveries",
        90,
        1_100,
        "Older ones are deleted daily. One takes 0.9 KB.",
    ),
    _retention(
        AUDIT_LOG_DAYS,
        "Audit log",
        0,
        3_650,
        "0: forever. Older entries are deleted daily, except those that the audit log webhook has not sent, or that a kept delivery has.",
        least=180,
        zero="Forever",
    ),
    _retention(
        "AUDIT_DELIVERY_DAYS", "Deliveries of the audit log", 90, 1_100, "Older ones are deleted daily."
    ),
    _retention(
        "SYNC_DAYS",
        "Syncs",
        90,
        1_100,
        "The newest 20 of each source stay. Without new data a sync stays 2 days.",
    ),
    _retention(
        "DATA_EXPORT_RUN_DAYS", "Runs of data exports", 90, 1_100, "The newest 50 of each export stay."
    ),
    _retention(
        "ACCOUNT_EXPORT_DAYS",
        "Account exports",
        7,
        90,
        "Each is a ZIP of all cost and usage on the disk of VAR_DIR.",
        least=1,
    ),
    _retention(
        "NOTIFICATION_DAYS", "Notifications", 90, 400, "Older ones are deleted daily. One takes 0.5 KB."
    ),
    _ceiling(
        "ASSISTANT_ACTIVITY_DAYS",
        "Assistant activity",
        400,
        1_100,
        "The account chooses up to this many, 90 by default. Older calls are deleted hourly. One takes 0.5 KB.",
        least=7,
    ),
    _ceiling(
        "CHANGE_EVENT_DAYS",
        "Change events",
        3_650,
        3_650,
        "The account chooses up to this many, 1,100 by default. Older events are deleted daily. One takes 0.4 KB.",
        least=400,
    ),
    _ceiling(
        "RECEIPT_DAYS",
        "Receipts",
        400,
        1_100,
        "The account chooses up to this many, 90 by default. Older receipts are deleted daily. One takes 1.1 KB.",
        least=7,
    ),
    _ceiling(
        "BILL_VERSION_DAYS",
        "Replaced bills",
        400,
        1_100,
        "The account chooses up to this many, 0 by default. Each import of a month keeps another file of it in the lake: 62 to 83 MB "
        "a million lines.",
        least=0,
    ),
    _ceiling(
        "USAGE_MONTHS",
        "Raw usage",
        0,
        240,
        "0: forever. Older events are deleted each night, and with them usage and unit cost of those months. A million events take "
        "22 MB of lake.",
        least=0,
        unit="months",
        zero="Forever",
    ),
)
"""How long data of an account is kept. Where the account sets a retention itself, the limit is its ceiling."""

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
    *RETENTIONS,
)

LIMITS_BY_NAME: Final = {limit.name: limit for limit in LIMITS}


def limit_of(account: Account, name: str) -> int:
    """Return the account's limit. No query: `account` has its limits however it was loaded, by credentials too."""
    value = account.limits.get(name)
    limit = LIMITS_BY_NAME[name]
    return value if limit.accepts(value) else limit.default


def lake_memory_of(account: Account) -> int | None:
    """Return the memory of the account's own DuckDB, in bytes; None if the account shares the process's: no operator
    set a value, or this machine does not have that much."""
    value = account.limits.get(LAKE_MEMORY)
    return value * memory.MB if value is not None and LIMITS_BY_NAME[LAKE_MEMORY].accepts(value) else None


def own_limits(name: str) -> dict[int, int]:
    """Return the limits that operators set, by account id; for clean-up over all accounts. One query."""
    limit = LIMITS_BY_NAME[name]
    rows = Account.objects.filter(limits__has_key=name).values_list("pk", "limits")
    return {pk: limits[name] for pk, limits in rows if limit.accepts(limits[name])}


def older_than_retention(name: str, field: str) -> Q:
    """Return the condition on rows of accounts whose `field`, a time, is before the account's retention. Rows of an
    account that keeps them forever do not match. One query."""
    limit, own = LIMITS_BY_NAME[name], own_limits(name)

    def is_older(days: int) -> Q:
        is_forever = bool(limit.zero) and days == 0
        return Q(pk__in=[]) if is_forever else Q(**{f"{field}__lt": clock.now() - timedelta(days=days)})

    condition = is_older(limit.default) & ~Q(account_id__in=list(own))
    for account_id, days in own.items():
        condition |= Q(account_id=account_id) & is_older(days)
    return condition


def check_ceiling(account: Account, name: str, value: int, *, field: str) -> None:
    """Raise UserError for a retention that an account chooses above its ceiling."""
    ceiling, unit = limit_of(account, name), LIMITS_BY_NAME[name].unit
    if value > ceiling:
        raise UserError(
            f"This account may keep {ceiling:,} {unit} at most. Ask the operator for more.", field=field
        )
