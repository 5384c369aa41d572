from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.costs.models import CostSource
from tests.cast import Cast, signed_in
from tests.finops.lake.facts import line, store
from tests.pages import csv_rows

URL = "/a/acme/cost-explorer/"
JANUARY = {"start_date": "2026-01-01", "end_date": "2026-01-31"}


@pytest.fixture
def account_with_costs(cast: Cast) -> Cast:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Clouds")
    rows = [
        line(
            date(2026, 1, 2),
            "10.123456789012345678",
            service="<b>Compute</b>",
            region="eu",
            tags={"Env": "prod"},
        ),
        line(date(2026, 1, 3), "20", service="Storage", region="us", tags={"env": "dev"}),
        line(date(2026, 1, 3), "-5", service="Refund", region="us", charge_category="Credit"),
        line(date(2026, 1, 4), "3", service="Servers", currency="EUR"),
        *[line(date(2026, 1, 5), "0.01", service=f"Small {number:03}") for number in range(80)],
    ]
    store(cast.account, rows, source_id=source.pk)
    return cast


def get(cast: Cast, query: dict[str, Any], **headers: str) -> Any:
    return signed_in(cast.viewer).get(URL, query, headers=headers)


def test_left_out_cost_is_named_as_on_the_page(account_with_costs: Cast) -> None:
    page = get(account_with_costs, {**JANUARY, "group_by": "service", "limit": "2"}).content.decode()

    assert "list more (now 2, maximum 50)" in page
    assert "raise limit" not in page
    assert "limit=50" in page[page.index("list more") :]


def test_the_url_is_the_whole_state(account_with_costs: Cast) -> None:
    query = {**JANUARY, "group_by": ["service", "tag:env"], "f0": "region", "f0op": "in", "f0v": ["us", "eu"]}

    page = get(account_with_costs, {**query, "granularity": "month", "basis": "amortized"}).content.decode()

    assert re.search(r'value="tag:env"\s+selected', page)
    assert re.search(r'<option value="amortized"\s+selected', page)
    assert re.search(r'name="f0v"\s+value="us"', page)
    assert 'value="2026-01-01"' in page
    assert "Storage" in page
    assert "Servers" not in page


def test_names_are_text_and_never_markup(account_with_costs: Cast) -> None:
    page = get(account_with_costs, {**JANUARY, "group_by": "service", "granularity": "day"}).content.decode()

    assert "&lt;b&gt;Compute&lt;/b&gt;" in page
    assert "<b>Compute</b>" not in page


def test_the_csv_has_every_row_with_exact_amounts(account_with_costs: Cast) -> None:
    rows = csv_rows(
        get(account_with_costs, {**JANUARY, "group_by": "service", "limit": "5", "format": "csv"})
    )

    assert len(rows) == 84
    amounts = {row["service"]: Decimal(row["amount"]) for row in rows}
    assert amounts["<b>Compute</b>"] == Decimal("10.123456789012345678")
    assert amounts["Refund"] == -5
    assert {row["currency"] for row in rows} == {"USD", "EUR"}


def test_the_csv_says_in_its_first_row_what_the_figures_leave_out(account_with_costs: Cast) -> None:
    question = {**JANUARY, "group_by": "service", "granularity": "month", "format": "csv"}
    response = get(account_with_costs, question)

    first, *other_rows = csv_rows(response)

    assert first["note"].startswith("'Acme' spent ")
    assert "; bills cover 4 of 31 days" in first["note"]
    assert {row["note"] for row in other_rows} == {""}
    header = list(first)
    assert header[header.index("change ratio") + 1 :][:2] == ["note", "2026-01-01"]


def test_the_csv_of_buckets_adds_up_to_the_total(account_with_costs: Cast) -> None:
    (usd, *_rest) = csv_rows(
        get(
            account_with_costs,
            {**JANUARY, "granularity": "day", "f0": "region", "f0v": "us", "format": "csv"},
        )
    )

    days = {name: value for name, value in usd.items() if name.startswith("2026-")}
    assert len(days) == 31
    assert sum(Decimal(value) for value in days.values() if value) == Decimal(usd["amount"]) == 15


def test_a_formula_in_a_name_is_defused(cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Clouds")
    store(cast.account, [line(date(2026, 1, 2), "1", service="=HYPERLINK(1)")], source_id=source.pk)

    (row,) = csv_rows(get(cast, {**JANUARY, "group_by": "service", "format": "csv"}))

    assert row["service"] == "'=HYPERLINK(1)"


def test_htmx_gets_the_result_alone_and_the_address_that_says_it(account_with_costs: Cast) -> None:
    answer = get(
        account_with_costs, {**JANUARY, "group_by": ["service", ""], "compare_to": "none"}, HX_Request="true"
    )

    page = answer.content.decode()
    assert "<html" not in page
    assert "Storage" in page
    assert (
        answer.headers["HX-Push-Url"] == f"{URL}?start_date=2026-01-01&end_date=2026-01-31&group_by=service"
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"group_by": "colour"}, "colour"),
        ({"start_date": "yesterday", "end_date": "2026-01-01"}, "start_date"),
        (
            {"period": "last_30_days", "start_date": "2026-01-01", "end_date": "2026-01-02"},
            "Use either period, or start_date and end_date.",
        ),
        ({"granularity": "hour"}, "granularity"),
        ({"limit": "51"}, "limit"),
    ],
)
def test_a_query_that_cannot_be_is_answered_with_what_to_mend(
    account_with_costs: Cast, query: dict[str, str], message: str
) -> None:
    answer = get(account_with_costs, query)

    assert answer.status_code == 400
    page = answer.content.decode()
    alert = re.search(r'role="alert"[^>]*>\s*<div>(.*?)</div>', page, re.S)
    assert alert
    assert message in alert.group(1)
    assert 'id="query"' in page


