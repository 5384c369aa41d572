"""The report in a display currency: what it leaves out first, and in its CSV what was billed and the rates. Today is 20 March."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from html import escape

import pytest

from accounts.models import Account
from finops.exchange_rates.services import enter_rate
from finops.insights.models import Incident
from finops.lib.formats.sentences import reader_text
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.budgets import daily_cost
from tests.factories.costs import add_source
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra
from tests.finops.reports.conftest import FEBRUARY, FIRST
from tests.pages import csv_rows, get_page

PAGE = "/a/acme/reports/"
EXPLORER = "/a/acme/cost-explorer/"
RATE = Decimal("1.25")
DAYS = "2026-02-01 to 2026-02-28"
CONVERTED = {"month": "2026-02", "currency": "USD"}


@pytest.fixture
def euros(account_with_report: Account) -> Account:
    """Beside the dollars 2 EUR a day of Mail and 1 EUR a day of Compute, with a rate up to 21 February (kept 7 days: until 28)."""
    lines = [
        *daily_cost(FIRST, FEBRUARY[1], 2, currency="EUR", service="Mail", service_category="Mail"),
        *daily_cost(*FEBRUARY, 1, currency="EUR", service="Compute", service_category="Compute"),
    ]
    add_source(account_with_report, lines, name="Euro")
    return account_with_report


def set_rates(account: Account, *days: date) -> None:
    for day in days:
        enter_rate(account=account, actor=ACTOR, day=day, base="EUR", quote="USD", rate=RATE)


def weekly(first: date, count: int) -> list[date]:
    return [date.fromordinal(first.toordinal() + 7 * step) for step in range(count)]


def figures(rows: list[dict[str, str]]) -> dict[tuple[str, str, str, str, str], dict[str, str]]:
    return {(row["section"], row["name"], row["period"], row["figure"], row["unit"]): row for row in rows}


def test_csv_has_what_was_billed_next_to_each_converted_amount(cast: Cast, euros: Account) -> None:
    set_rates(euros, *weekly(FIRST, 13))

    rows = csv_rows(signed_in(cast.viewer).get(PAGE, {**CONVERTED, "format": "csv"}))

    lines = figures(rows)
    total = lines["Summary", "Total", DAYS, "spend", "USD"]
    assert Decimal(total["value"]) == Decimal("688.80") + 28 * 3 * RATE
    assert amounts(total) == {"USD": Decimal("688.80"), "EUR": Decimal(84)}
    compute = lines["Services", "Compute", DAYS, "spend", "USD"]
    assert Decimal(compute["value"]) == 574 + 28 * RATE
    assert amounts(compute) == {"USD": Decimal(574), "EUR": Decimal(28)}
    assert amounts(lines["Services", "Mail", DAYS, "spend", "USD"]) == {"EUR": Decimal(56)}
    assert amounts(lines["Services", "Storage", DAYS, "spend", "USD"]) == {"USD": Decimal("30.80")}
    assert amounts(lines["Trend", "Mail", "2026-01", "spend", "USD"]) == {"EUR": Decimal(62)}
    assert amounts(lines["Teams", "Core", DAYS, "spend", "USD"]) == {"USD": Decimal("658.00")}


def test_csv_names_each_rate_its_day_and_source(cast: Cast, euros: Account) -> None:
    set_rates(euros, *weekly(FIRST, 13))

    rows = csv_rows(signed_in(cast.viewer).get(PAGE, {**CONVERTED, "format": "csv"}))

    rates = [row for row in rows if row["section"] == "Exchange rates"]
    assert [row["period"] for row in rates][:2] == ["2026-02-23 to 2026-02-28", "2026-02-16 to 2026-02-22"]
    assert {(row["name"], Decimal(row["value"]), row["unit"]) for row in rates} == {("1 EUR", RATE, "USD")}
    assert rates[0]["reason"] == "Entered, rate of 2026-02-23"


def test_a_missing_rate_is_in_the_first_sentence_and_in_no_total(cast: Cast, euros: Account) -> None:
    set_rates(euros, *weekly(FIRST, 11))  # the last of 9 February, good until the 16th
    client = signed_in(cast.viewer)

    page = get_page(client, PAGE, **CONVERTED)

    spent = Decimal("688.80") + 16 * 3 * RATE
    sentence = (
        f"${spent:.2f} in February 2026, without €36.00 for which there is no exchange rate to USD: "
        "$90.80 (12.1%) not allocated to a team"
    )
    assert sentence in page
    assert page.index(sentence) < page.index("Budgets at risk")
    assert "No exchange rate to USD: €36.00" not in page[: page.index("Budgets at risk")]
    every = csv_rows(client.get(PAGE, {**CONVERTED, "format": "csv"}))
    assert (every[0]["section"], every[0]["value"].startswith(sentence)) == ("Notes", True)
    rows = figures(every)
    assert amounts(rows["Summary", "Total", DAYS, "spend", "USD"]) == {
        "USD": Decimal("688.80"),
        "EUR": Decimal(48),
    }
    assert amounts(rows["Services", "Compute", DAYS, "spend", "USD"])["EUR"] == Decimal(16)
    assert rows["Services", "Compute", DAYS, "spend", "EUR"]["original amounts"] == ""


def test_every_note_of_the_page_is_in_the_csv(cast: Cast, euros: Account) -> None:
    set_rates(euros, *weekly(FIRST, 11))
    client = signed_in(cast.viewer)

    html = client.get(PAGE, CONVERTED).content.decode()
    rows = csv_rows(client.get(PAGE, {**CONVERTED, "format": "csv"}))

    lists = re.findall(r'<ul class="notes">(.*?)</ul>', html, re.DOTALL)
    on_page = {text for each in lists for text in re.findall(r"<span>(.*?)</span>", each, re.DOTALL)}
    in_csv = {escape(reader_text(row["value"])) for row in rows if row["figure"] == "note"}
    assert len(on_page) > 2
    assert on_page <= in_csv
    assert {row["section"] for row in rows if row["figure"] == "note"} >= {"Notes", "Trend", "Unit cost"}


def test_csv_has_anomalies_with_what_was_billed_and_how_many_there_are(cast: Cast, euros: Account) -> None:
    add_source(euros, bill(with_extra(SPIKE, SPIKE, "300"), currency="EUR", service="GPU"), name="GPU")
    set_rates(euros, *weekly(FIRST, 16))
    anomalies = run_detection(euros)
    gpu = next(each for each in anomalies if each.value == "GPU")

    rows = csv_rows(
        signed_in(cast.viewer).get(PAGE, {"month": "2026-03", "currency": "USD", "format": "csv"})
    )

    impact = next(row for row in rows if (row["name"], row["figure"]) == ("GPU", "impact"))
    assert amounts(impact) == {"EUR": gpu.impact}
    assert abs(Decimal(impact["value"]) - gpu.impact * RATE) < Decimal("1e-12")
    total = next(row for row in rows if (row["section"], row["name"]) == ("Anomalies", "Total"))
    of_march = Incident.objects.filter(last_day__gte=date(2026, 3, 1))
    assert int(total["value"]) == of_march.count() > 1


def test_without_conversion_no_columns_are_added(cast: Cast, account_with_report: Account) -> None:
    rows = csv_rows(signed_in(cast.viewer).get(PAGE, {"month": "2026-02", "format": "csv"}))

    assert {row["original amounts"] for row in rows} == {""}
    assert all(row["section"] != "Exchange rates" for row in rows)


def test_csv_of_a_list_names_the_rates_of_its_amounts(cast: Cast, euros: Account) -> None:
    set_rates(euros, *weekly(FIRST, 16))
    client = signed_in(cast.viewer)

    rows = csv_rows(client.get("/a/acme/budgets/", {"currency": "USD", "format": "csv"}))

    assert {"1 EUR = 1.25" in row["exchange rates"] for row in rows} == {True}
    own = csv_rows(client.get("/a/acme/budgets/", {"currency": "own", "format": "csv"}))
    assert "exchange rates" not in own[0]


def test_a_list_without_cost_has_no_column_of_rates(cast: Cast, euros: Account) -> None:
    Account.objects.filter(pk=euros.pk).update(display_currency="USD")
    set_rates(euros, *weekly(FIRST, 13))

    rows = csv_rows(signed_in(cast.viewer).get("/a/acme/exchange-rates/", {"format": "csv"}))

    assert rows
    assert "exchange rates" not in rows[0]


def amounts(row: dict[str, str]) -> dict[str, Decimal]:
    """`100 EUR; 8 USD` by currency."""
    pairs = [part.split(" ") for part in row["original amounts"].split("; ")]
    return {currency: Decimal(amount) for amount, currency in pairs}
