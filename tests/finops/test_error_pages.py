"""Error pages: in the design of the product, with a link to continue."""

from __future__ import annotations

import re

import pytest
from django.test import Client, RequestFactory
from django.views.defaults import server_error

from accounts.models import Membership
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.lib import clock
from tests.cast import ACTOR, Cast, signed_in


def test_a_failure_on_our_side_has_the_design_of_the_product() -> None:
    answer = server_error(RequestFactory().get("/"))

    page = answer.content.decode()
    assert answer.status_code == 500
    assert "css/console" in page
    assert '<a class="btn btn-primary" href="/">Go to home page</a>' in page


@pytest.mark.django_db
def test_error_pages_for_missing_and_forbidden_pages_link_to_the_start_page(cast: Cast) -> None:
    missing = Client().get("/nowhere/")
    refusal = signed_in(cast.viewer).get("/a/acme/budgets/new/")

    for answer, status in ((missing, 404), (refusal, 403)):
        page = answer.content.decode()
        assert answer.status_code == status
        assert '<a href="/" class="brand fs-2">' in page
        assert "Go to home page" in page


@pytest.mark.django_db
def test_each_page_of_ones_sign_in_has_a_title_of_its_own(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    pages = [client.get(f"/auth/{path}/").content.decode() for path in ("email", "password/change", "2fa")]

    titles = {page.partition("<title>")[2].partition("</title>")[0].strip() for page in pages}
    assert len(titles) == len(pages)


TOKEN = re.compile(rb"[A-Za-z0-9_-]{43,}|nonce=\S+")
"""CSRF tokens and nonces, which differ in each response."""
MISSING = ("nowhere/", "teams/999999/", "connections/999999/edit/")


@pytest.mark.django_db
@pytest.mark.parametrize("path", MISSING)
def test_a_member_keeps_the_accounts_navigation_on_a_page_that_does_not_exist(cast: Cast, path: str) -> None:
    answer = signed_in(cast.member).get(f"/a/acme/{path}")

    page = answer.content.decode()
    assert answer.status_code == 404
    assert "This page does not exist, or you have no access" in page
    assert 'href="/a/acme/cost-explorer/"' in page
    assert '<a class="btn btn-primary" href="/a/acme/">Go to overview</a>' in page


@pytest.mark.django_db
@pytest.mark.parametrize("path", MISSING)
@pytest.mark.parametrize("name", ["stranger", ""])
def test_missing_pages_reveal_nothing_of_an_account_to_others(cast: Cast, name: str, path: str) -> None:
    client = signed_in(cast.person(name)) if name else Client()

    foreign_page, nobodys = (client.get(f"/a/{slug}/{path}") for slug in ("acme", "no-such-account"))

    assert foreign_page.status_code == nobodys.status_code
    assert TOKEN.sub(b"", foreign_page.content).replace(b"acme", b"no-such-account") == TOKEN.sub(
        b"", nobodys.content
    )
    assert b"Acme" not in foreign_page.content
    assert b"/a/acme/cost-explorer/" not in foreign_page.content


@pytest.mark.django_db
def test_a_member_of_a_suspended_account_gets_the_plain_page(cast: Cast) -> None:
    cast.account.suspended_at = clock.now()
    cast.account.save()

    answer = signed_in(cast.member).get("/a/acme/nowhere/")

    assert answer.status_code == 404
    assert "Go to home page" in answer.content.decode()


@pytest.mark.django_db
def test_a_limited_reader_keeps_the_pages_of_the_limit(cast: Cast) -> None:
    limit = create_limit(
        account=cast.account,
        actor=ACTOR,
        name="Core",
        alternatives=[[CostFilter(dimension="service", values=["EC2"])]],
    )
    membership = Membership.objects.select_related("account").get(account=cast.account, user=cast.viewer)
    limit_member(membership=membership, limit=limit, actor=ACTOR)

    page = signed_in(cast.viewer).get("/a/acme/nowhere/").content.decode()

    assert "This page does not exist, or you have no access" in page
    assert 'href="/a/acme/connections/"' not in page
