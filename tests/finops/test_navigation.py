"""The navigations lead to pages that exist, and each page has one place in each."""

from __future__ import annotations

from collections import Counter

from accounts.models import Membership, Role
from finops.navigation import MENU, SETTINGS, TABS, MenuGroup
from tests.cast import Cast, signed_in
from tests.isolation.discovery import account_routes

ITEMS = [item for group in MENU for item in group.items]
SETTINGS_ITEMS = [item for group in SETTINGS for item in group.items]


def test_every_link_and_every_page_below_it_exists() -> None:
    routes = {route.name for route in account_routes()}

    assert {
        name for item in [*ITEMS, *SETTINGS_ITEMS] for name in (item.url_name, *item.pages)
    } - routes == set()
    assert {item.url_name for items in TABS.values() for item in items} - routes == set()


def test_a_page_marks_one_link() -> None:
    for items in (ITEMS, SETTINGS_ITEMS):
        names = Counter(name for item in items for name in (item.url_name, *item.pages))

        assert [name for name, count in names.items() if count > 1] == []


def test_every_page_of_settings_marks_settings_in_the_side_navigation() -> None:
    marked = {name for item in SETTINGS_ITEMS for name in (item.url_name, *item.pages)}
    entry = MENU[-1].items[0]

    assert {entry.url_name, *entry.pages} == marked


def test_events_for_admins_are_not_shown_to_others() -> None:
    def labels(role: Role) -> set[str]:
        return {item.label for group in SETTINGS for item in group.visible_to(Membership(role=role))}

    assert labels(Role.ADMIN) - labels(Role.MEMBER) == {
        *("Cost access", "Security", "Single sign-on", "Audit log")
    }


def test_a_page_of_settings_has_their_navigation_and_others_do_not(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    settings = client.get("/a/acme/settings/members/").content.decode()
    other = client.get("/a/acme/teams/").content.decode()

    assert 'aria-label="Settings"' in settings
    assert settings.count('aria-current="page"') == 2, "Settings in the side navigation, Members in its own"
    assert "/a/acme/settings/audit-log/" not in settings
    assert 'aria-label="Settings"' not in other


def test_groups_and_headings_of_a_navigation_have_names_of_their_own() -> None:
    def names(groups: tuple[MenuGroup, ...]) -> list[str]:
        return [group.label for group in groups if group.label]

    for groups in (MENU, SETTINGS):
        assert len(names(groups)) == len(set(names(groups)))
