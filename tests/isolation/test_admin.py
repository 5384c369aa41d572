"""Every URL of the admin console, as who is no operator: 404 for members, sign-in for the signed out. A new one joins by itself."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.cast import Cast, signed_in
from tests.isolation.discovery import Route, fill, fingerprint, routes

ROUTES = [route for route in routes() if route.path.startswith("admin/")]
VALUES = {
    "object_id": 1,
    "action_name": "suspend",
    "export_id": 1,
    "provider_id": 1,
    "protocol": "oidc",
    "url": "anything/",
}


def url_of(route: Route) -> str:
    path = route.path.replace("(?P<url>.*)$", "anything/")
    return fill(Route(path, route.view, route.name, route.arguments), "usage", VALUES)


def test_there_is_a_list_a_page_and_an_action_for_nearly_every_model() -> None:
    assert len(ROUTES) > 200


def test_every_page_has_the_access_check_of_operators() -> None:
    assert [str(route) for route in ROUTES if not getattr(route.view, "is_operator_page", False)] == []


@pytest.mark.slow
def test_an_owner_finds_nothing_and_changes_nothing(cast: Cast) -> None:
    client, before = signed_in(cast.owner), fingerprint()

    answers = {
        url: (client.get(url).status_code, client.post(url).status_code) for url in map(url_of, ROUTES)
    }

    assert {url: statuses for url, statuses in answers.items() if statuses != (404, 404)} == {}
    assert fingerprint() == before


def test_signed_out_leads_to_sign_in_everywhere(db: None) -> None:
    client, before = Client(), fingerprint()

    for url in map(url_of, ROUTES):
        for answer in (client.get(url), client.post(url)):
            assert answer.status_code == 302, url
            assert answer.headers["Location"].startswith("/auth/login/"), url
    assert fingerprint() == before
