"""For each URL argument below `/a/<slug>/`: how to make the row of an account that it names, a module an app.

A URL with a new argument fails the walk until it has its maker in the module of its app.
"""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account
from tests.isolation.rows import (
    accounts,
    activity,
    alerts,
    allocation,
    budgets,
    change_events,
    connections,
    cost_access,
    costs,
    dashboards,
    data_exports,
    exchange_rates,
    exports,
    ingestion,
    insights,
    issues,
    reports,
    sso,
    unitcosts,
)

_APPS = (
    accounts,
    activity,
    alerts,
    allocation,
    budgets,
    change_events,
    connections,
    cost_access,
    costs,
    dashboards,
    data_exports,
    exchange_rates,
    exports,
    ingestion,
    insights,
    issues,
    reports,
    sso,
    unitcosts,
)
MAKERS: dict[str, Callable[[Account], object]] = {
    name: maker for app in _APPS for name, maker in app.MAKERS.items()
}
