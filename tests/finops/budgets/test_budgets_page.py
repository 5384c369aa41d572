"""The Budgets page, a budget's page and its form, as people see them. Today is 20 March 2026."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Any
from unittest.mock import patch
from urllib.parse import urlencode

import pytest

from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.costs.models import CostSource
from finops.lake.engine import engine
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget, daily_cost, source_scope
from tests.factories.costs import add_source, cost
from tests.pages import csv_rows, get_page

pytestmark = pytest.mark.django_db

PAGE = "/a/acme/budgets/"
FORM = {
    "name": "Everything",
    "scope": "account",
    "period": "monthly",
    "currency": "USD",
    "amount": "1000",
    "warning_percent": "80",
}


@pytest.fixture
def payer(acme: Account) -> Account:
    """10 USD a day of two services since January, and a Euro."""
    lines = daily_cost(date(2026, 1, 1), date(2026, 3, 19), 8, service="Compute")
    lines += daily_cost(date(2026, 1, 1), date(2026, 3, 19), 2, service="Storage")
    add_source(acme, [*lines, cost(date(2026, 3, 5), 1, currency="EUR")], name="Clouds")
    return acme


def create_three_budgets(account: Account) -> list[Budget]:
    return [
        create_budget(account, "Roomy", 5000),
        create_budget(account, "Tight", 300, scope=source_scope("Clouds")),
        create_budget(account, "Broken", 100, period="quarterly"),
    ]


def test_the_list_shows_the_status_of_each_budget_the_worst_first(cast: Cast, payer: Account) -> None:
    create_three_budgets(payer)

    page = get_page(signed_in(cast.viewer), PAGE)

    assert page.index("Broken") < page.index("Tight") < page.index("Roomy")
    assert "Exceeded $790.00" not in page
    assert re.search(r"Broken Whole account · quarterly .{0,9}Exceeded \$780\.00 780%", page)
    assert re.search(r"Tight Clouds · monthly .{0,9}Warning \$190\.00 63\.3%", page)
    assert re.search(r"Roomy Whole account · monthly .{0,9}OK \$190\.00 3\.8%", page)
    assert "3 of 50 budgets" in page


def test_the_list_filters_by_status_scope_and_words_and_exports_what_it_shows(
    cast: Cast, payer: Account
) -> None:
    create_three_budgets(payer)
    client = signed_in(cast.viewer)

    assert "Tight" not in get_page(client, PAGE, status="exceeded")
    assert "Broken" not in get_page(client, PAGE, scope="cost_source")
    assert "Roomy" not in get_page(client, PAGE, q="clouds")
    answer = client.get(f"{PAGE}?sort=name&format=csv")
    rows = csv_rows(answer)
    assert [(row["Budget"], row["Status"], Decimal(row["Spent"]), row["Currency"]) for row in rows] == [
        ("Broken", "exceeded", Decimal(780), "USD"),
        ("Roomy", "ok", Decimal(190), "USD"),
        ("Tight", "warning", Decimal(190), "USD"),
    ]


def test_the_csv_names_the_cost_in_other_currencies_that_budgets_do_not_count(
    cast: Cast, payer: Account
) -> None:
    create_three_budgets(payer)
    create_budget(payer, "Euros", 5, currency="EUR")

    rows = csv_rows(signed_in(cast.viewer).get(f"{PAGE}?sort=name&format=csv"))

    assert {row["Budget"]: row["Not counted"] for row in rows} == {
        "Broken": "1.00 EUR in other currencies",
        "Euros": "190.00 USD in other currencies",
        "Roomy": "1.00 EUR in other currencies",
        "Tight": "1.00 EUR in other currencies",
    }


def test_the_whole_list_asks_the_lake_once_for_each_grouping(cast: Cast, payer: Account) -> None:
    for number in range(6):
        create_budget(payer, f"Account {number}", 1000)
        create_budget(payer, f"Source {number}", 1000, scope=source_scope("Clouds"))

    with patch.object(engine, "run", wraps=engine.run) as run:
        get_page(signed_in(cast.viewer), PAGE)

    assert run.call_count == 1


def test_an_account_without_budgets_is_offered_one_from_what_it_spent(cast: Cast, payer: Account) -> None:
    page = signed_in(cast.member).get(PAGE).content.decode()

    assert "No budgets yet" in page
    assert "?name=Everything&amp;amount=300.00&amp;currency=USD" in page
    assert "New budget" not in get_page(signed_in(cast.viewer), PAGE)


def test_a_page_of_an_account_without_data_still_says_what_to_do(cast: Cast, acme: Account) -> None:
    assert "No budgets yet" in get_page(signed_in(cast.member), PAGE)
    budget = create_budget(acme, "Empty", 100)

    page = get_page(signed_in(cast.viewer), f"{PAGE}{budget.pk}/")

    assert "There is no cost data yet." in page


def test_a_budgets_page_has_its_burn_up_its_drivers_and_its_past(cast: Cast, payer: Account) -> None:
    _, tight, _ = create_three_budgets(payer)
    client = signed_in(cast.viewer)

    page = get_page(client, f"{PAGE}{tight.pk}/")

    assert "Spent $190.00 63.3% of $300.00" in page
    assert "Left $110.00 11 days left" in page
    assert "Forecast for Mar 31 $310.00 103.3%" in page
    assert "Mar 30 Forecast" in page
    assert "Not counted (other currency): €1.00" in page
    assert re.search(r"Mar 19 \$10\.00 \$190\.00 \$190\.00", page)
    assert re.search(r"Mar 30 — — \$300\.00", page)
    assert "Compute $152.00" in page
    assert re.search(r"Feb \$280\.00 \$300\.00 Within budget 93\.3%", page)
    assert re.search(r"Jan \$310\.00 \$300\.00 Exceeded 103\.3%", page)


def test_the_explorer_opens_with_the_budgets_days_and_scope(cast: Cast, payer: Account) -> None:
    _, tight, _ = create_three_budgets(payer)
    client = signed_in(cast.viewer)
    href = re.search(
        r'href="(/a/acme/cost-explorer/\?[^"]+)">Explore', client.get(f"{PAGE}{tight.pk}/").content.decode()
    )
    assert href is not None

    page = get_page(client, href[1].replace("&amp;", "&"))

    assert "$190.00" in page


def test_the_overview_brings_the_budgets_at_risk(cast: Cast, payer: Account) -> None:
    client = signed_in(cast.viewer)
    assert "No budgets yet" in get_page(client, f"{PAGE}at-risk/")
    create_three_budgets(payer)

    assert f'hx-get="{PAGE}at-risk/"' in client.get("/a/acme/").content.decode()
    page = get_page(client, f"{PAGE}at-risk/")

    assert "2 of 3 1 exceeded, 1 warning" in page
    assert page.index("Broken") < page.index("Tight")
    assert "Roomy" not in page


def test_a_member_makes_a_budget_with_amounts_of_single_periods(cast: Cast, payer: Account) -> None:
    source = CostSource.objects.get()
    form = {
        **FORM,
        "scope": "cost_source",
        "cost_source": source.pk,
        "currency": "usd",
        "amount_2026-03-01": "1500",
        "amount_2026-12-01": "2500.50",
        "amount_2026-05-01": "",
    }

    answer = signed_in(cast.member).post(f"{PAGE}new/", form)

    budget = Budget.objects.get()
    assert answer.headers["Location"] == f"{PAGE}{budget.pk}/"
    assert (budget.cost_source, budget.currency, budget.created_by) == (source, "USD", cast.member)
    assert {str(each.starts_on): each.amount for each in budget.amounts.all()} == {
        "2026-03-01": Decimal(1500),
        "2026-12-01": Decimal("2500.50"),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "Enter a name."),
        ({"amount": ""}, "Enter an amount."),
        ({"amount": "0"}, "more than 0"),
        ({"amount": "12 USD"}, "Enter a number."),
        ({"currency": "USB"}, "is not an ISO 4217 currency"),
        ({"scope": "team"}, "Choose a team."),
        ({"scope": "team", "team": "999999"}, "Select a valid choice."),
        ({"scope": "planet"}, "Select a valid choice."),
        ({"period": "weekly"}, "Select a valid choice."),
        ({"warning_percent": "101"}, "Enter 100 or less"),
        ({"amount_2026-04-01": "-3"}, "Enter more than 0, or leave empty."),
    ],
    ids=str,
)
def test_a_form_that_cannot_be_says_why_and_keeps_what_was_said(
    cast: Cast, payer: Account, change: dict[str, str], message: str
) -> None:
    answer = signed_in(cast.member).post(f"{PAGE}new/", {**FORM, **change})

    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert not Budget.objects.exists()


def test_a_taken_name_and_a_full_account_are_said_on_the_page(
    cast: Cast, payer: Account, settings: Any
) -> None:
    settings.BUDGETS_PER_ACCOUNT = 1
    budget = create_budget(payer, "Everything")
    client = signed_in(cast.member)

    name_page = client.post(f"{PAGE}new/", FORM).content.decode()
    full = client.post(f"{PAGE}new/", {**FORM, "name": "Another"}).content.decode()

    assert f"already exists with id {budget.pk}" in name_page
    assert "1 budgets; the maximum is 1" in full


def test_the_form_follows_its_scope_and_suggests_what_that_cost(cast: Cast, payer: Account) -> None:
    Team.objects.create(name="Core")
    CostTag.objects.create(key="stage", default_value="rest")
    client = signed_in(cast.member)

    first = client.get(f"{PAGE}new/").content.decode()
    team = client.get(f"{PAGE}new/", {"scope": "team", "name": "Mine"}).content.decode()
    parameters = urlencode({"scope": "cost_tag", "cost_tag": CostTag.objects.get().pk})
    tag = client.get(f"{PAGE}new/?{parameters}").content.decode()

    assert 'name="team"' not in first
    assert re.search(r'name="amount" value="300.00"', first)
    assert "Average, rounded up:" in first
    assert 'name="team"' in team
    assert 'value="Mine"' in team
    assert '<option value="rest">' in tag


def test_suggested_values_follow_the_period_and_entered_ones_stay(cast: Cast, payer: Account) -> None:
    client = signed_in(cast.member)
    query = {"scope": "account", "period": "monthly", "currency": "EUR", "suggested": "300.00 USD"}

    follows = client.get(f"{PAGE}new/", {**query, "amount": "300.00"}).content.decode()
    stays = client.get(f"{PAGE}new/", {**query, "amount": "777", "currency": "USD"}).content.decode()

    assert 'name="amount" value="300.00"' not in follows
    assert re.search(r'name="amount" value="777"', stays)


def test_a_member_changes_and_deletes_a_budget(cast: Cast, payer: Account) -> None:
    budget = create_budget(payer, "Before", 100, amounts={date(2026, 1, 1): Decimal(7)})
    client = signed_in(cast.member)

    form = client.get(f"{PAGE}{budget.pk}/edit/").content.decode()
    assert re.search(r'name="amount_2026-01-01" value="7.00"', form)
    client.post(f"{PAGE}{budget.pk}/edit/", {**FORM, "name": "After", "amount_2026-01-01": "8"})
    budget.refresh_from_db()
    assert (budget.name, budget.amount, budget.amounts.get().amount) == ("After", Decimal(1000), Decimal(8))

    answer = client.post(f"{PAGE}{budget.pk}/delete/", follow=True)
    assert "Budget “After” deleted." in answer.content.decode()
    assert not Budget.objects.exists()


def test_a_viewer_sees_budgets_and_writes_none(cast: Cast, payer: Account) -> None:
    budget = create_budget(payer, "Kept", 100)
    client = signed_in(cast.viewer)

    page = get_page(client, f"{PAGE}{budget.pk}/")

    assert "Kept" in page
    assert "Edit" not in page
    for url in ("new/", f"{budget.pk}/edit/", f"{budget.pk}/delete/"):
        assert client.post(f"{PAGE}{url}", FORM).status_code == 403
    assert client.get(f"{PAGE}{budget.pk}/delete/").status_code in (403, 405)
    assert Budget.objects.get().name == "Kept"
