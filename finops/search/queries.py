"""Search results of an account: budgets, teams, tags, dashboards, and values of cost. The account must be in scope."""

from __future__ import annotations

import time
from typing import Any, Final

import msgspec
from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Cast, Length
from django.urls import reverse

from accounts.models import Account, User
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.budgets.scopes import visible_budgets
from finops.costs import explorer_steps
from finops.costs.models import CostSource
from finops.costs.queries import list_dimension_values
from finops.costs.queries.saved_views import saved_views_of
from finops.costs.spend_query import SpendQuery
from finops.dashboards.queries import dashboards_of
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.cost_access import sees_whole_account
from finops.lib.errors import UserError
from finops.search.menu import SearchResult

PER_KIND: Final = 5
MAX_TEXT: Final = 100
LEAST_COST_TEXT: Final = 3
"""Shorter texts match nearly every value, so the lake is not queried for them."""

COST_SECONDS: Final = 3.0
"""Time limit of all lake queries together; values that are not found by then are left out."""

_COST_DIMENSIONS: Final = (("service", "stack-2"), ("account", "building"), ("resource", "server"))


class SearchKind(msgspec.Struct, frozen=True):
    """A kind of rows with a name: the page of a row and the argument of its URL."""

    title: str
    icon: str
    page: str
    argument: str


_KINDS: Final = {
    "budget": SearchKind("Budgets", "wallet", "budget", "budget_id"),
    "team": SearchKind("Teams", "sitemap", "team", "team_id"),
    "cost_tag": SearchKind("Cost tags", "tags", "cost_tag", "cost_tag_id"),
    "dashboard": SearchKind("Dashboards", "layout-grid", "dashboard", "dashboard_id"),
    "saved_view": SearchKind("Saved views", "bookmark", "saved_view", "saved_view_id"),
    "source": SearchKind("Connections", "plug-connected", "connection", "source_id"),
}


def clean_text(text: str) -> str:
    """Return the typed text, at most MAX_TEXT characters, without characters that PostgreSQL cannot store."""
    return " ".join(text.replace("\0", " ").split())[:MAX_TEXT].strip()


def named_rows(account: Account, user: User, text: str) -> dict[str, list[SearchResult]]:
    """Return rows whose name contains the text, by the title of their kind; shortest names first. Of dashboards and saved
    views the shared ones and the person's own. With limited cost access only visible budgets, and no connections. One
    query, two with a limit."""
    if not text:
        return {}
    rows: dict[str, QuerySet[Any]] = {
        "budget": _budgets(text),
        "team": Team.objects.all(),
        "cost_tag": CostTag.objects.all(),
        "dashboard": dashboards_of(user),
        "saved_view": saved_views_of(user),
        "source": CostSource.objects.all() if sees_whole_account() else CostSource.objects.none(),
    }
    parts = [_matching(kind, each, text) for kind, each in rows.items()]
    groups: dict[str, list[SearchResult]] = {kind.title: [] for kind in _KINDS.values()}
    for name, row_id, label in parts[0].union(*parts[1:], all=True):
        kind = _KINDS[name]
        href = reverse(kind.page, kwargs={"slug": account.slug, kind.argument: row_id})
        groups[kind.title].append(SearchResult(label=label, href=href, icon=kind.icon))
    return {title: results for title, results in groups.items() if results}


def _budgets(text: str) -> QuerySet[Budget]:
    if sees_whole_account():
        return Budget.objects.all()
    rows = visible_budgets(Budget.objects.filter(name__icontains=text))
    return Budget.objects.filter(pk__in=[row.pk for row in rows])


def _matching(kind: str, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    name = "key" if kind == "cost_tag" else "name"
    matches = rows.select_related(None).filter(**{f"{name}__icontains": text})
    columns = matches.annotate(result_kind=Value(kind), result_name=Cast(F(name), CharField()))
    matching: QuerySet[Any] = columns.order_by(Length(name), "pk").values_list(
        "result_kind", "pk", "result_name"
    )
    return matching[:PER_KIND]


class CostValues(msgspec.Struct, frozen=True):
    """`is_complete`: the lake answered for every dimension in time."""

    groups: dict[str, list[SearchResult]]
    is_complete: bool = True


def cost_values(account: Account, text: str) -> CostValues:
    """Return, by title, tag keys, and services, provider accounts and resources of the last 365 days with data that contain
    the text, as the filters of the cost explorer find them. Each links to the explorer, grouped by it or filtered to it.

    One lake query a dimension, COST_SECONDS for all. A dimension without an answer by then is left out.
    """
    if len(text) < LEAST_COST_TEXT:
        return CostValues({})
    until = time.monotonic() + COST_SECONDS
    groups, is_complete = {"Tags": _tag_keys(account, text)}, True
    for dimension, icon in _COST_DIMENSIONS:
        try:
            answer = list_dimension_values(account, dimension, search=text, limit=PER_KIND, deadline=until)
        except UserError:
            is_complete = False
            continue
        if answer.values:
            groups[_TITLES[dimension]] = [
                SearchResult(
                    label=each.label or each.value,
                    detail=each.value if each.label else "",
                    href=_explorer_url(account, dimension, each.value),
                    icon=icon,
                )
                for each in answer.values
            ]
    return CostValues(groups, is_complete)


def _tag_keys(account: Account, text: str) -> list[SearchResult]:
    keys = sorted((key for key in cost_tag_keys(account) if text.casefold() in key.casefold()), key=len)
    page = reverse("cost_explorer", kwargs={"slug": account.slug})
    return [
        SearchResult(
            label=key, icon="tag", href=page + explorer_steps.url_of(SpendQuery(group_by=[f"tag:{key}"]))
        )
        for key in keys[:PER_KIND]
    ]


_TITLES: Final = {"service": "Services", "account": "Provider accounts", "resource": "Resources"}


def _explorer_url(account: Account, dimension: str, value: str) -> str:
    query = explorer_steps.drill_down(SpendQuery(granularity="day"), {dimension: value})
    page = reverse("cost_explorer", kwargs={"slug": account.slug})
    return page + explorer_steps.url_of(query) if query else page
