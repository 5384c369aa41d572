"""Unit economics and the customer key as people see them."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lake.engine import engine
from finops.unitcosts.models import CustomerAlias, CustomerKey
from ingestion.models import Customer, UsageMetric
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage, event, store_usage, usage_source
from tests.pages import get_page

PAGE = "/a/acme/unit-economics/"
SETTINGS = "/a/acme/settings/customers/"
ALIASES = f"{SETTINGS}aliases/"


@pytest.fixture
def saas_account(cast: Cast) -> Account:
    """Ten days of cost and requests: two customers that match, a value of nobody, and one side only."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(1, 11)]
    lines = [cost(day, 6, tags={"customer": "acme-corp"}) for day in days]
    lines += [
        cost(days[0], 30, tags={"customer": "globex"}),
        cost(days[0], 9, tags={"customer": "Globex Inc"}),
    ]
    lines += [cost(days[0], "4.5"), cost(days[1], 7, currency="EUR", tags={"customer": "acme-corp"})]
    events = [event(day, "acme-corp", 3, unit="call") for day in days]
    events += [event(days[0], "globex", 10, unit="call"), event(days[0], "initech", 5, unit="call")]
    events += [event(days[0], "silent", 5, metric="seats")]
    with account_scope(cast.account):
        add_source(cast.account, [*lines, cost(days[3], 2, tags={"customer": "silent"})])
        add_usage(cast.account, events, seats="average_of_days")
        Customer.objects.filter(customer_id="globex").update(name="Globex Corporation")
        CustomerKey.objects.create(account=cast.account, dimension="tag:customer")
    return cast.account


def csv_of(client: Client, **query: Any) -> list[dict[str, str]]:
    answer = client.get(f"{PAGE}?{urlencode({**query, 'format': 'csv'}, doseq=True)}")
    text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(text.splitlines()))


def test_the_first_visit_ranks_customers_by_the_first_metric(cast: Cast, saas_account: Account) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "$105.50 ÷ 45 calls = $2.344 for each" in page
    assert "Customers, by tag:customer" in page
    assert "Globex Corporation globex $30.00 10 $3.00" in page
    assert "acme-corp $60.00 30 $2.00" in page


@pytest.mark.parametrize("alone", [False, True], ids=["beside others", "alone"])
def test_a_metric_of_blanks_breaks_the_page_for_nobody(
    cast: Cast, saas_account: Account, alone: bool
) -> None:
    """As pushes could make it until such names were refused."""
    client = signed_in(cast.viewer)
    with account_scope(cast.account):
        if alone:
            UsageMetric.objects.all().delete()
        UsageMetric.objects.create(account=cast.account, name="  ")

    first = get_page(client, PAGE)

    assert ("÷ 45 calls" in first) is not alone
    assert "(blank)" in first
    assert "(blank)" in get_page(client, PAGE, usage_metric="  ")


def test_both_sides_that_do_not_match_are_shown_with_instructions(cast: Cast, saas_account: Account) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "Cost without customer" in page
    assert "Globex Inc $9.00" in page
    assert "(untagged) $4.50" in page
    assert re.search(r"initech .{0,3}\$0\.00 5 Cost", page)
    assert re.search(r"silent .{0,3}\$2\.00 — Usage", page)


def test_the_first_page_has_charts_with_their_figures(cast: Cast, saas_account: Account) -> None:
    answer = signed_in(cast.viewer).get(PAGE).content.decode()

    assert [answer.count(f'data-name="{name}-USD"') for name in ("unit-cost", "cost", "usage")] == [1, 1, 1]
    assert "View data" in answer


def test_every_row_is_in_the_csv_exactly(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.viewer)

    rows = csv_of(client, usage_metric="requests", mode="per_customer", period="last_30_days", limit=10)
    rows_by_key = {(row["customer id"] or row["values"], row["currency"]): row for row in rows}

    assert rows_by_key["globex", "USD"] | {"reason": "", "note": ""} == {
        "customer id": "globex",
        "name": "Globex Corporation",
        "status": "matched",
        "values": "",
        "direct cost": "30.000000000000000000",
        "allocated cost": "0",
        "currency": "USD",
        "cost": "30.000000000000000000",
        "usage": "10.000000000000",
        "unit cost": rows_by_key["globex", "USD"]["unit cost"],
        "reason": "",
        "note": "",
    }
    assert rows[0]["note"].startswith("'Acme' from ")
    assert float(rows_by_key["globex", "USD"]["unit cost"]) == 3
    assert rows_by_key["initech", "USD"]["reason"] == "This customer has usage but no cost lines."
    assert {row["from"] for row in csv_of(client, usage_metric="requests", granularity="month")} >= {"all"}


