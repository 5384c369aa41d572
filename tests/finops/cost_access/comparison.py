"""Answers and pages of two accounts, without the parts that differ by account: addresses, ids, and the texts of the
limit."""

from __future__ import annotations

import html
import re
from typing import Any

from django.urls import resolve

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, SharedCostSplit, Team
from finops.budgets.models import Budget
from finops.cost_access import reach
from finops.costs.models import SavedView
from finops.dashboards.models import Dashboard
from ingestion.models import Customer
from mcpserver.registry import Tool
from tests.factories.cost_access import LIMIT, Pair
from tests.factories.cost_access_settings import BOARD
from tests.isolation.discovery import Route, fill
from tests.isolation.rows import MAKERS
from tests.mcpserver.mcp_client import McpClient

OTHERWISE = ("anomalies",)
"""Sections of pages that say "not available" to a limited reader."""


def plain(text: str, pair: Pair) -> str:
    for sentence in reach.LEFT_OUT.values():
        text = text.replace(f" {sentence}", "")
    text = text.replace(f"/a/{pair.inside.slug}/", f"/a/{pair.whole.slug}/")
    text = text.replace(f'"{pair.inside.slug}"', f'"{pair.whole.slug}"')
    text = re.sub(r'"(id|cursor|channel_id|budget_id)":(\d+|"[^"]+")', r'"\1":0', text)
    text = re.sub(r',"receipt":"[A-Z-]+"', "", text)
    text = re.sub(r"/\d+/", "/0/", text)
    text = re.sub(r"\bsav_[0-9a-f]{16}\b", "sav_0", text)  # of the source's id
    text = re.sub(rf"<p [^>]*data-cost-access>Cost access is limited to {LIMIT}\.[^<]*</p>", "", text)
    for line in (f"Cost access is limited to '{LIMIT}'. ", f"Cost access is limited to {LIMIT}.\r\n"):
        text = text.replace(line, "")
    return text.replace(f"# Cost access is limited to '{LIMIT}'.\n", "")


def answer_text(key: str, tool: Tool, arguments: dict[str, Any]) -> str:
    result = McpClient(key).result("tools/call", {"name": tool.name, "arguments": arguments})
    return str(result["content"][0]["text"])


def own_rows(account: Account) -> dict[str, object]:
    """The rows of equal settings, by the argument of a URL."""
    with account_scope(account):
        board = Dashboard.objects.get(name=BOARD)
        return {
            "budget_id": getattr(Budget.objects.filter(name="Core budget").first(), "pk", 0),
            "team_id": Team.objects.get(name="Core").pk,
            "cost_tag_id": CostTag.objects.get(key="env").pk,
            "split_id": SharedCostSplit.objects.get(name="Storage").pk,
            "saved_view_id": SavedView.objects.get(name="By service").pk,
            "dashboard_id": board.pk,
            "widget_id": next(iter(board.widgets.order_by("pk"))).pk,
            "customer_pk": Customer.objects.get(customer_id="prod").pk,
            "saving_key": "sav_none",
        }


def url_of(route: Route, account: Account, **values: object) -> str:
    """Of the row of equal settings, else of a row of the isolation walk."""
    values_by_name = {**own_rows(account), **values} if len(route.arguments) > 1 else values
    filled = {
        name: values_by_name[name] if name in values_by_name else MAKERS[name](account)
        for name in route.arguments
        if name != "slug"
    }
    return fill(route, account.slug, filled)


def body_of(answer: Any) -> str:
    return str((answer.getvalue() if answer.streaming else answer.content).decode())


OPTION = re.compile(r'<a class="search-option".*?href="([^"]*)".*?</a>', re.S)
GROUP = re.compile(
    r'<div role="group" aria-label="[^"]*">\s*<div class="search-heading"[^>]*>[^<]*</div>\s*</div>'
)


