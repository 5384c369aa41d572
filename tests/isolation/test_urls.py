"""Every URL as a signed-out visitor, a stranger, and a viewer. A new URL joins by itself."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import Account, Role
from tests.cast import Cast, signed_in
from tests.isolation.discovery import Route, account_routes, fill, fingerprint, routes
from tests.isolation.rows import MAKERS
from tests.page_structure import faults_of

ROUTES = account_routes()
each_route = pytest.mark.parametrize("route", ROUTES, ids=str)

# Outside /a/<slug>/, who may come. Prefix → why it needs no access check of an account.
OUTSIDE = {
    "": "sends on to sign-in or to the person's account",
    "auth/": "django-allauth: sign-in itself",
    "admin/": "the admin console: operators only, others get 404 (tests/finops/operations)",
    "operators/": "where the console was: leads to /admin/",
    "accounts/": "signed-in pages that make an account; an invitation, by the token of its mail",
    "alerts/": "an address that alerts are mailed to, by the token of a mail",
    "api/mcp": "takes its own credential",
    "api/mcp/server-card": "a public document that says where the MCP server is",
    "api/mcp/server.json": "a public document that says where the MCP server is",
    "api/v1/openapi.json": "a public document that describes the REST API",
    "api/v1/tools": "takes its own credential",
    "api/v1/configuration": "takes its own credential",
    "^api/v1/": "takes its own credential, and knows no such path",
    "oauth/": "the authorization server: clients have their own credentials, the consent page signs in first",
    ".well-known/": "public documents that lead clients to the authorization server",
    "api/usage/events": "takes its own credential",
    "api/usage/cloudevents": "takes its own credential",
    "api/usage/otlp/v1/metrics": "takes its own credential",
    "api/usage/openmeter/api/v1/events": "takes its own credential",
    "api/events": "takes its own credential",
    "api/events/openapi.json": "a public document that describes pushes of events",
    "api/costs/pushes": "takes its own credential",
    "api/costs/pushes/<str:push_id>": "takes its own credential",
    "api/costs/pushes/<str:push_id>/parts/<str:number>": "takes its own credential",
    "api/costs/pushes/<str:push_id>/commit": "takes its own credential",
    "api/costs/months/<str:month>": "takes its own credential",
    "scim/v2/": "takes its own credential",
    "^scim/v2/": "takes its own credential, and knows no such path",
    "api/costs/openapi.json": "a public document that describes pushes of cost",
    "^api/costs/": "takes its own credential, and knows no such path",
    "api/usage/openapi.json": "a public document that describes the push endpoint",
    "^(?:api|oauth|\\.well-known|scim)(?:/|$)": "names the right address, and knows no such path",
    "healthz": "public: the process is alive",
    "readyz": "public: what is ready, no secrets",
    "metrics": "takes a token of its own",
    "docs/": "public documentation",
    "static/": "public files",
    "llms.txt": "public documentation",
    "robots.txt": "public",
    "favicon.ico": "public",
}


OF_THE_PERSON = {"a/<slug:slug>/first-steps/dismiss/"}
"""What a viewer posts too: it changes what she sees herself, and nothing that the account has."""

QUESTIONS = {"a/<slug:slug>/dashboards/<int:dashboard_id>/widgets/preview/": "?type=total"}
"""What a page must be asked to answer at all."""


def url_of(route: Route, account: Account) -> str:
    missing = [name for name in route.arguments if name != "slug" and name not in MAKERS]
    assert not missing, f"{route}: say in tests/isolation/rows/ how to make {missing}"
    values = {name: MAKERS[name](account) for name in route.arguments if name != "slug"}
    return fill(route, account.slug, values) + QUESTIONS.get(route.path, "")


def test_every_url_outside_an_account_is_known() -> None:
    outside = {route.path for route in routes()} - {route.path for route in ROUTES}

    stray = [path for path in outside if path and not path.startswith(tuple(key for key in OUTSIDE if key))]

    assert stray == []


@each_route
def test_every_account_page_has_the_access_check(route: Route) -> None:
    assert isinstance(getattr(route.view, "required_role", None), Role), f"{route} lacks @account_page"


@each_route
def test_a_signed_out_visitor_is_sent_to_sign_in(cast: Cast, route: Route) -> None:
    url = url_of(route, cast.account)

    for answer in (Client().get(url), Client().post(url)):
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/auth/login/")


@each_route
def test_a_stranger_finds_nothing_and_changes_nothing(cast: Cast, route: Route) -> None:
    url, client = url_of(route, cast.account), signed_in(cast.stranger)
    before = fingerprint()

    assert [client.get(url).status_code, client.post(url).status_code] == [404, 404]

    assert fingerprint() == before


@each_route
def test_a_row_of_another_account_is_not_found_below_ones_own(cast: Cast, route: Route) -> None:
    if route.arguments == ("slug",):
        return
    values = {name: MAKERS[name](cast.account) for name in route.arguments if name != "slug"}
    url = fill(route, cast.other_account.slug, values) + QUESTIONS.get(route.path, "")
    client = signed_in(cast.stranger)
    before = fingerprint()

    for answer in (client.get(url), client.post(url)):
        assert answer.status_code in {404, 405}

    assert fingerprint() == before


@each_route
def test_a_viewer_can_post_nothing_that_changes_anything(cast: Cast, route: Route) -> None:
    url, client = url_of(route, cast.account), signed_in(cast.viewer)
    own = frozenset({"accounts_membership"}) if route.path in OF_THE_PERSON else frozenset()
    before = fingerprint(without=own)

    assert client.post(url).status_code in ({302} if own else {403, 405})

    assert fingerprint(without=own) == before


@each_route
def test_a_get_answers_with_a_well_formed_page_and_changes_nothing(cast: Cast, route: Route) -> None:
    url, client = url_of(route, cast.account), signed_in(cast.owner)
    before = fingerprint()

    answer: Any = client.get(url)

    assert answer.status_code in {200, 405}
    if answer.headers["Content-Type"].startswith("text/html") and answer.status_code == 200:
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert faults_of(body.decode()) == []
    assert fingerprint() == before