def test_usage_filters_are_edited_beside_cost_filters(cast: Cast, saas_account: Account) -> None:
    with account_scope(cast.account):
        events = [
            event(datetime.now(UTC).date() - timedelta(days=1), "acme-corp", 7, dimensions={"region": "eu"})
        ]
        store_usage(cast.account, events, source=usage_source(cast.account))
    query = {"usage_metric": "requests", "mode": "total", "u0": "region", "u0op": "in", "u0v": "eu"}

    page = signed_in(cast.viewer).get(f"{PAGE}?{urlencode(query)}").content.decode()
    editor = page[page.index('data-values-url="/a/acme/usage/values/"') : page.index('id="filter-template"')]
    fields = re.sub(r"\s+", " ", editor)

    assert "÷ 7 " in page
    assert '<select class="form-select" name="u0"' in fields
    assert '<option value="dimension:region" selected>region</option>' in fields
    assert '<input type="hidden" name="u0v" value="eu">' in fields
    assert 'data-add-filter="usage-filters"' in fields
    assert 'name="u0"' in page[page.index('id="usage-filter-template"') :]


def test_the_address_says_the_question_and_htmx_gets_the_result_alone(
    cast: Cast, saas_account: Account
) -> None:
    client = signed_in(cast.viewer)
    params = {"usage_metric": "seats", "mode": "total", "period": "last_7_days"}

    answer = client.get(f"{PAGE}?{urlencode(params)}", headers={"HX-Request": "true"})

    assert answer["HX-Push-Url"] == f"{PAGE}?usage_metric=seats&mode=total&period=last_7_days"
    assert 'id="query"' not in answer.content.decode()
    whole = client.get(f"{PAGE}?{urlencode(params)}").content.decode()
    assert re.search(r'<option value="seats" selected', whole)
    assert "&quot;usage_metric&quot;: &quot;seats&quot;" in whole


def test_an_address_without_a_metric_asks_for_the_first(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.viewer)

    for query in ("mode=total", "usage_metric=&mode=total", "f0=service&f0v="):
        assert re.search(r'<option value="requests" selected', client.get(f"{PAGE}?{query}").content.decode())


def test_a_bad_question_is_answered_with_what_to_mend(cast: Cast, saas_account: Account) -> None:
    answer = signed_in(cast.viewer).get(f"{PAGE}?usage_metric=reqeusts")

    assert answer.status_code == 400
    assert "Nearest: &#x27;requests&#x27;" in answer.content.decode()


def test_without_usage_the_page_says_how_to_push(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "No usage yet" in page
    assert (
        "Unit cost is cost divided by usage, such as requests, orders or seats. Create a "
        "usage source and API key, and push events from your backend."
    ) in page


def test_a_metric_without_any_push_shows_cost_and_the_reason(cast: Cast, saas_account: Account) -> None:
    page = get_page(signed_in(cast.viewer), PAGE, usage_metric="orders", period="last_30_days")

    assert "$105.50 of cost and no unit cost for 'orders'" in page
    assert (
        "Create a usage source and its API key on the Connections page, and POST events with this metric "
        "to /api/usage/events."
    ) in page


def test_without_a_customer_key_the_page_asks_for_one(cast: Cast, saas_account: Account) -> None:
    with account_scope(saas_account):
        CustomerKey.objects.all().delete()
    client = signed_in(cast.viewer)

    assert "Set a customer key" in get_page(client, PAGE)
    refusal = client.get(f"{PAGE}?usage_metric=requests&mode=per_customer")
    assert refusal.status_code == 400
    assert "Choose the customer key" in refusal.content.decode()


def test_a_member_chooses_the_customer_key_from_the_tags_of_the_data(
    cast: Cast, saas_account: Account
) -> None:
    client = signed_in(cast.member)

    page = client.post(f"{SETTINGS}key/", {"dimension": "account"}, follow=True).content.decode()
    assert "Customer key set to account." in page
    assert re.search(r'<option value="account" selected', page)

    assert client.post(f"{SETTINGS}key/", {"dimension": "tag:nothing"}).status_code == 422
    with account_scope(saas_account):
        assert CustomerKey.objects.get().dimension == "account"


def test_one_click_maps_a_value_to_the_customer_most_like_it(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.member)
    page = client.get(PAGE).content.decode()
    form = re.search(
        r'name="value" value="Globex Inc".*?name="customer_id".*?value="([^"]*)"', page, re.DOTALL
    )
    assert form is not None
    assert form[1] == "globex"

    url = f"{PAGE}?usage_metric=requests&mode=per_customer&period=last_30_days"
    answer = client.post(ALIASES, {"value": "Globex Inc", "customer_id": "globex", "next": url})

    assert answer["Location"] == url
    assert "Globex Corporation globex $39.00 10 $3.90" in get_page(client, url)


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/a/acme/", "/a/elsewhere/", "/a/acme/\\evil"]
)
def test_mapping_leads_back_to_this_account_alone(cast: Cast, saas_account: Account, elsewhere: str) -> None:
    fields = {"value": "Globex Inc", "customer_id": "globex", "next": elsewhere}

    location = signed_in(cast.member).post(ALIASES, fields)["Location"]

    assert location.startswith("/a/acme/")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"value": "Globex Inc", "customer_id": "globx"}, "Nearest: &#x27;globex&#x27;"),
        ({"value": "", "customer_id": "globex"}, "Enter the value as it is in the bills."),
        ({"value": "Globex Inc", "customer_id": ""}, "Choose a customer."),
        ({"value": "a\x00b", "customer_id": "globex"}, "Null characters are not allowed"),
    ],
    ids=["unknown customer", "no value", "no customer", "null"],
)
def test_an_alias_that_cannot_be_is_refused_at_its_field(
    cast: Cast, saas_account: Account, fields: dict[str, str], problem: str
) -> None:
    answer = signed_in(cast.member).post(ALIASES, fields)

    assert answer.status_code == 422
    assert problem in answer.content.decode()
    with account_scope(saas_account):
        assert not CustomerAlias.objects.exists()