def test_the_question_for_an_assistant_is_the_same(account_with_costs: Cast) -> None:
    page = get(
        account_with_costs, {**JANUARY, "group_by": "service", "f0": "region", "f0v": "us"}
    ).content.decode()

    match = re.search(r'id="mcp-arguments"[^>]*>(.*?)</pre>', page, re.S)
    assert match
    arguments = json.loads(match.group(1).replace("&quot;", '"'))
    assert arguments == {
        **JANUARY,
        "group_by": ["service"],
        "filters": [{"dimension": "region", "op": "in", "values": ["us"]}],
    }


def test_filters_are_suggested_from_the_data(account_with_costs: Cast) -> None:
    client = signed_in(account_with_costs.viewer)

    answer = client.get(f"{URL}values/", {"dimension": "service", "q": "stor"})
    unknown = client.get(f"{URL}values/", {"dimension": "colour"})

    assert [row["value"] for row in answer.json()["values"]] == ["Storage"]
    assert unknown.status_code == 400
    assert "colour" in unknown.json()["error"]


def test_an_account_without_cost_says_where_to_get_some(cast: Cast) -> None:
    page = get(cast, {}).content.decode()

    assert "No cost yet" in page
    assert "/a/acme/connections/" in page


def test_a_question_without_days_shows_which_it_means(account_with_costs: Cast) -> None:
    page = get(account_with_costs, {"group_by": "service"}).content.decode()

    assert re.search(r'aria-current="true">\s*Last 30 days', page)


def test_days_without_cost_offer_the_newest_that_have_some(account_with_costs: Cast) -> None:
    page = get(
        account_with_costs, {"start_date": "2026-06-01", "end_date": "2026-06-03", "group_by": "service"}
    ).content.decode()

    assert "No cost in these days" in page
    assert "?start_date=2026-01-03&amp;end_date=2026-01-05&amp;group_by=service" in page


def test_filters_without_cost_offer_to_clear_them(account_with_costs: Cast) -> None:
    query = {**JANUARY, "group_by": "service", "f0": "region", "f0v": "us", "f1": "service", "f1v": "Servers"}
    page = get(account_with_costs, query).content.decode()

    assert "No cost matches the filters" in page
    assert re.search(
        r'href="\?start_date=2026-01-01&amp;end_date=2026-01-31&amp;group_by=service">\s*Clear', page
    )


def test_each_filter_is_a_chip_with_dimension_operator_and_values(account_with_costs: Cast) -> None:
    query = {
        **JANUARY,
        "f0": "region",
        "f0op": "not_in",
        "f0v": ["us", "eu", "af"],
        "f1": "tag:Env",
        "f1op": "absent",
    }
    page = get(account_with_costs, query).content.decode()

    assert 'title="Region is not us, eu +1"' in page
    assert 'title="Env has no value"' in page
    assert 'aria-label="Remove Env has no value"' in page


def test_a_chip_has_the_name_of_an_account(cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Clouds")
    rows = [
        line(date(2026, 1, 2), "4", service="Compute", account_id="4711", account_name="Production"),
        line(date(2026, 1, 3), "2", service="Compute", account_id="4712"),
    ]
    store(cast.account, rows, source_id=source.pk)

    page = get(
        cast, {**JANUARY, "group_by": "service", "f0": "account", "f0op": "in", "f0v": ["4711", "4712"]}
    ).content.decode()

    assert 'title="Account is Production, 4712"' in page
    assert re.search(r'title="4711">\s*<input[^>]*value="4711"\s+checked>\s*<span[^>]*>Production<', page)


def test_a_form_without_javascript_keeps_the_rest_of_the_question(account_with_costs: Cast) -> None:
    query = {**JANUARY, "group_by": "service", "f0": "region", "f0v": ["us", "eu"], "measure": "list_cost"}
    page = get(account_with_costs, query).content.decode()

    new_filter = page[page.index('aria-label="Add filter"') :]
    hidden = re.findall(r'<input type="hidden"\s+name="(\w+)"\s+value="([^"]*)"', new_filter)
    assert hidden == [
        ("start_date", "2026-01-01"),
        ("end_date", "2026-01-31"),
        ("group_by", "service"),
        ("measure", "list_cost"),
        ("f0", "region"),
        ("f0op", "in"),
        ("f0v", "us"),
        ("f0v", "eu"),
    ]
    assert 'name="f1"' in new_filter


def test_a_resource_has_a_panel_with_its_tags_commitments_and_events(cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="Clouds")
    machine = {"service": "Compute", "resource_id": "vm-1", "resource_name": "Web <1>", "region": "eu"}
    rows = [
        line(date(2026, 1, 2), "10", **machine, tags={"env": "dev"}),
        line(date(2026, 1, 3), "20", **machine, tags={"env": "prod"}),
        line(date(2026, 1, 3), "5", **machine, commitment_id="sp-1", commitment_name="Savings plan"),
        line(date(2026, 1, 3), "7", service="Compute", resource_id="vm-2", tags={"env": "test"}),
    ]
    store(cast.account, rows, source_id=source.pk)

    page = get(cast, {**JANUARY, "group_by": "resource", "f0": "service", "f0v": "Compute"}).content.decode()
    (link,) = re.findall(r'href="(\?[^"]*f1v=vm-1)"', page)
    panel = signed_in(cast.viewer).get(URL + link.replace("&amp;", "&")).content.decode()

    assert "Web &lt;1&gt;" in panel
    assert "env: prod" in panel
    assert "env: dev" not in panel
    assert "env: test" not in panel
    assert re.search(r'title="sp-1">Savings plan</span>\s*<span class="amount">\$5.00', panel)
    assert "No anomalies or events" in panel
    assert "35.00" in panel
