"""Pages and actions that the console's search offers to the people who may open them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

import msgspec
from django.urls import resolve, reverse

from accounts.models import Membership, Role
from finops.navigation import MENU, PERSONAL_SETTINGS, SETTINGS, TABS, MenuItem


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """A search result: its label, icon and URL. `detail` is shown beside the label."""

    label: str
    href: str
    icon: str
    detail: str = ""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """An action. `page` is the URL name of its form; `role_of` that of the view with the required role, else the page's.
    `words` are other search terms."""

    label: str
    page: str
    role_of: str = ""
    words: str = ""


ACTIONS: Final = (
    Action(label="Create budget", page="budget_new", words="new add limit"),
    Action(label="Upload bill", page="cost_upload", words="new import csv parquet focus file invoice"),
    Action(
        label="Connect cost source", page="connection_new", words="new add aws azure google cloud connection"
    ),
    Action(label="Invite member", page="members", role_of="member_invite", words="new add user people"),
    Action(label="Create dashboard", page="dashboard_new", words="new add board"),
    Action(label="Create alert subscription", page="alert_subscription_new", words="new add notification"),
    Action(label="Create alert channel", page="alert_channel_new", words="new add slack teams email webhook"),
    Action(label="Create team", page="team_new", words="new add"),
    Action(label="Create cost tag", page="cost_tag_new", words="new add virtual tag dimension rules"),
    Action(label="Split shared cost", page="split_new", words="new add create allocate"),
    Action(label="Create unit metric", page="unit_metric_new", words="new add unit cost economics"),
    Action(label="Create usage source", page="usage_source_new", words="new add connect push events"),
    Action(
        label="Create MCP key", page="mcp_key_new", words="new add generate assistant connect claude chatgpt"
    ),
    Action(
        label="Create service account",
        page="service_account_new",
        words="new add machine client credentials oauth ci agent",
    ),
    Action(label="Add exchange rate", page="exchange_rate_new", words="new create currency"),
    Action(label="Add AI price", page="ai_price_new", words="new create negotiated token price model"),
    Action(label="Import savings", page="savings_import", words="upload recommendations"),
)

_OF_THE_FRAME: Final = (
    MenuItem("Notifications", "notifications", "bell"),
    MenuItem("Usage API", "usage_api", "api"),
    MenuItem("Cost API", "cost_api", "api"),
    MenuItem("REST API", "rest_api", "api"),
)
"""Pages of the bell and of the help menu, which are not in a navigation."""

LIMIT: Final = 8

Reachable = frozenset[str] | None
"""URL names of the pages that a reader with limited cost access may open; None: all."""


@functools.cache
def _role_of(page: str) -> Role:
    """Return the role that the view of a page without arguments requires."""
    role: Role = resolve(reverse(page, kwargs={"slug": "a"})).func.required_role  # type: ignore[attr-defined]
    return role


def actions(membership: Membership, text: str, *, reachable: Reachable) -> list[SearchResult]:
    """Return matching actions that the member may do: none with limited cost access, which changes nothing."""
    if reachable is not None:
        return []
    results = [
        SearchResult(label=action.label, href=_href(membership, action.page), icon="bolt")
        for action in ACTIONS
        if membership.may(_role_of(action.role_of or action.page))
        and _matches(text, action.label, action.words)
    ]
    return _best(results, text)


def pages(membership: Membership, text: str, *, reachable: Reachable) -> list[SearchResult]:
    """Return matching pages that the member may open."""
    results = [
        SearchResult(
            label=item.label, href=_href(membership, item.url_name), icon=item.icon or icon, detail=group
        )
        for group, icon, item in _every_page()
        if membership.may(item.role) and _is_reachable(item, reachable) and _matches(text, item.label, group)
    ]
    return _best(results, text)


def _is_reachable(item: MenuItem, reachable: Reachable) -> bool:
    return reachable is None or item.url_name in reachable or item in PERSONAL_SETTINGS


def _every_page() -> Iterator[tuple[str, str, MenuItem]]:
    """Yield each page of the navigations once, with its heading and the heading's icon."""
    listed: set[str] = set()
    menus = (
        *((group.label, "", group.items) for group in MENU[:-1]),
        *(("Settings", "settings", group.items) for group in SETTINGS),
        *((label, "file", items) for label, items in TABS.items()),
        ("", "", _OF_THE_FRAME),
        ("Your settings", "settings", PERSONAL_SETTINGS),
    )
    for group, icon, items in menus:
        for item in items:
            if item.url_name not in listed:
                listed.add(item.url_name)
                yield group, icon, item


def _matches(text: str, *texts: str) -> bool:
    """Whether each typed word is in one of the texts."""
    where = " ".join(texts).casefold()
    return all(word in where for word in text.casefold().split())


def _best(results: list[SearchResult], text: str) -> list[SearchResult]:
    """Return results whose label begins with the text first, then those that contain it, then the rest in the order of the
    menu."""
    typed = text.casefold()

    def rank(result: SearchResult) -> int:
        label = result.label.casefold()
        return 0 if label.startswith(typed) else 1 if typed in label else 2

    return sorted(results, key=rank)[:LIMIT]


def _href(membership: Membership, page: str) -> str:
    if any(item.url_name == page for item in PERSONAL_SETTINGS):
        return reverse(page)
    return reverse(page, kwargs={"slug": membership.account.slug})
