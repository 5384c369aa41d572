from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.lake.engine import engine
from finops.lib import clock
from ingestion.models import Customer
from tests.cast import Cast, signed_in
from tests.factories.usage import add_metrics, add_usage, event, push_events
from tests.pages import csv_rows

URL = "/a/acme/customers/"


@pytest.fixture
def acme_usage(cast: Cast) -> Cast:
    now = datetime.now(UTC)
    long_ago = now - timedelta(days=90)
    with account_scope(cast.account):
        events = [
            event(now, "globex", 2),
            event(long_ago, "globex", 40),
            event(now, "globex", 7, metric="seats", unit="seat"),
            event(now - timedelta(days=1), "globex", 9, metric="seats", unit="seat"),
            event(long_ago, "株/ü?&", 5),
            event(now - timedelta(days=2), "average", 3, metric="daily"),
            event(now - timedelta(days=3), "globex", 5, metric="daily"),
            event(now, "globex", 4, metric="peak"),
            event(now, "globex", 6, metric="peak"),
            event(now, "globex", 6, metric="zzz fifth"),
        ]
        add_metrics(cast.account, events, seats="last", daily="average_of_days", peak="max")
        push_events(cast.account, events)
        Customer.objects.filter(customer_id="globex").update(name="Globex GmbH")
        Customer.objects.create(customer_id="silent")
    return cast


def rows_of(answer: Any) -> dict[str, dict[str, str]]:
    return {row["Customer"]: row for row in csv_rows(answer)}


def pk_of(cast: Cast, customer_id: str) -> int:
    with account_scope(cast.account):
        return Customer.objects.get(customer_id=customer_id).pk


def test_the_export_has_every_metric_by_its_aggregation(acme_usage: Cast) -> None:
    rows = rows_of(signed_in(acme_usage.viewer).get(URL, {"format": "csv"}))

    globex = rows["globex"]
    used = {name: float(globex[name] or 0) for name in ("requests", "seats", "daily", "peak", "zzz fifth")}
    assert used == {"requests": 2, "seats": 7, "daily": 2.5, "peak": 6, "zzz fifth": 6}
    assert globex["Name"] == "Globex GmbH"
    assert rows["株/ü?&"]["requests"] == ""
    assert rows["株/ü?&"]["First event"] != ""
    assert rows["silent"]["First event"] == rows["silent"]["requests"] == ""


def test_a_metric_has_its_unit_such_as_the_currency_of_revenue(cast: Cast) -> None:
    now = datetime.now(UTC)
    with account_scope(cast.account):
        events = [
            event(now, "globex", 120, metric="revenue", unit="EUR"),
            event(now, "globex", 3, metric="documents_processed", unit="document"),
            event(now, "globex", 1, metric="mixed", unit="GB"),
            event(now, "initech", 1, metric="mixed", unit="MB"),
            event(now, "globex", 1, metric="bare"),
        ]
        add_metrics(cast.account, events)
        push_events(cast.account, events)

    lines = csv_rows(signed_in(cast.viewer).get(f"{URL}?format=csv"))

    assert {*lines[0]} >= {"revenue (EUR)", "documents_processed", "mixed (several units)", "bare"}


def test_pushed_text_is_no_formula_in_a_spreadsheet_and_no_markup_on_a_page(cast: Cast) -> None:
    formula, markup = "=HYPERLINK(1)", "<img src=x onerror=alert(1)>"
    with account_scope(cast.account):
        events = [event(datetime.now(UTC), formula, 1, metric="@SUM(1)", unit=markup)]
        add_metrics(cast.account, events)
        push_events(cast.account, events)
        Customer.objects.update(name=markup)
    client = signed_in(cast.viewer)

    lines = list(csv.reader(io.StringIO(client.get(f"{URL}?format=csv").getvalue().decode())))
    pages = [URL, f"{URL}?id={formula}", "/a/acme/usage/?group_by=customer"]
    answers = [client.get(page, follow=True).content.decode() for page in pages]

    assert lines[0][2] == f"'@SUM(1) ({markup})"
    assert lines[1][:2] == [f"'{formula}", markup]
    assert all(markup not in text for text in answers)


