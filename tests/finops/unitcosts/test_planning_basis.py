"""Unit cost, budgets and forecasts count amortized in a new account, beside spend that is billed.

One upfront fee of 90 is billed on 1 March and worth 3 a day; usage bills 1 a day, so ten days are 100 billed, 40 amortized.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from accounts.models import Account
from finops.costs.models import CostView
from tests.cast import Cast, signed_in
from tests.factories.costs import Line
from tests.factories.unit_costs import MARCH, add_data, cost_line, usage_event
from tests.mcpserver.mcp_client import McpClient, mint


@pytest.fixture
def account_with_fee(acme: Account) -> Account:
    fee = cost_line(1, 90, charge_category="Purchase", charge_frequency="One-Time", effective_cost=Decimal(0))
    days: list[Line] = [cost_line(number, 1, effective_cost=Decimal(4)) for number in range(1, 11)]
    add_data(acme, [fee, *days], [usage_event(number, "acme", 10) for number in range(1, 11)])
    return acme


def test_a_new_account_plans_amortized_and_spends_billed(cast: Cast, account_with_fee: Account) -> None:
    mcp_client = McpClient(mint(cast, "read_write"))
    days = {name: str(day) for name, day in MARCH.items()}

    spend = mcp_client.ask("querySpend", **days)
    unit = mcp_client.ask("queryUnitCost", usage_metric="requests", **days)
    forecast = mcp_client.ask("forecastSpend")
    budget = mcp_client.ask(
        "create_budget", name="All", amount=1000, currency="USD", frequency="monthly", scope="account"
    )
    listing = mcp_client.ask("listBudgets")

    assert spend["totals"][0]["amount"] == 100
    assert unit["totals"][0]["unit_cost"] == 0.4
    assert forecast["totals"][0]["actual"] == 40
    assert budget["budget"]["spent"] == 40
    assert listing["budgets"][0]["spent"] == 40
    bases = [each["view"]["basis"] for each in (spend, unit, forecast, budget, listing)]
    assert bases == ["billed", *["amortized"] * 4]
    assert all(each["view"]["is_account_view"] for each in (spend, unit, forecast, listing))
    assert mcp_client.ask("getAccountContext")["planning_basis"] == "amortized"


def test_the_choice_is_in_plain_sight_and_can_be_switched(cast: Cast, account_with_fee: Account) -> None:
    client = signed_in(cast.admin)
    economics = "/a/acme/unit-economics/?usage_metric=requests&start_date=2026-03-01&end_date=2026-03-10"

    assert "Default (amortized)" in client.get(economics).content.decode()
    assert "Default (amortized)" in client.get("/a/acme/forecast/").content.decode()
    assert (
        "billed, all charge categories): $100.00" in client.get(f"{economics}&basis=billed").content.decode()
    )
    form = {"basis": "billed", "planning_basis": "billed", "charge_categories": ["Usage", "Purchase"]}
    assert client.post("/a/acme/settings/cost-view/", form).status_code == 302
    assert CostView.objects.get().planning_basis == "billed"
    assert "Default (billed)" in client.get(economics).content.decode()


def test_the_overview_forecasts_in_the_basis_of_the_spend_next_to_it(
    cast: Cast, account_with_fee: Account
) -> None:
    page = signed_in(cast.viewer).get("/a/acme/")

    [forecast] = page.context["forecasts"]
    assert forecast.context["answer"].view.basis == "billed"
