"""The pages and downloads of the demo's account, as its owner gets them, in lines that a diff shows."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client

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
from tests.interface.outline import outline
from tests.isolation import rows
from tests.isolation.discovery import account_routes, fill, routes

# URL arguments of which the demo has a row, the first of which its page is recorded of; of others one is added.
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
MAX_CSV_LINES = 40
_CSV = re.compile(r'href="([^"]*[?&;]format=csv[^"]*)"')
# What differs between two loads of the demo: the public part of keys, times that the database or Django notes itself.
VARYING = (
    (re.compile(r"(fmcp|fuse|fscm|fevt)_\w{10}"), r"\1_LOOKUP"),
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00"), "TIME"),
    (re.compile(r"(field hidden form_token) '.*'"), r"\1 TOKEN"),
)


def pages(account: Account, user: User, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Text by name of file: every page that answers GET, and the CSV of each that has one."""
    numbers = count()
    monkeypatch.setattr(secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    client, values = reauthenticated(signed_in(user), user), row_keys(account)
    texts = dict(_pages_of_account(client, account, values))
    texts["signed_in_pages.txt"] = _outside(client)
    texts["signed_out_pages.txt"] = _outside(Client())
    return texts


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


def _pages_of_account(
    client: Client, account: Account, values: dict[str, object]
) -> Iterator[tuple[str, str]]:
    for route in account_routes():
        url = fill(route, account.slug, values)
        answer = client.get(url)
        if answer.status_code == 405:
            continue
        yield f"{route.name}.txt", text_of(answer, whole=route.name == "overview")
        html = "" if answer.streaming else answer.content.decode()
        if link := _CSV.search(html):
            path = link[1].replace("&amp;", "&")
            answer = client.get(url.partition("?")[0] + path if path.startswith("?") else path)
            yield f"{route.name}.csv", text_of(answer)


def _outside(client: Client) -> str:
    """All in one text: their frames are the library's."""
    own = [
        route
        for route in routes()
        if not route.arguments and "?P<" not in route.path and route.path.startswith(("auth/", "accounts/"))
    ]
    answers = [(route, client.get(f"/{route.path}")) for route in own if route.name not in _ENDS]
    return "".join(
        f"## {route.path}\n{text_of(answer)}\n" for route, answer in answers if answer.status_code != 405
    )


# Secrets are made anew for each visit of the first; the second ends the session.
_ENDS = {"mfa_activate_totp", "mfa_add_webauthn", "mfa_login_webauthn", "account_logout"}


def text_of(answer: Any, *, whole: bool = False) -> str:
    kind = answer.headers.get("Content-Type", "")
    lines = [f"{answer.status_code} {kind} {answer.headers.get('Location', '')}".rstrip()]
    for name in ("Content-Disposition", "Cache-Control"):
        if name in answer.headers:
            lines.append(f"{name}: {answer.headers[name]}")
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    lines.append(
        outline(body.decode(), whole=whole) if kind.startswith("text/html") else _first_lines(body.decode())
    )
    text = "\n".join(lines)
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text.rstrip() + "\n"


def _first_lines(text: str) -> str:
    lines = text.splitlines()
    more_lines = [f"… {len(lines)} lines"] if len(lines) > MAX_CSV_LINES else []
    return "\n".join([*lines[:MAX_CSV_LINES], *more_lines])
