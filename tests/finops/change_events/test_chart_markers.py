"""Change events on the cost explorer's charts: which, where, and what a limited reader sees of them."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.costs.spend_query import Filter
from finops.lib.chart_markers import MAX_MARKERS, MarkerQuestion, markers_of
from finops.lib.cost_access import CostLimit, cost_access
from finops.lib.periods import DateRange
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost

FIRST = date(2026, 3, 2)
DAYS = DateRange(FIRST, FIRST + timedelta(days=13))


@pytest.fixture(autouse=True)
def events(cast: Cast) -> None:
    """Two weeks of cost, two deployments on the second day and one that is of another service."""
    with account_scope(cast.account):
        lines = [cost(FIRST + timedelta(days=index), 10, service="Compute") for index in range(14)]
        add_source(cast.account, lines)
        for hour, title, service in ((9, "one", "Compute"), (10, "two", "Compute"), (11, "three", "Storage")):
            ChangeEvent.objects.create(
                account=cast.account,
                origin="note",
                kind="deployment",
                title=title,
                occurred_at=datetime(2026, 3, 3, hour, tzinfo=UTC),
                scope={"service": [service]},
            )


def page_of(cast: Cast, **params: str) -> str:
    query = {"start_date": str(DAYS.start), "end_date": str(DAYS.end), "granularity": "day", **params}
    answer = signed_in(cast.viewer).get(f"/a/{cast.account.slug}/cost-explorer/", query)
    assert answer.status_code == 200
    return answer.content.decode()


def markers_on_chart(page: str) -> list[dict[str, Any]]:
    (chart,) = re.findall(r'data-chart="([^"]*)"', page)
    markers: list[dict[str, Any]] = json.loads(html.unescape(chart)).get("markers", [])
    return markers


def test_a_day_has_a_marker_and_the_table_lists_each_event(cast: Cast) -> None:
    page = page_of(cast)

    events = [{"kind": "Deployment", "titles": ["one", "two", "three"], "count": 3}]
    assert markers_on_chart(page) == [{"label": "2026-03-03", "events": events}]
    assert "View change events (3)" in page
    assert "data-chart-markers" in page
    assert 'data-marker-kind="Deployment"' in page
    assert "Deployment (3)" in page


def test_an_event_is_in_the_bucket_of_its_day(cast: Cast) -> None:
    (marker,) = markers_on_chart(page_of(cast, granularity="week"))

    assert marker["label"] == "2026-03-02"


def test_a_chart_has_the_events_that_fit_its_filters(cast: Cast) -> None:
    page = page_of(cast, f0="service", f0v="Compute")

    assert markers_on_chart(page)[0]["events"][0]["titles"] == ["one", "two"]
    assert "View change events (2)" in page


def test_a_limited_reader_sees_markers_of_what_her_limit_has_whole(cast: Cast) -> None:
    question = MarkerQuestion(DAYS, [Filter(dimension="service", values=["Compute"])])

    with account_scope(cast.account):
        assert len(markers_of(question)) == 2
        with cost_access(CostLimit("All", lambda table: table.service.notnull())):
            assert markers_of(question) == []
        compute = frozenset({("service", "compute")})
        with cost_access(CostLimit("Compute", lambda table: table.service == "Compute", (), compute)):
            assert {each.title for each in markers_of(MarkerQuestion(DAYS, []))} == {"one", "two"}


def store_many(cast: Cast, count: int, service: str) -> None:
    """Events of the last day."""
    with account_scope(cast.account):
        ChangeEvent.objects.bulk_create(
            ChangeEvent(
                account=cast.account,
                origin="note",
                kind="deployment",
                title=f"{service} v{number}",
                occurred_at=datetime(2026, 3, 14, tzinfo=UTC) + timedelta(seconds=number),
                scope={"service": [service]},
            )
            for number in range(count)
        )


def test_thousands_of_newer_events_of_others_hide_no_event(cast: Cast) -> None:
    store_many(cast, MAX_MARKERS + 1, "Storage")

    page = page_of(cast, f0="service", f0v="compute")

    assert markers_on_chart(page)[0]["events"][0]["titles"] == ["one", "two"]
    assert "View change events (2)" in page
    assert "Charts show the newest" not in page


def test_a_chart_with_more_events_than_it_shows_says_so(cast: Cast) -> None:
    store_many(cast, MAX_MARKERS + 1, "Compute")

    page = page_of(cast, f0="service", f0v="Compute")

    assert "View change events (newest 100 of more than 2,000)" in page
    assert "Charts show the newest 2,000 of more matching change events." in page
    (marker,) = markers_on_chart(page)
    assert (marker["label"], marker["events"][0]["count"]) == ("2026-03-14", 2_000)
    assert "Deployment (2,000)" in page


def test_a_chart_with_all_the_events_that_it_may_show_has_no_note(cast: Cast) -> None:
    store_many(cast, MAX_MARKERS - 2, "Compute")

    page = page_of(cast, f0="service", f0v="Compute")

    assert "View change events (newest 100 of 2,000)" in page
    assert "Charts show the newest" not in page
