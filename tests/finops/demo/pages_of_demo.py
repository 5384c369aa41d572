"""The pages and downloads of the demo's account, as its owner gets them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from accounts.models import Account, MCPKey, User
from accounts.scoping import account_scope
from finops.activity.models import AssistantCall
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.allocation.models import CostTag, SharedCostSplit, Team
from finops.budgets.models import Budget
from finops.costs.models import ClosedMonth, CostImport, CostSource, InvoiceTotal
from finops.dashboards.models import Dashboard, Widget
from finops.insights.models import Anomaly
from finops.unitcosts.models import CustomerAlias, UnitMetric
from ingestion.models import Customer, UsageMetric, UsageSource
from tests.cast import reauthenticated, signed_in
from tests.isolation import rows
from tests.isolation.discovery import account_routes, fill
from tests.isolation.test_urls import QUESTIONS

# URL arguments of which the demo has a row, whose first one is taken; of others one is added.
ROWS: dict[str, type[Model]] = {
    "alias_id": CustomerAlias,
    "anomaly_key": Anomaly,
    "budget_id": Budget,
    "call_id": AssistantCall,
    "channel_id": AlertChannel,
    "closed_month_id": ClosedMonth,
    "cost_tag_id": CostTag,
    "customer_pk": Customer,
    "dashboard_id": Dashboard,
    "delivery_id": AlertDelivery,
    "import_id": CostImport,
    "invoice_total_id": InvoiceTotal,
    "key_id": MCPKey,
    "source_id": CostSource,
    "split_id": SharedCostSplit,
    "subscription_id": AlertSubscription,
    "team_id": Team,
    "unit_metric_id": UnitMetric,
    "usage_metric_id": UsageMetric,
    "usage_source_id": UsageSource,
    "widget_id": Widget,
}
_CSV = re.compile(r'href="([^"]*[?&;]format=csv[^"]*)"')


@dataclass(frozen=True)
class PageOfDemo:
    route: str
    kind: str
    """The content type without its parameters."""
    text: str


def pages(account: Account, user: User) -> Iterator[PageOfDemo]:
    """Yield every page that answers GET, and the CSV of each that has one. Raises AssertionError if one does not
    answer."""
    client, values = reauthenticated(signed_in(user), user), row_keys(account)
    for route in account_routes():
        url = fill(route, account.slug, values) + QUESTIONS.get(route.path, "")
        answer = client.get(url)
        if answer.status_code == 405:
            continue
        page = _page_of(route.name, answer)
        yield page
        if link := _CSV.search(page.text):
            path = link[1].replace("&amp;", "&")
            yield _page_of(
                route.name, client.get(url.partition("?")[0] + path if path.startswith("?") else path)
            )


def _page_of(route: str, answer: Any) -> PageOfDemo:
    assert answer.status_code == 200, (route, answer.status_code)
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return PageOfDemo(route, answer.headers.get("Content-Type", "").partition(";")[0], body.decode())


def row_keys(account: Account) -> dict[str, object]:
    keys: dict[str, object] = {}
    for name, make in rows.MAKERS.items():
        with account_scope(account):
            model = ROWS.get(name)
            row: Any = model._default_manager.order_by("pk").first() if model else None
        keys[name] = _key(name, row) if row is not None else make(account)
    return keys


def _key(name: str, row: Any) -> object:
    return row.key if name.endswith("_key") else row.pk
