"""The search of the console: what each may find, and nothing of another account."""

from __future__ import annotations

import html
import re
from datetime import date
from typing import ClassVar

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import Role
from accounts.scoping import account_scope
from finops.allocation.models import Team
from finops.dashboards.models import Dashboard
from finops.search.menu import ACTIONS
from tests.cast import Cast, make_cast, signed_in
from tests.examples import examples
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.isolation.discovery import account_routes

URL = "/a/acme/search/"
OPTION = re.compile(r'href="([^"]*)">.*?class="search-label">([^<]*)<', re.DOTALL)


def search(client: Client, text: str, **more: str) -> dict[str, str]:
    """Addresses by label."""
    response = client.get(URL, {"q": text, **more})
    assert response.status_code == 200
    return {label: html.unescape(href) for href, label in OPTION.findall(response.content.decode())}


@pytest.fixture
def rows(cast: Cast) -> Cast:
    """A budget, a team and a board that have `alpha` in their names, in both accounts; cost in both."""
    for account in (cast.account, cast.other_account):
        with account_scope(account):
            create_budget(account, f"Alpha budget {account.slug}")
            Team.objects.create(name=f"Alpha team {account.slug}")
            lines = [
                cost(
                    date(2026, 3, 1),
                    10,
                    service=f"Alpha service {account.slug}",
                    resource_id=f"i-alpha-{account.slug}",
                )
            ]
            add_source(account, lines, name=f"Alpha bill {account.slug}")
    return cast


def test_a_name_leads_to_the_row_of_this_account_alone(rows: Cast) -> None:
    results = search(signed_in(rows.both), "ALPHA")

    assert set(results) == {"Alpha budget acme", "Alpha team acme", "Alpha bill acme"}
    assert all(href.startswith("/a/acme/") for href in results.values())
    assert signed_in(rows.both).get(results["Alpha budget acme"]).status_code == 200


def test_cost_is_found_by_service_and_resource_of_this_account_alone(rows: Cast) -> None:
    client = signed_in(rows.both)
    results = search(client, "alpha", costs="1")

    assert set(results) == {"Alpha service acme", "i-alpha-acme"}
    page = client.get(results["i-alpha-acme"])
    assert page.status_code == 200
    assert "i-alpha-acme" in page.content.decode()


@pytest.mark.parametrize(("seconds", "is_incomplete"), [(60.0, False), (-1.0, True)])
def test_an_answer_without_all_of_cost_says_that_it_is_incomplete(
    rows: Cast, monkeypatch: pytest.MonkeyPatch, seconds: float, is_incomplete: bool
) -> None:
    monkeypatch.setattr("finops.search.queries.COST_SECONDS", seconds)

    response = signed_in(rows.member).get(URL, {"q": "alpha", "costs": "1"})

    assert ("X-Search-Incomplete" in response) is is_incomplete


def test_an_account_without_cost_has_all_of_it_searched(cast: Cast) -> None:
    assert "X-Search-Incomplete" not in signed_in(cast.member).get(URL, {"q": "alpha", "costs": "1"})


def test_a_stranger_is_not_found_and_a_visitor_signs_in(rows: Cast) -> None:
    assert signed_in(rows.stranger).get(URL, {"q": "alpha"}).status_code == 404
    assert signed_in(rows.stranger).get(URL, {"q": "alpha", "costs": "1"}).status_code == 404
    assert Client().get(URL, {"q": "alpha"}).status_code == 302


@pytest.mark.parametrize("name", ["viewer", "member", "admin", "owner"])
def test_everybody_is_offered_exactly_what_that_role_may_do(cast: Cast, name: str) -> None:
    roles = {route.name: route.view.required_role for route in account_routes()}
    membership = cast.account.memberships.get(user=cast.person(name))
    client = signed_in(cast.person(name))
    offered = {label for action in ACTIONS for label in search(client, action.label)}
    labels = {action.label for action in ACTIONS}

    assert offered & labels == {
        action.label for action in ACTIONS if membership.may(Role(roles[action.role_of or action.page]))
    }
    assert ("Invite member" in offered) is (name in ("admin", "owner"))
    assert (labels & offered == set()) is (name == "viewer")


@pytest.mark.parametrize("name", ["viewer", "member", "owner"])
def test_every_page_and_action_that_is_offered_opens(cast: Cast, name: str) -> None:
    client = signed_in(cast.person(name))
    hrefs = {href for letter in "aeiou" for href in search(client, letter).values()}

    statuses = {href: client.get(href, follow=True).status_code for href in hrefs}

    assert hrefs
    assert {href: status for href, status in statuses.items() if status != 200} == {}


def test_pages_of_the_bell_and_of_help_are_found(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    assert "Notifications" in search(client, "notif")
    assert "Cost API" in search(client, "api")
    assert "How we count" in search(client, "count")


def test_pages_of_the_person_are_found(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    assert search(client, "your settings sess") == {"Sessions": "/auth/sessions/"}
    assert search(client, "two-factor")["Two-factor sign-in"] == "/auth/2fa/"


def test_pages_for_admins_are_offered_to_them_alone(cast: Cast) -> None:
    assert "Audit log" in search(signed_in(cast.admin), "audit")
    assert "Audit log" not in search(signed_in(cast.member), "audit")


def test_anothers_own_board_is_not_found(cast: Cast) -> None:
    with account_scope(cast.account):
        Dashboard.objects.create(name="Beta of the member", owner=cast.member)
        Dashboard.objects.create(name="Beta of all")

    assert set(search(signed_in(cast.member), "beta")) == {"Beta of the member", "Beta of all"}
    assert set(search(signed_in(cast.viewer), "beta")) == {"Beta of all"}


def test_many_rows_are_cut_and_an_exact_name_comes_first(cast: Cast) -> None:
    with account_scope(cast.account):
        Team.objects.bulk_create(
            Team(account=cast.account, name=f"Gamma of country {number}") for number in range(200)
        )
        Team.objects.create(name="Gamma")

    labels = list(search(signed_in(cast.viewer), "gamma"))

    assert labels[0] == "Gamma"
    assert len(labels) == 5


def test_names_cost_one_query_besides_who_asks(rows: Cast) -> None:
    client = signed_in(rows.member)
    search(client, "alpha")

    with CaptureQueriesContext(connection) as queries:
        search(client, "alpha")

    assert sum("budgets_budget" in each["sql"] for each in queries) == 1
    assert len(queries) <= 4, [each["sql"][:80] for each in queries]


def test_a_short_text_asks_the_lake_nothing(rows: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finops.search.queries.list_dimension_values", None)

    assert search(signed_in(rows.member), "al", costs="1") == {}


class TestAnyText(TestCase):
    """Nothing that is typed breaks the search, and none of it comes back as markup."""

    client_of_member: ClassVar[Client]

    @classmethod
    def setUpTestData(cls) -> None:
        cls.client_of_member = signed_in(make_cast().member)

    @hypothesis_settings(max_examples=examples(100), deadline=None)
    @given(
        text=st.text(max_size=150) | st.sampled_from(["%", "_", "\\", "'; --", "<script>", "\0", "😀" * 60])
    )
    def test_is_answered(self, text: str) -> None:
        query: dict[str, str | bytes] = {"q": text.encode("utf-8", "replace")}
        cache.clear()  # more examples than a person may ask in a minute
        for each in (query, {**query, "costs": "1"}):
            response = self.client_of_member.get(URL, each)

            assert response.status_code == 200
            assert "<script" not in response.content.decode()
