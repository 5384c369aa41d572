"""The side navigation leads to pages that exist, and each page has one place in it."""

from __future__ import annotations

from collections import Counter

from accounts.models import Membership, Role
from finops.navigation import MENU, TABS
from tests.isolation.walk import account_routes

ITEMS = [item for group in MENU for item in group.items]


def test_every_link_and_every_page_below_it_exists() -> None:
    routes = {route.name for route in account_routes()}

    assert {name for item in ITEMS for name in (item.url_name, *item.pages)} - routes == set()
    assert {item.url_name for items in TABS.values() for item in items} - routes == set()


def test_a_page_marks_one_link() -> None:
    names = Counter(name for item in ITEMS for name in (item.url_name, *item.pages))

    assert [name for name, count in names.items() if count > 1] == []


def test_what_only_admins_may_see_is_not_shown_to_others() -> None:
    settings = MENU[-1]

    def labels(role: Role) -> set[str]:
        return {item.label for item in settings.visible_to(Membership(role=role))}

    assert labels(Role.ADMIN) - labels(Role.MEMBER) == {"Security", "Audit log"}
