from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.scoping import account_scope
from ingestion.models import Customer
from tests.cast import Cast, signed_in
from tests.factories.usage import add_metrics, add_usage, event
from tests.pages import csv_rows

URL = "/a/acme/usage/"
JANUARY = {"start_date": "2026-01-01", "end_date": "2026-01-31"}
FIRST, SECOND = date(2026, 1, 2), date(2026, 1, 3)


@pytest.fixture
def acme_usage(cast: Cast) -> Cast:
    events = [
        event(FIRST, "<b>acme</b>", "10.000000000001", unit="call", dimensions={"Region": "eu"}),
        event(SECOND, "株/ü", 20, unit="call", dimensions={"Region": "us"}),
        event(SECOND, "=cmd", -5, unit="call"),
        *[event(SECOND, f"small {number:03}", "0.01", unit="call") for number in range(80)],
        event(FIRST, "株/ü", 3, metric="seats", unit="seat"),
        event(SECOND, "株/ü", 1, metric="seats", unit="chair"),
    ]
    with account_scope(cast.account):
        add_usage(cast.account, events, seats="last")
        Customer.objects.filter(customer_id="株/ü").update(name="Kabushiki")
    return cast


def get(cast: Cast, query: dict[str, Any], url: str = URL, **headers: str) -> Any:
    return signed_in(cast.viewer).get(url, query, headers=headers)


def test_the_url_is_the_whole_state(acme_usage: Cast) -> None:
    query = {**JANUARY, "usage_metric": "requests", "group_by": "dimension:Region", "granularity": "month"}
    page = get(
        acme_usage, {**query, "f0": "Region", "f0v": ["us", "eu"], "customers": "株/ü", "limit": "5"}
    ).content.decode()

    assert re.search(r'value="dimension:Region"\s+selected', page)
    assert re.search(r'<option value="month"\s+selected', page)
    assert 'name="f1v" value="us"' in page
    assert 'name="f0v" value="株/ü"' in page
    assert 'value="2026-01-01"' in page
    assert re.search(r">20( \w+)?</span>", page)
    assert "small 001" not in page


def test_the_filters_that_the_form_sends_are_the_question_of_the_tool(acme_usage: Cast) -> None:
    params = {**JANUARY, "usage_metric": "requests", "group_by": "", "period": "custom"}
    page = get(
        acme_usage,
        {**params, "f0": "customer", "f0op": "in", "f0v": ["株/ü"], "f1": "dimension:Region", "f1v": ["us"]},
    )

    text = page.context["mcp_arguments"]
    assert json.loads(text) == {
        "usage_metric": "requests",
        **JANUARY,
        "customers": ["株/ü"],
        "filters": [{"dimension": "dimension:Region", "values": ["us"]}],
    }
    assert page.context["answer"].quantity == 20


def test_names_are_text_and_never_markup(acme_usage: Cast) -> None:
    page = get(acme_usage, {**JANUARY, "group_by": "customer", "granularity": "day"}).content.decode()

    assert "&lt;b&gt;acme&lt;/b&gt;" in page
    assert "<b>acme</b>" not in page
    assert "Kabushiki" in page


def test_the_csv_has_every_row_with_exact_quantities(acme_usage: Cast) -> None:
    query = {**JANUARY, "group_by": "customer", "granularity": "day", "limit": "5", "format": "csv"}
    rows = csv_rows(get(acme_usage, query))

    assert len(rows) == 83
    quantities = {row["customer"]: Decimal(row["quantity"]) for row in rows}
    assert quantities["<b>acme</b>"] == Decimal("10.000000000001")
    assert quantities["'=cmd"] == -5
    assert {(row["metric"], row["unit"], row["aggregation"]) for row in rows} == {("requests", "call", "sum")}
    assert {row["name"] for row in rows if row["customer"] == "株/ü"} == {"Kabushiki"}
    for row in rows:
        days = [Decimal(value) for name, value in row.items() if name.startswith("2026-") and value]
        assert sum(days) == Decimal(row["quantity"])


def test_the_csv_of_a_total_is_one_row(acme_usage: Cast) -> None:
    (row,) = csv_rows(get(acme_usage, {**JANUARY, "usage_metric": "seats", "format": "csv"}))

    assert (row["metric"], row["aggregation"], row["unit"]) == ("seats", "last", "")
    assert (row["quantity"], row["days with data"]) == ("1.000000000000", "2")


def test_two_units_of_a_metric_are_said(acme_usage: Cast) -> None:
    page = get(acme_usage, {**JANUARY, "usage_metric": "seats"}).content.decode()
    assert "Events of &#x27;seats&#x27; have 2 units (&#x27;chair&#x27;, &#x27;seat&#x27;)" in page


def test_htmx_gets_the_result_alone_and_the_address_that_says_it(acme_usage: Cast) -> None:
    answer = get(acme_usage, {**JANUARY, "usage_metric": "seats", "period": "custom"}, HX_Request="true")

    page = answer.content.decode()
    assert "<html" not in page
    assert (
        answer.headers["HX-Push-Url"] == f"{URL}?usage_metric=seats&start_date=2026-01-01&end_date=2026-01-31"
    )