def test_aliases_are_listed_searched_exported_and_removed(cast: Cast, saas_account: Account) -> None:
    client = signed_in(cast.member)
    for value in ("Globex Inc", "Globex Ltd"):
        client.post(ALIASES, {"value": value, "customer_id": "globex"})
    with account_scope(saas_account):
        alias = CustomerAlias.objects.get(value="Globex Ltd")

    assert "Globex Ltd globex" in get_page(client, SETTINGS, q="ltd")
    exported = b"".join(client.get(f"{SETTINGS}?format=csv").streaming_content).decode()  # type: ignore[attr-defined]
    assert [line.split(",")[:2] for line in exported.splitlines()[1:]] == [
        ["Globex Inc", "globex"],
        ["Globex Ltd", "globex"],
    ]
    page = client.post(f"{ALIASES}{alias.pk}/remove/", follow=True).content.decode()
    assert "Alias “Globex Ltd” removed." in page
    assert client.post(f"{ALIASES}{alias.pk}/remove/").status_code == 404


def test_the_settings_page_lists_values_of_nobody_with_suggestions(cast: Cast, saas_account: Account) -> None:
    page = signed_in(cast.member).get(SETTINGS).content.decode()

    assert re.search(r'name="value" value="Globex Inc".*?value="globex"', page, re.DOTALL)
    assert 'value="(untagged)"' not in page


@pytest.mark.parametrize("url", [PAGE, SETTINGS])
def test_a_viewer_reads_and_finds_nothing_to_change(cast: Cast, saas_account: Account, url: str) -> None:
    page = signed_in(cast.viewer).get(url).content.decode()

    assert '<button class="btn btn-sm" type="submit" aria-label="Map' not in page
    assert "Globex Inc" in page
    assert ("Only members can change this." in page) == (url == SETTINGS)


@pytest.mark.parametrize("url", [f"{SETTINGS}key/", ALIASES])
def test_a_viewer_may_write_nothing(cast: Cast, saas_account: Account, url: str) -> None:
    fields = {"dimension": "account", "value": "Globex Inc", "customer_id": "globex"}

    assert signed_in(cast.viewer).post(url, fields).status_code == 403

    with account_scope(saas_account):
        assert (CustomerKey.objects.get().dimension, CustomerAlias.objects.count()) == ("tag:customer", 0)


@pytest.mark.parametrize("url", [PAGE, SETTINGS])
def test_a_stranger_finds_no_page(cast: Cast, saas_account: Account, url: str) -> None:
    assert signed_in(cast.stranger).get(url).status_code == 404


@pytest.mark.parametrize(("url", "most"), [(PAGE, 21), (SETTINGS, 19)])
def test_more_rows_make_no_more_queries(cast: Cast, saas_account: Account, url: str, most: int) -> None:
    client = signed_in(cast.member)
    client.get(url)
    with CaptureQueriesContext(connection) as few:
        client.get(url)
    with account_scope(saas_account):
        for number in range(20):
            Customer.objects.create(account=saas_account, customer_id=f"more-{number}")
            CustomerAlias.objects.create(account=saas_account, value=f"alias-{number}", customer_id="globex")
    with CaptureQueriesContext(connection) as many:
        client.get(url)

    assert len(few) == len(many) <= most


@pytest.mark.parametrize(
    ("params", "most"),
    [
        ({"mode": "total"}, 2),
        ({"mode": "total", "compare_to": "previous_period"}, 4),
        ({"mode": "per_customer", "compare_to": "previous_period"}, 4),
        ({"mode": "per_customer", "splits": "after"}, 2),
        ({"mode": "total", "f0": "service", "f0op": "contains", "f0v": "S"}, 4),
    ],
    ids=["total", "compared", "by customer", "after splits", "filtered"],
)
def test_a_question_asks_the_lake_few_times(
    cast: Cast, saas_account: Account, params: dict[str, str], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[object] = []
    run = engine.run

    def count(*args: Any, **options: Any) -> Any:
        questions.append(args)
        return run(*args, **options)

    monkeypatch.setattr(engine, "run", count)

    answer = signed_in(cast.viewer).get(
        PAGE, {"usage_metric": "requests", "period": "last_30_days", **params}
    )

    assert answer.status_code == 200
    assert 0 < len(questions) <= most
