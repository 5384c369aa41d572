"""Settings → Exchange rates, and the currency that a reader chooses on pages."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.dashboards.services import create_dashboard
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.rates import SourceRate
from finops.exchange_rates.services import enter_rate, store_bill_rates
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.pages import csv_rows, get_page, text_of

PAGE = "/a/acme/exchange-rates/"
EXPLORER = "/a/acme/cost-explorer/"
DAY = date(2026, 3, 18)
MARCH = {"start_date": "2026-03-01", "end_date": "2026-03-20", "group_by": "service"}


def upload(client: Client, content: str) -> str:
    file = SimpleUploadedFile("rates.csv", content.encode(), "text/csv")
    response = client.post(f"{PAGE}upload/", {"file": file}, follow=True)
    return text_of(response, status=response.status_code)


def stored_rates() -> list[tuple[date, str, str, Decimal, str]]:
    return list(ExchangeRate.objects.values_list("day", "base", "quote", "rate", "source"))


def two_currencies(account: Account) -> None:
    add_source(
        account,
        [cost(DAY, 1000, service="EC2"), cost(DAY, 300, currency="EUR", service="Virtual Machines")],
    )
    account.currencies = ["USD", "EUR"]
    account.save()


def test_a_new_account_sees_what_to_do(acme: Account, member: Client) -> None:
    text = get_page(member, PAGE)
    assert "No exchange rates yet" in text
    assert "Not fetched: the server has no EXCHANGE_RATES_URL" in text


def test_a_member_enters_a_rate(acme: Account, member: Client) -> None:
    fields = {"day": "2026-03-18", "base": "EUR", "quote": "USD", "rate": "1.0876"}
    text = text_of(member.post(f"{PAGE}new/", fields, follow=True))
    assert "Rate saved: 1 EUR = 1.0876 USD on 2026-03-18." in text
    assert stored_rates() == [(DAY, "EUR", "USD", Decimal("1.0876"), "entered")]
    entry = AuditEntry.objects.get(action="exchange_rate.enter")
    assert entry.target == "2026-03-18: 1 EUR = 1.0876 USD"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"rate": "1,0876"}, "'1,0876' is not a rate such as 1.0876."),
        ({"quote": "EUR"}, "The rate is from EUR to itself."),
        ({"day": "1980-01-01"}, "1980-01-01 is before 1990-01-01 or more than a year ahead."),
        ({"base": "ABC"}, "Select a valid choice."),
        ({"base": ""}, "Choose a currency."),
        ({"rate": ""}, "Enter a rate, such as 1.0876."),
    ],
)
def test_a_wrong_rate_is_refused_in_the_form(
    acme: Account, member: Client, fields: dict[str, str], problem: str
) -> None:
    right = {"day": "2026-03-18", "base": "EUR", "quote": "USD", "rate": "1.0876"}
    assert problem in text_of(member.post(f"{PAGE}new/", {**right, **fields}), status=422)
    assert stored_rates() == []


def test_a_member_uploads_a_file_and_again_to_correct_it(acme: Account, member: Client) -> None:
    assert "2 rates uploaded." in upload(
        member, "date,from,to,rate\n2026-03-18,EUR,USD,1.1\n2026-03-19,EUR,USD,1.2\n"
    )
    assert "1 rate uploaded." in upload(member, "date,from,to,rate\n2026-03-18,EUR,USD,1.15\n")
    assert [(day.day, rate) for day, _, _, rate, _ in stored_rates()] == [
        (19, Decimal("1.2")),
        (18, Decimal("1.15")),
    ]


def test_a_file_with_wrong_lines_is_refused_as_a_whole(acme: Account, member: Client) -> None:
    text = upload(
        member, "date,from,to,rate\n2026-03-18,EUR,USD,1.1\nyesterday,EUR,USD,1\n2026-03-19,EU,USD,1\n"
    )
    assert "Line 3: 'yesterday' is not a date such as 2026-11-20." in text
    assert "Line 4: from: 'EU' is not an ISO 4217 currency" in text
    assert stored_rates() == []


def test_the_list_is_searched_filtered_and_exported(acme: Account, member: Client) -> None:
    upload(member, "date,from,to,rate\n2026-03-18,EUR,USD,1.1\n2026-03-18,GBP,USD,1.3\n")
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal("1.2"))
    rows = csv_rows(member.get(PAGE, {"format": "csv", "q": "eur"}))
    assert [(row["Rate"], row["Source"]) for row in rows] == [("1.2", "Entered"), ("1.1", "Uploaded")]
    assert len(csv_rows(member.get(PAGE, {"format": "csv", "source": "uploaded"}))) == 2
    assert "GBP" in get_page(member, PAGE, q="2026-03-18")
    assert "No exchange rates match" in get_page(member, PAGE, q="CHF")


def test_a_member_deletes_what_was_entered_but_not_what_a_bill_says(acme: Account, member: Client) -> None:
    row = enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal("1.2"))
    assert "Rate deleted." in text_of(member.post(f"{PAGE}{row.pk}/delete/", follow=True))
    store_bill_rates(account=acme, rates=[SourceRate(DAY, "USD", "EUR", Decimal("0.9"), "bill")])
    row = ExchangeRate.objects.get()
    text = text_of(member.post(f"{PAGE}{row.pk}/delete/", follow=True))
    assert "Only rates that were entered or uploaded can be deleted." in text
    assert AuditEntry.objects.filter(action="exchange_rate.delete").count() == 1


def test_a_viewer_reads_and_may_not_write_and_a_stranger_sees_nothing(acme: Account, cast: Cast) -> None:
    row = enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal("1.2"))
    viewer, stranger = signed_in(cast.viewer), signed_in(cast.stranger)
    assert "1.2" in get_page(viewer, PAGE)
    assert "Upload CSV" not in get_page(viewer, PAGE)
    for path in ("new/", "upload/", f"{row.pk}/delete/"):
        assert viewer.post(f"{PAGE}{path}").status_code == 403
        assert stranger.post(f"{PAGE}{path}").status_code == 404
    assert stranger.get(PAGE).status_code == 404
    with account_scope(cast.other_account):
        assert stranger.post(f"/a/elsewhere/exchange-rates/{row.pk}/delete/").status_code == 404
    assert ExchangeRate.objects.count() == 1


def test_an_account_of_two_currencies_shows_one_with_a_switch(acme: Account, member: Client) -> None:
    two_currencies(acme)
    text = get_page(member, EXPLORER, **MARCH)
    assert "1,000" in text
    assert "Virtual Machines" not in text
    page = get_page(member, EXPLORER, **MARCH, currency="only-EUR")
    assert "Virtual Machines" in page
    assert "1,000" not in page
    assert "Virtual Machines" in get_page(member, EXPLORER, **MARCH)  # the session keeps it


def test_a_reader_converts_and_every_page_follows(acme: Account, member: Client) -> None:
    two_currencies(acme)
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    assert "1,600" in get_page(member, EXPLORER, **MARCH, currency="USD")
    assert "1,600" in get_page(member, "/a/acme/")
    rows = csv_rows(member.get(EXPLORER, {**MARCH, "format": "csv"}))
    assert {(row["service"], row["amount"], row["currency"]) for row in rows} == {
        ("EC2", "1000.000000000000000000", "USD"),
        ("Virtual Machines", "600.000000000000000000", "USD"),
    }


def test_the_page_names_the_rates_and_the_amounts_of_the_bills(acme: Account, member: Client) -> None:
    two_currencies(acme)
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    text = get_page(member, EXPLORER, **MARCH, currency="USD")
    assert "1 EUR = 2 USD" in text
    assert "Entered" in text
    assert "€300.00" in text
    assert "Whole account, Mar" in text


def test_the_rates_follow_a_question_that_htmx_asks(acme: Account, member: Client) -> None:
    two_currencies(acme)
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    answer = member.get(EXPLORER, {**MARCH, "currency": "USD"}, headers={"HX-Request": "true"})
    html = answer.content.decode()
    assert 'id="currency-switch" hx-swap-oob="true"' in " ".join(html.split())
    assert "1 EUR = 2 USD" in html
    assert "start_date=2026-03-01" in html.partition('id="currency-switch"')[2]


@pytest.mark.parametrize(
    "path", ["dashboards/{board}/", "budgets/", "cost-explorer/", "savings/", "forecast/", "commitments/"]
)
def test_each_page_that_converts_has_its_rates_on_demand(acme: Account, member: Client, path: str) -> None:
    two_currencies(acme)
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    create_budget(acme, "All", 500)
    board = create_dashboard(account=acme, actor=ACTOR, name="Costs")
    text = get_page(member, f"/a/acme/{path.format(board=board.pk)}", currency="USD")
    assert "Exchange rates used" in text
    assert "1 EUR = 2 USD" in text
    assert "18 Mar" in text or "Mar 18" in text
    assert "Entered" in text


def test_a_missing_rate_is_said_on_the_page(acme: Account, member: Client) -> None:
    two_currencies(acme)
    text = get_page(member, EXPLORER, **MARCH, currency="USD")
    assert "No exchange rate to USD: €300.00. Not in the total." in text
    assert "Virtual Machines" not in text


def test_an_invalid_currency_changes_nothing(acme: Account, member: Client) -> None:
    two_currencies(acme)
    assert "1,000" in get_page(member, EXPLORER, **MARCH, currency="EU<script>")


def test_an_admin_chooses_the_display_currency_of_the_account(acme: Account, cast: Cast) -> None:
    fields = {"name": "Acme", "fiscal_start_month": "1", "display_currency": "EUR"}
    signed_in(cast.admin).post("/a/acme/settings/account/", fields)
    acme.refresh_from_db()
    assert acme.display_currency == "EUR"


def test_an_account_of_one_currency_sees_no_switch_and_no_query_more(acme: Account, member: Client) -> None:
    add_source(acme, [cost(DAY, 1000, service="EC2")])
    acme.currencies = ["USD"]
    acme.save()
    assert "Convert to" not in get_page(member, EXPLORER, **MARCH)


@pytest.mark.parametrize("chosen", ["", "only-USD", "only-EUR"])
def test_the_drivers_of_a_budget_are_in_its_own_currency(acme: Account, member: Client, chosen: str) -> None:
    two_currencies(acme)
    budget = create_budget(acme, "In euros", 1000, currency="EUR")

    text = get_page(member, f"/a/acme/budgets/{budget.pk}/", **({"currency": chosen} if chosen else {}))

    assert "Spent €300.00" in text
    assert "Virtual Machines €300.00" in text