def test_without_parameters_it_shows_the_first_metric_by_customer_and_day(acme_usage: Cast) -> None:
    page = get(acme_usage, {})

    assert (page.context["query"].usage_metric, page.context["query"].group_by) == ("requests", ["customer"])
    assert page.context["answer"].period.days == 30


@pytest.mark.parametrize(("days", "kind"), [([2], "bar"), ([2, 4], "bar"), ([2, 3], "line")])
def test_a_day_that_stands_alone_is_drawn_as_a_bar_because_a_line_would_not_show_it(
    cast: Cast, days: list[int], kind: str
) -> None:
    events = [event(date(2026, 1, day), "c", 1) for day in days]
    with account_scope(cast.account):
        add_usage(cast.account, events)

    page = get(cast, {**JANUARY, "granularity": "day"}).content.decode()

    assert f"&quot;kind&quot;:&quot;{kind}&quot;" in page


def test_the_page_begins_with_a_metric_that_adds_up(acme_usage: Cast) -> None:
    with account_scope(acme_usage.account):
        add_metrics(
            acme_usage.account, [event(FIRST, "株/ü", 7, metric="active seats")], **{"active seats": "last"}
        )

    assert get(acme_usage, {}).context["query"].usage_metric == "requests"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            {"usage_metric": "request"},
            ("usage_metric: &#x27;request&#x27; does not exist. Nearest: &#x27;requests&#x27;."),
        ),
        ({"granularity": "hour"}, "granularity: &#x27;hour&#x27; does not exist."),
        ({"group_by": "nothing"}, "group_by: &#x27;nothing&#x27; does not exist."),
        (
            {"period": "last_month", "start_date": "2026-01-01"},
            "Use either period, or start_date and end_date.",
        ),
        ({"customers": "\x00"}, "NUL character"),
        ({"f0": "Region", "f0v": "\x00"}, "NUL character"),
    ],
    ids=["metric", "granularity", "group", "two-periods", "nul-customer", "nul-value"],
)
def test_a_bad_question_says_what_to_mend(acme_usage: Cast, query: dict[str, str], message: str) -> None:
    answer = get(acme_usage, query)

    assert answer.status_code == 400
    assert message in answer.content.decode()


def test_suggestions_are_customers_and_values_that_hold_the_text(acme_usage: Cast) -> None:
    def suggest(**query: str) -> Any:
        return get(acme_usage, query, url=f"{URL}values/").json()["values"]

    assert suggest(dimension="customer", q="KABU") == [{"value": "株/ü", "hint": "Kabushiki"}]
    assert len(suggest(dimension="customer", q="")) == 20
    assert suggest(dimension="dimension:Region", q="U") == [
        {"value": "eu", "hint": ""},
        {"value": "us", "hint": ""},
    ]
    assert suggest(dimension="Region", q="s") == [{"value": "us", "hint": ""}]
    assert suggest(dimension="") == []
    assert suggest(dimension="customer", q="\x00") == suggest(dimension="customer")


def test_without_usage_the_page_leads_to_the_usage_sources(cast: Cast) -> None:
    for url in (URL, "/a/acme/customers/"):
        for person in (cast.viewer, cast.member):
            page = signed_in(person).get(url).content.decode()
            assert "No usage yet" in page
            assert "/a/acme/connections/usage/" in page


def test_the_page_asks_the_same_few_queries_however_much_there_is(acme_usage: Cast) -> None:
    client = signed_in(acme_usage.viewer)
    client.get(URL)
    counts = []
    for query in (
        {"usage_metric": "seats"},
        {"usage_metric": "requests", "group_by": "customer", "granularity": "day"},
    ):
        with CaptureQueriesContext(connection) as queries:
            client.get(URL, {**JANUARY, **query})
        counts.append(len(queries))
    assert counts[1] - counts[0] <= 1


def test_a_filter_may_have_the_value_custom(acme_usage: Cast) -> None:
    """It is a period of the form only."""
    page = get(acme_usage, {**JANUARY, "period": "custom", "f0": "Region", "f0v": "custom"}).content.decode()

    assert 'name="f0v" value="custom"' in page


@pytest.mark.parametrize("day", ["0001-01-01", "1970-01-01", "9999-12-31"])
def test_the_page_and_its_csv_show_days_of_any_year(cast: Cast, day: str) -> None:
    with account_scope(cast.account):
        add_usage(cast.account, [event(date.fromisoformat(day), "globex", 4321)])

    for granularity in ("none", "day", "week", "month"):
        query = {"start_date": day, "end_date": day, "granularity": granularity, "group_by": "customer"}
        assert "4,321" in get(cast, query).content.decode()
        assert Decimal(csv_rows(get(cast, {**query, "format": "csv"}))[0]["quantity"]) == 4321