def refused_options(body: str) -> list[str]:
    """Addresses of options of the search that a limited reader may not open."""
    return [href for href in OPTION.findall(body) if _is_refused(href)]


def without_refused_options(body: str) -> str:
    """Others find them: the search of an account without the other lines has pages that are refused with a limit."""
    body_without_options = OPTION.sub(lambda option: "" if _is_refused(option[1]) else option[0], body)
    return GROUP.sub("", body_without_options)


LINK = re.compile(r'<a\s+(?:class="(btn[^"]*)"\s+)?href="([^"]*)">(.*?)</a>', re.S)
BASIS = re.compile(r'<a href="/a/[\w-]+/settings/cost-view/">(?:Change|Cost view)</a>')


def without_refused_links(text: str) -> str:
    """Limited readers see no button and no link to a page that they may not open, only the words of a link."""
    return LINK.sub(_reachable_link, BASIS.sub("", text))


def _reachable_link(link: re.Match[str]) -> str:
    if not _is_refused(link[2]):
        return link[0]
    return "" if link[1] else link[3]


def refused_links(body: str) -> list[str]:
    """Addresses of the page's links to pages of the account that a limited reader may not open."""
    return [href for href in re.findall(r'<a [^>]*href="([^"]*)"', body) if _is_refused(href)]


def _is_refused(href: str) -> bool:
    path = re.split(r"[?#]", html.unescape(href))[0]
    return path.startswith("/a/") and resolve(path).url_name not in reach.PAGES


def page_text(answer: Any, pair: Pair) -> str:
    """The words of the page's heading and content, whatever stands around them."""
    body = body_of(answer)
    content = re.search(r'<div class="page-header">.*?</main>|<main.*?</main>', body, re.S)
    text = plain(content.group() if content else body, pair)
    text = re.sub(r'<nav class="(subnav|mb-3).*?</nav>', "", text, flags=re.S)  # of other pages
    text = re.sub(r'<div hx-get="/a/[\w-]+/alerts/.*?</div>', "", text, flags=re.S)
    # The tile of anomalies and its placeholder, up to the line break after it.
    text = re.sub(r'<div hx-get="/a/[\w-]+/anomalies/.*?(?=<div class="w-100)', "", text, flags=re.S)
    text = re.sub(r"^Anomalies,.*\n", "", text, flags=re.M)
    text = re.sub(r"^(Budget .*,)\d+(?=\r?$)", r"\g<1>0", text, flags=re.M)  # the id in the CSV of alerts
    text = without_refused_options(text)
    text = re.sub(r'<a [^>]*href="/a/[\w-]+/alerts/(subscriptions|channels)/0/">([^<]*)</a>', r"\2", text)
    text = re.sub(r'<option value="\d+"', '<option value="0"', text)
    text = re.sub(r'<a href="/a/[\w-]+/connections/events/0/">([^<]*)</a>', r"\1", text)
    text = re.sub(r'"csrfmiddlewaretoken" value="\w+"', "", text)
    text = re.sub(r"\b(metric|widget|budget)-\d+|sort=-?m\d+|saved=\d+|data-widget=.\d+", "", text)
    text = re.sub(r'<section [^>]*"Anomalies".*?</section>', "", text, flags=re.S)
    text = re.sub(r'<div class="card-actions"> *<a [^>]*/connections/".*?</div>', "", " ".join(text.split()))
    text = without_refused_links(text)
    for name in OTHERWISE:
        text = re.sub(rf'<section [^>]*"{name}-title".*?</section>', "", text, flags=re.S)
    return " ".join(text.split())


def assert_same_text(limited: str, whole: str) -> None:
    """Raises AssertionError that shows where they part."""
    if limited == whole:
        return
    pairs = enumerate(zip(limited, whole, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(limited), len(whole)))
    first = max(0, at - 150)
    raise AssertionError(f"limited: …{limited[first : at + 200]!r}\nwithout: …{whole[first : at + 200]!r}")