def test_a_customer_with_a_blank_name_is_called_by_its_id(acme_usage: Cast) -> None:
    with account_scope(acme_usage.account):
        Customer.objects.filter(customer_id="globex").update(name=" \u3000")
    client = signed_in(acme_usage.viewer)

    pages = [
        client.get(page, follow=True).content.decode() for page in (f"{URL}?id=globex", "/a/acme/usage/")
    ]

    assert re.search(r"<h\d[^>]*>\s*globex\s*</h", pages[0])
    assert re.search(r'title="globex">\s*globex\s*<', pages[1])


def test_the_list_searches_and_sorts(acme_usage: Cast) -> None:
    client = signed_in(acme_usage.viewer)

    html = client.get(URL, {"q": "gmbh"}).content.decode()
    assert "globex" in html
    assert "silent" not in html
    page = client.get(URL, {"sort": "-last"})
    assert [row.customer_id for row in page.context["listing"].rows][-1] == "silent"


def test_a_long_list_has_pages(cast: Cast) -> None:
    with account_scope(cast.account):
        push_events(cast.account, [event(clock.now(), f"c{number:03}", 1) for number in range(150)])
    client = signed_in(cast.viewer)

    assert "c000" in (first := client.get(URL).content.decode())
    assert "c120" not in first
    assert "c120" in client.get(URL, {"page": "2"}).content.decode()


