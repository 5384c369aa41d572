from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from html import unescape

import pytest

from accounts.models import User
from accounts.scoping import account_scope
from finops.costs.models import CostImport, CostSource
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.finops.lake.facts import line, store
from tests.pages import get_page

NOVEMBER_20 = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def source(cast: Cast) -> CostSource:
    with account_scope(cast.account):
        return CostSource.objects.create(account=cast.account, name="Clouds")


def overview(cast: Cast, query: str = "") -> str:
    with clock.frozen(NOVEMBER_20):
        return get_page(signed_in(cast.viewer), f"/a/acme/{query}")


def empty_overview(user: User) -> str:
    return signed_in(user).get("/a/acme/").content.decode()


def november(cast: Cast, source: CostSource) -> None:
    rows = [
        line(date(2026, 11, 3), "100", service="Compute", charge_category="Usage"),
        line(date(2026, 11, 19), "50", service="Storage", charge_category="Usage"),
        line(date(2026, 11, 19), "-30", service="Compute", charge_category="Credit"),
        line(date(2026, 11, 19), "7", service="Compute", charge_category="Tax"),
        line(date(2026, 11, 5), "9.5", service="Servers", charge_category="Usage", currency="EUR"),
    ]
    store(cast.account, rows, source_id=source.pk, month=date(2026, 11, 1))
    rows = [
        line(date(2026, 10, 2), "80", service="Compute", charge_category="Usage"),
        line(date(2026, 10, 30), "1000", service="Compute", charge_category="Usage"),
    ]
    store(cast.account, rows, source_id=source.pk, month=date(2026, 10, 1))


def test_an_account_without_cost_is_told_how_to_begin(cast: Cast) -> None:
    with clock.frozen(NOVEMBER_20):
        member = signed_in(cast.member).get("/a/acme/").content.decode()
        viewer = signed_in(cast.viewer).get("/a/acme/").content.decode()

    assert 'href="/a/acme/connections/upload/"' in member
    assert 'href="/a/acme/connections/upload/"' not in viewer
    for page in (member, viewer):
        assert 'href="/a/acme/settings/connected-apps/"' in page
        assert 'href="/a/acme/connections/usage/"' in page


def test_only_who_may_add_colleagues_is_told_to(cast: Cast) -> None:
    advice = "Add your colleagues"

    assert advice in empty_overview(cast.admin)
    assert advice not in empty_overview(cast.member)


def test_the_month_so_far_stands_against_the_same_days_of_the_last(cast: Cast, source: CostSource) -> None:
    november(cast, source)

    page = overview(cast)

    assert "$127.00" in page
    assert "against $80.00" in page
    assert "vs Oct 1 – 19" in page


def test_the_total_says_what_credits_and_tax_are_inside(cast: Cast, source: CostSource) -> None:
    november(cast, source)

    page = overview(cast)

    assert "Includes credits \N{MINUS SIGN}$30.00" in page
    assert "tax $7.00" in page


def test_two_currencies_are_never_added(cast: Cast, source: CostSource) -> None:
    november(cast, source)

    page = overview(cast)

    assert "€9.50" in page
    assert "136.50" not in page


def test_the_trend_has_thirteen_months_or_thirty_days_as_chart_and_table(
    cast: Cast, source: CostSource
) -> None:
    november(cast, source)
    client = signed_in(cast.viewer)

    with clock.frozen(NOVEMBER_20):
        pages = [client.get("/a/acme/", {"trend": trend}).content.decode() for trend in ("months", "days")]
    charts = [
        json.loads(unescape(re.findall(r'data-name="trend-USD"\s+data-chart="(.*?)"', page)[0]))
        for page in pages
    ]

    assert [len(chart["labels"]) for chart in charts] == [13, 30]
    assert charts[0]["labels"][-1] == "2026-11"
    (everything,) = charts[0]["series"]
    assert (everything["name"], everything["values"][-2:]) == ("(none)", [1080.0, 127.0])
    assert all("<caption" in page and "View data" in page for page in pages)


def test_old_data_shows_its_newest_month(cast: Cast, source: CostSource) -> None:
    store(
        cast.account,
        [line(date(2024, 9, 18), "12.34", service="Compute")],
        source_id=source.pk,
        month=date(2024, 9, 1),
    )

    page = overview(cast)

    assert "Spend in September 2024" in page
    assert "$12.34" in page


def test_an_import_under_way_is_named(cast: Cast, source: CostSource) -> None:
    with account_scope(cast.account):
        CostImport.objects.create(
            account=cast.account,
            source=source,
            file_name="big.csv",
            bytes_total=200,
            bytes_done=50,
            status="running",
        )

    assert "big.csv is importing into Clouds: 25%" in overview(cast)
