"""Limited cost access: every page shows what it shows in an account that never had the other lines, or is refused.

A new page joins by itself.
"""

from __future__ import annotations

import html
import re

import pytest

from accounts.scoping import account_scope
from finops.cost_access import reach
from finops.dashboards.models import Widget
from finops.dashboards.widgets import CATALOGUE
from tests.cast import signed_in
from tests.factories.cost_access import LIMIT, SECRET, Pair
from tests.factories.cost_access_settings import BOARD
from tests.finops.cost_access.comparison import (
    assert_same_text,
    body_of,
    page_text,
    refused_links,
    refused_options,
    url_of,
)
from tests.finops.cost_access.questions import PAGES
from tests.isolation.discovery import Route, account_routes
from tests.pages import text_of

pytestmark = pytest.mark.slow

ROUTES = account_routes()
LINKING = {
    *("budgets", "budget", "connected_apps", "cost_explorer", "cost_tags", "customers", "data_health"),
    *("forecast", "how_we_count", "rest_api", "team", "teams", "unit_economics", "usage"),
}
"""Pages that link to settings or sources for other readers."""
each_route = pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.name not in reach.WRITES], ids=str
)


def test_every_page_that_is_reached_has_questions() -> None:
    """An entry in tests/finops/cost_access/questions.py, so that its parameters are proven too."""
    assert set(PAGES) == reach.PAGES
    assert {route.name for route in ROUTES} >= reach.PAGES | reach.WRITES


@each_route
def test_a_page_shows_what_it_shows_without_the_other_lines_or_is_refused(pair: Pair, route: Route) -> None:
    client = signed_in(pair.reader)
    if route.name not in reach.PAGES:
        answer = client.get(url_of(route, pair.whole))
        assert answer.status_code == 403
        assert SECRET not in answer.content.decode().lower()
        return
    limited, whole = url_of(route, pair.whole), url_of(route, pair.inside)
    for question in PAGES[route.name]:
        answer, expected = client.get(limited + question), client.get(whole + question)
        assert answer.status_code == expected.status_code, question
        assert_same_text(page_text(answer, pair), page_text(expected, pair))


@pytest.mark.parametrize("route", [route for route in ROUTES if route.name in LINKING], ids=str)
def test_a_page_has_no_link_to_a_page_that_is_refused(pair: Pair, route: Route) -> None:
    answer = signed_in(pair.reader).get(url_of(route, pair.whole) + PAGES[route.name][0])

    assert refused_links(body_of(answer)) == []


def test_every_widget_shows_what_it_shows_without_the_other_lines(pair: Pair) -> None:
    client = signed_in(pair.reader)
    of_types = []
    for account in (pair.whole, pair.inside):
        with account_scope(account):
            rows = Widget.objects.filter(dashboard__name=BOARD)
            of_types.append({row.type: row.pk for row in rows})
    assert set(of_types[0]) == set(CATALOGUE)
    for kind, pk in of_types[0].items():
        for question in ("", "?period=last_90_days", "?f0=service&f0v=Compute", f"?f0=service&f0v={SECRET}"):
            answer = client.get(f"/a/{pair.whole.slug}/dashboards/widgets/{pk}/{question}")
            expected = client.get(f"/a/{pair.inside.slug}/dashboards/widgets/{of_types[1][kind]}/{question}")
            if kind == "anomalies":
                assert "not available with limited cost access" in text_of(answer)
                continue
            assert_same_text(page_text(answer, pair), page_text(expected, pair))


def test_no_page_of_a_limited_member_changes_anything(pair: Pair) -> None:
    client = signed_in(pair.reader)
    for route in ROUTES:
        if route.name not in reach.WRITES:
            answer = client.post(url_of(route, pair.whole))
            assert answer.status_code in (403, 405), (route, answer.status_code)


def test_the_requests_of_a_reachable_page_are_reachable(pair: Pair) -> None:
    client, names = signed_in(pair.reader), {route.path: route.name for route in ROUTES}
    for route in ROUTES:
        if route.name not in reach.PAGES:
            continue
        for url in re.findall(r'hx-get="([^"]+)"', body_of(client.get(url_of(route, pair.whole)))):
            assert client.get(html.unescape(url)).status_code != 403, (names[route.path], url)


def test_no_page_names_what_is_left_out(pair: Pair) -> None:
    client = signed_in(pair.reader)
    for route in ROUTES:
        if route.name not in reach.PAGES or route.arguments != ("slug",):
            continue
        for question in PAGES.get(route.name, [""]):
            if SECRET in question:
                continue
            answer = client.get(url_of(route, pair.whole) + question)
            assert SECRET not in body_of(answer).lower(), f"{route} {question}"


def test_the_frame_of_a_page_names_the_limit(pair: Pair) -> None:
    text = text_of(signed_in(pair.reader).get(f"/a/{pair.whole.slug}/cost-explorer/"))
    assert f"Cost access is limited to {LIMIT}" in text
    assert "Anomalies" not in text


def test_the_search_leads_to_nothing_that_is_refused(pair: Pair) -> None:
    client = signed_in(pair.reader)
    for question in PAGES["search"]:
        body = body_of(client.get(f"/a/{pair.whole.slug}/search/{question}"))
        assert refused_options(body) == [], question
        assert SECRET not in body.lower()
    results = body_of(client.get(f"/a/{pair.whole.slug}/search/?q=core"))
    assert "Core budget" in results
    assert "Create" not in body_of(client.get(f"/a/{pair.whole.slug}/search/?q=create"))
    assert "i-1" in body_of(client.get(f"/a/{pair.whole.slug}/search/?q=i-1&costs=1"))