@pytest.fixture
def many_customers(cast: Cast) -> Cast:
    """150 customers: of three, one has more usage than the one before; the third has none of the metric `seats`."""
    start = clock.now() - timedelta(days=20)
    with account_scope(cast.account):
        events = [event(start + timedelta(hours=at), f"c{at:03}", at // 3) for at in range(150)]
        events += [event(start, f"c{at:03}", at % 7, metric="seats") for at in range(150) if at % 3 != 2]
        add_usage(cast.account, events, seats="last")
        for number, row in enumerate(Customer.objects.order_by("-customer_id")):
            Customer.objects.filter(pk=row.pk).update(name=f"Name {number:03}")
    return cast


def test_every_order_and_search_has_the_rows_of_the_export_page_by_page(many_customers: Cast) -> None:
    client = signed_in(many_customers.viewer)
    columns = {each.name: each.label for each in client.get(URL).context["listing"].columns}

    for name in columns:
        for sort in (name, f"-{name}"):
            for search in ("", "c0\0", "name 14 c"):
                params = {"sort": sort, "q": search}
                pages = [client.get(URL, {**params, "page": str(page)}).context["listing"] for page in (1, 2)]
                exported = [row["Customer"] for row in csv_rows(client.get(URL, {**params, "format": "csv"}))]
                rows = [row.customer_id for row in pages[0].rows]
                assert rows == exported[:100], params
                if len(exported) > 100:
                    assert [row.customer_id for row in pages[1].rows] == exported[100:], params
                assert len(exported) == {"": 150, "c0\0": 100, "name 14 c": 24}[search]
    by_seats = next(name for name, label in columns.items() if label == "seats")
    for sort, at in ((by_seats, 0), (f"-{by_seats}", 149)):
        rows = csv_rows(client.get(URL, {"sort": sort, "format": "csv"}))
        assert rows[at]["seats"] == "", "customers without are the lowest"
        quantities = [float(row["seats"]) for row in rows if row["seats"]]
        assert quantities == sorted(quantities, reverse=sort.startswith("-"))


def test_a_page_reads_its_own_customers_only(many_customers: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(many_customers.viewer)
    sizes = []
    run = engine.run

    def counting_run(*args: Any, **options: Any) -> Any:
        table = run(*args, **options)
        sizes.append(table.num_rows)
        return table

    monkeypatch.setattr(engine, "run", counting_run)
    with CaptureQueriesContext(connection) as queries:
        page = client.get(URL, {"page": "2"})

    assert page.context["listing"].rows[0].customer_id == "c100"
    assert sizes
    assert max(sizes) <= 100
    reads = [sql for query in queries if 'FROM "ingestion_customer"' in (sql := str(query["sql"]))]
    assert len(reads) == 3
    assert all(re.search(r"COUNT\(|LIMIT \d+| IN \(", read) for read in reads)


def test_a_customer_is_reached_by_its_id(acme_usage: Cast) -> None:
    answer = signed_in(acme_usage.viewer).get(URL, {"id": "株/ü?&"}, follow=True)

    assert answer.redirect_chain == [(f"{URL}{pk_of(acme_usage, '株/ü?&')}/", 302)]
    assert "株/ü?&amp;" in answer.content.decode()
    assert signed_in(acme_usage.viewer).get(URL, {"id": "nobody"}).status_code == 404


def test_the_page_of_a_customer_shows_each_of_its_metrics_over_time(acme_usage: Cast) -> None:
    page = signed_in(acme_usage.viewer).get(f"{URL}{pk_of(acme_usage, 'globex')}/", {"granularity": "week"})

    text = page.content.decode()
    assert "Globex GmbH" in text
    shown = {answer.metric: answer.quantity for answer, _table, _params in page.context["shown"]}
    assert shown == {"requests": 2, "seats": 7, "daily": 2.5, "peak": 6, "zzz fifth": 6}
    assert text.count("data-chart=") == 5
    assert re.search(
        r"/usage/\?usage_metric=seats&amp;start_date=[\d-]+&amp;end_date=[\d-]+&amp;granularity=week", text
    )


def test_the_metrics_of_a_customer_are_exported(acme_usage: Cast) -> None:
    answer: Any = signed_in(acme_usage.viewer).get(f"{URL}{pk_of(acme_usage, 'globex')}/", {"format": "csv"})
    rows = csv_rows(answer)
    assert {row["Metric"]: row["Events"] for row in rows} == {
        "requests": "2",
        "seats": "2",
        "peak": "2",
        "daily": "1",
        "zzz fifth": "1",
    }


def test_events_of_any_year_have_a_page(cast: Cast) -> None:
    with account_scope(cast.account):
        push_events(cast.account, [event(datetime(year, 1, 1, tzinfo=UTC), "ages", 1) for year in (1, 9999)])

    for url in (URL, f"{URL}{pk_of(cast, 'ages')}/", "/a/acme/usage/"):
        assert signed_in(cast.viewer).get(url).status_code == 200


def test_a_customer_without_events_and_a_bad_period_still_have_a_page(acme_usage: Cast) -> None:
    client = signed_in(acme_usage.viewer)

    silent = client.get(f"{URL}{pk_of(acme_usage, 'silent')}/").content.decode()
    assert "No events of this customer" in silent
    wrong = client.get(f"{URL}{pk_of(acme_usage, 'globex')}/", {"period": "forever"})
    assert wrong.status_code == 400
    assert "period: &#x27;forever&#x27; does not exist. Valid: " in wrong.content.decode()


def test_a_lake_out_of_time_is_said_on_the_page(acme_usage: Cast, settings: Settings) -> None:
    settings.LAKE_DEADLINE_SECONDS = 0
    for url in (
        URL,
        f"{URL}{pk_of(acme_usage, 'globex')}/",
        "/a/acme/usage/",
        "/a/acme/usage/values/?dimension=x",
    ):
        answer = signed_in(acme_usage.viewer).get(url)
        assert answer.status_code == 400
        assert "The query timed out." in answer.content.decode()


def test_a_strangers_account_has_none_of_these_customers(acme_usage: Cast) -> None:
    client = signed_in(acme_usage.stranger)

    assert client.get("/a/elsewhere/customers/", {"id": "globex"}).status_code == 404
    assert client.get(f"/a/elsewhere/customers/{pk_of(acme_usage, 'globex')}/").status_code == 404
    assert client.get(URL).status_code == 404
