"""The cost explorer's charts: links of series, ranges of days, hatched buckets with the forecast on top. Today is 20 March
2026, and the data ends the day before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest

from accounts.scoping import account_scope
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.budgets import add_lines, daily_cost
from tests.factories.costs import add_source
from tests.factories.days import NOON
from tests.pages import text_of

URL = "/a/acme/cost-explorer/"
FIRST, YESTERDAY = date(2025, 10, 1), date(2026, 3, 19)


@pytest.fixture
def viewer(cast: Cast) -> Iterator[Any]:
    with account_scope(cast.account):
        add_source(
            cast.account,
            add_lines(
                daily_cost(FIRST, YESTERDAY, 10, service="Compute"),
                daily_cost(FIRST, YESTERDAY, 5, service="Storage"),
            ),
        )
    with clock.frozen(NOON):
        yield signed_in(cast.viewer)


def chart_of(viewer: Any, query: dict[str, Any]) -> dict[str, Any]:
    page = viewer.get(URL, query).content.decode()
    (chart,) = re.findall(r'data-chart="([^"]+)"', page)
    options: dict[str, Any] = json.loads(unescape(chart))
    return options


def test_the_month_that_is_not_over_is_hatched_with_its_forecast_on_top(viewer: Any) -> None:
    query = {
        "start_date": "2026-01-01",
        "end_date": "2026-03-20",
        "granularity": "month",
        "group_by": "service",
    }

    chart = chart_of(viewer, query)

    assert chart["kind"] == "bar"
    assert chart["partialFrom"] == 2
    names = [series["name"] for series in chart["series"]]
    assert names == ["Compute", "Storage", "Remaining forecast"]
    assert chart["series"][-1]["values"] == [None, None, 180]
    assert chart["series"][0]["values"] == [310, 280, 190]


def test_the_table_of_the_chart_keeps_the_forecast_out_of_the_total(viewer: Any) -> None:
    query = {
        "start_date": "2026-03-01",
        "end_date": "2026-03-20",
        "granularity": "month",
        "group_by": "service",
    }

    text = text_of(viewer.get(URL, query))

    assert "Remaining forecast, not in the total $180.00 $180.00" in text
    assert "Total $285.00 $285.00" in text


def test_a_day_without_all_its_cost_has_its_forecast(viewer: Any) -> None:
    chart = chart_of(viewer, {"period": "month_to_date", "granularity": "day"})

    assert chart["partialFrom"] == 19
    assert chart["series"][-1]["name"] == "Remaining forecast"
    assert chart["series"][-1]["values"][18:] == [None, 15]


def test_complete_days_are_neither_hatched_nor_forecast(viewer: Any) -> None:
    chart = chart_of(viewer, {"period": "last_30_days", "granularity": "day", "group_by": "service"})

    assert "partialFrom" not in chart
    assert [series["name"] for series in chart["series"]] == ["Compute", "Storage"]


def test_spread_charges_have_no_forecast(viewer: Any) -> None:
    chart = chart_of(viewer, {"period": "month_to_date", "granularity": "day", "spread": "charge_period"})

    assert "Remaining forecast" not in [series["name"] for series in chart["series"]]


def test_each_series_leads_to_what_is_finer_and_the_rest_to_all_groups(viewer: Any) -> None:
    chart = chart_of(
        viewer, {"period": "last_30_days", "granularity": "day", "group_by": "service", "limit": "1"}
    )

    compute, other_link = (parse_qs(link.removeprefix("?")) for link in chart["links"])
    assert (compute["f0"], compute["f0v"], compute["group_by"]) == (["service"], ["Compute"], ["usage_type"])
    assert (other_link["limit"], other_link["group_by"]) == (["50"], ["service"])


def test_a_range_of_weeks_stays_inside_the_days_that_were_asked(viewer: Any) -> None:
    query = {
        "start_date": "2026-02-04",
        "end_date": "2026-02-20",
        "granularity": "week",
        "group_by": "service",
    }

    zoom = chart_of(viewer, query)["zoom"]

    assert zoom["from"] == ["2026-02-04", "2026-02-09", "2026-02-16"]
    assert zoom["to"] == ["2026-02-08", "2026-02-15", "2026-02-20"]
    assert parse_qs(zoom["url"].removeprefix("?")) == {"granularity": ["week"], "group_by": ["service"]}
