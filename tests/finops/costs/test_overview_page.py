from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.costs.models import CostImport, CostSource
from finops.lake.engine import engine
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget
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


def test_an_account_without_cost_sees_how_to_begin(cast: Cast) -> None:
    with clock.frozen(NOVEMBER_20):
        member = signed_in(cast.member).get("/a/acme/").content.decode()
        viewer = signed_in(cast.viewer).get("/a/acme/").content.decode()

    assert 'href="/a/acme/connections/upload/"' in member
    assert 'href="/a/acme/connections/upload/"' not in viewer
    for page in (member, viewer):
        assert 'href="/a/acme/settings/connected-apps/"' in page


def test_the_month_so_far_stands_against_the_same_days_of_the_last(cast: Cast, source: CostSource) -> None:
    november(cast, source)

    page = overview(cast)

    assert "$127.00" in page
    assert "vs $80.00" in page
    assert "Nov 1 – 19 vs Oct 1 – 19" in page


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
    everything = charts[0]["series"][0]
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


def test_the_four_tiles_stand_before_the_trend(cast: Cast, source: CostSource) -> None:
    november(cast, source)

    page = overview(cast)

    titles = ["Spend this month", "Forecast", "Budgets at risk", "Potential monthly savings", "Trend by"]
    places = [page.index(title, page.index("Data through")) for title in titles]
    assert places == sorted(places)


def test_cost_of_days_that_are_not_complete_is_named_and_not_compared(cast: Cast, source: CostSource) -> None:
    october, days = date(2026, 10, 1), [date(2026, 11, day) for day in (3, 19, 20)]
    store(cast.account, [line(october, "80", service="Compute")], source_id=source.pk, month=october)
    rows = [line(day, "3.21", service="Compute") for day in days]
    store(cast.account, rows, source_id=source.pk, month=date(2026, 11, 1))

    page = overview(cast)

    assert "$9.63 −92% vs $80.00 Incomplete days, not compared: $3.21" in page


def test_the_month_under_way_is_hatched_with_its_forecast_on_top(cast: Cast, source: CostSource) -> None:
    days = [date(2026, 9, 1) + timedelta(days=count) for count in range(80)]
    for month in {day.replace(day=1) for day in days}:
        rows = [line(day, "10", service="Compute") for day in days if day.replace(day=1) == month]
        store(cast.account, rows, source_id=source.pk, month=month)

    with clock.frozen(NOVEMBER_20):
        html = signed_in(cast.viewer).get("/a/acme/").content.decode()
    chart = json.loads(unescape(re.findall(r'data-name="trend-USD"\s+data-chart="(.*?)"', html)[0]))

    cost, remaining = chart["series"]
    assert chart["partialFrom"] == 12
    assert cost["values"][-1] == 190.0
    assert (remaining["name"], remaining["values"][-1]) == ("Remaining forecast", 110.0)
    assert remaining["values"][:-1] == [None] * 12


def movers(cast: Cast) -> str:
    with clock.frozen(NOVEMBER_20):
        return signed_in(cast.viewer).get("/a/acme/overview/movers/").content.decode()


def test_movers_are_the_largest_changes_of_each_currency_with_links_to_the_explorer(
    cast: Cast, source: CostSource
) -> None:
    november(cast, source)
    assert 'hx-get="/a/acme/overview/movers/"' in (signed_in(cast.viewer).get("/a/acme/").content.decode())

    html = movers(cast)
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())

    assert "Nov 1 – 19 vs Oct 1 – 19" in text
    assert "Storage $50.00 new +$50.00" in text
    assert "Compute $77.00 −3.8% −$3.00" in text
    assert text.index("Increases in USD") < text.index("Storage") < text.index("Decreases in USD")
    assert text.index("Compute $77.00") > text.index("Decreases in USD")
    assert "Servers €9.50 new +€9.50" in text
    assert re.search(r'href="/a/acme/cost-explorer/\?[^"]*Storage', html)


def test_an_account_without_changes_has_no_movers(cast: Cast, source: CostSource) -> None:
    assert movers(cast).strip() == ""


@pytest.mark.parametrize(
    ("part", "most"),
    [
        ("", 3),
        ("overview/movers/", 1),
        ("budgets/at-risk/", 1),
        ("savings/potential/", 4),
    ],
)
def test_each_part_asks_the_lake_few_questions(
    cast: Cast, source: CostSource, part: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    november(cast, source)
    with account_scope(cast.account), clock.frozen(NOVEMBER_20):
        create_budget(cast.account)
    questions: list[object] = []
    run = engine.run

    def count(*args: Any, **options: Any) -> Any:
        questions.append(args)
        return run(*args, **options)

    monkeypatch.setattr(engine, "run", count)

    with clock.frozen(NOVEMBER_20):
        assert signed_in(cast.viewer).get(f"/a/acme/{part}").status_code == 200

    assert 0 < len(questions) <= most
