"""Other price lists, regions and language models: each figure worked out by hand of a few lines."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.ai_spend.prices import list_prices
from finops.insights.simulation.schemas import ModelChange, OtherPrice, RegionMove, UsageGrowth
from finops.lake.schema import extension_column
from finops.lib.errors import UserError
from tests.factories.costs import Line, cost
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.finops.insights.simulation.bills import DAY, decimals, quantity, simulate


def price(usage_type: str, amount: str, currency: str = "USD") -> OtherPrice:
    return OtherPrice(usage_type=usage_type, unit_price=Decimal(amount), currency=currency)


def machine(amount: str, hours: str, /, **columns: Any) -> Line:
    return on_demand(amount, **{"usage_type": "BoxUsage:m5.large", **quantity(hours), **columns})


def test_a_price_list_reprices_quantities_and_leaves_covered_usage_alone(acme: Account) -> None:
    covered = commitment_line("30", "Used", usage_type="BoxUsage:m5.large", **quantity("600"))
    lines = [machine("10", "100"), covered, on_demand("5", usage_type="Other")]

    answer = simulate(acme, lines, prices=[price("BoxUsage:m5.large", "0.08")])

    assert (answer.totals[0].baseline, answer.totals[0].simulated) == decimals(45, 43)
    assert answer.effects[0].assumption == "'BoxUsage:m5.large' at 0.08 USD each"


def test_the_whole_of_usage_that_a_commitment_leaves_is_at_the_new_price_and_grows(acme: Account) -> None:
    covered = commitment_line("30", "Used", usage_type="BoxUsage:m5.large", **quantity("600"))

    answer = simulate(
        acme,
        [covered],
        commitments="end",
        prices=[price("BoxUsage:m5.large", "0.08")],
        growth=[UsageGrowth(percent=Decimal(50))],
    )

    # Ends: 60; grows: 90; 900 hours at 0.08.
    assert [each.change for each in answer.effects] == [30, 30, -18]
    assert answer.totals[0].simulated == 72


@pytest.mark.parametrize(
    ("line", "listed", "reason"),
    [
        (on_demand("10", usage_type="BoxUsage:m5.large"), "USD", "without a quantity"),
        (machine("10", "100"), "EUR", "is in EUR"),
    ],
)
def test_usage_without_a_list_price_is_left_out_and_named(
    acme: Account, line: Line, listed: str, reason: str
) -> None:
    answer = simulate(acme, [line, cost(DAY, 5)], prices=[price("BoxUsage:m5.large", "0.08", listed)])

    assert answer.totals[0].baseline == answer.totals[0].simulated == 5
    assert answer.left_out[0].cost == 10
    assert f"10.00 USD {answer.left_out[0].reason} is left out" in answer.summary
    assert reason in answer.summary


def test_one_price_for_several_units_is_no_price(acme: Account) -> None:
    lines = [machine("10", "100"), machine("10", "100", pricing_unit="Seconds"), cost(DAY, 5)]

    answer = simulate(acme, lines, prices=[price("BoxUsage:m5.large", "0.08")])

    assert answer.left_out[0].cost == 20
    assert "several units" in answer.summary


def us_machine(amount: str, hours: str, **columns: Any) -> Line:
    return machine(amount, hours, region="us-east-1", sku_id="one", **columns)


def eu_machine(amount: str, hours: str, **columns: Any) -> Line:
    fields = {"usage_type": "EUC1-BoxUsage:m5.large", "region": "eu-central-1", "sku_id": "two"}
    return machine(amount, hours, **{**fields, **columns})


MOVE = [RegionMove(region="us-east-1", to_region="eu-central-1")]


def test_a_region_is_priced_by_own_lines_of_the_other_region(acme: Account) -> None:
    answer = simulate(acme, [us_machine("10", "100"), eu_machine("24", "200")], regions=MOVE)

    # 100 hours at 0.12 in place of 0.10.
    assert (answer.totals[0].baseline, answer.totals[0].change) == decimals(34, 2)
    assert answer.effects[0].assumption == "Region 'us-east-1' at prices of 'eu-central-1'"


@pytest.mark.parametrize(
    "other",
    [
        eu_machine("24", "200", usage_type="EUC1-BoxUsage:c7i.large"),
        eu_machine("24", "200", pricing_unit="Seconds"),
        eu_machine("24", "200", pricing_category="Dynamic"),
        eu_machine("24", "200", service="RDS"),
    ],
)
def test_usage_without_a_like_in_the_other_region_is_left_out(acme: Account, other: Line) -> None:
    answer = simulate(acme, [us_machine("10", "100"), other], regions=MOVE)

    assert answer.totals[0].change == 0
    assert (answer.left_out[0].cost, answer.totals[0].baseline) == decimals(10, 24)
    assert "10.00 USD without a price of its own lines in 'eu-central-1' is left out" in answer.summary


def test_covered_usage_has_no_price_in_another_region(acme: Account) -> None:
    covered = commitment_line(
        "30", "Used", region="us-east-1", usage_type="BoxUsage:m5.large", **quantity("600")
    )

    answer = simulate(acme, [covered, eu_machine("24", "200")], regions=MOVE)

    assert answer.left_out[0].cost == 30
    assert "may not apply in the other region" in answer.summary


def test_the_usage_of_an_ended_commitment_moves(acme: Account) -> None:
    covered = commitment_line(
        "30", "Used", region="us-east-1", usage_type="BoxUsage:m5.large", sku_id="one", **quantity("600")
    )

    answer = simulate(
        acme,
        [covered, eu_machine("24", "200", pricing_category="Committed")],
        regions=MOVE,
        commitments="end",
    )

    assert answer.totals[0].simulated == 24 + 72


def tokens(amount: str, count: str, /, model: str = "claude-opus-4-5", kind: str = "input") -> Line:
    columns = {
        "provider": "Anthropic",
        "service": "Claude API",
        "usage_type": f"{kind} tokens",
        "consumed_quantity": Decimal(count),
        "consumed_unit": "Tokens",
        extension_column("Model"): model,
        extension_column("TokenType"): kind,
    }
    return cost(DAY, amount, **columns)


def listed_price(model: str, kind: str) -> Decimal:
    price = list_prices().find(model, kind, DAY)
    assert price is not None
    assert price.currency == "USD"
    return price.price_per_million


def test_tokens_of_another_model_cost_its_list_price(acme: Account) -> None:
    lines = [tokens("10", "2000000"), tokens("50", "2000000", kind="output"), cost(DAY, 5)]

    answer = simulate(acme, lines, models=[ModelChange(model="claude-opus-4-5", to_model="claude-haiku-4-5")])

    new = 2 * (listed_price("claude-haiku-4-5", "input") + listed_price("claude-haiku-4-5", "output"))
    assert answer.totals[0].simulated == 5 + new
    assert any("as many tokens" in each for each in answer.assumptions)


def test_a_part_of_the_input_tokens_is_read_from_the_cache(acme: Account) -> None:
    change = ModelChange(
        model="claude-opus-4-5", token_type="input", to_token_type="cache_read", percent=Decimal(25)
    )

    answer = simulate(
        acme, [tokens("10", "2000000"), tokens("50", "2000000", kind="output")], models=[change]
    )

    cached = Decimal("0.5") * listed_price("claude-opus-4-5", "cache_read")
    assert answer.totals[0].simulated == 50 + Decimal("7.5") + cached


def test_a_token_type_that_nobody_lists_is_left_out(acme: Account) -> None:
    change = ModelChange(model="claude-opus-4-5", to_token_type="cache_write_1h_flex")

    answer = simulate(acme, [tokens("10", "2000000"), cost(DAY, 5)], models=[change])

    assert (answer.left_out[0].cost, answer.totals[0].simulated) == decimals(10, 5)
    assert "without a price of 'cache_write_1h_flex' tokens" in answer.summary


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"models": [ModelChange(model="claude-opus-4-5")]}, "to_model, to_token_type or both"),
        ({"models": [ModelChange(model="claude-opus-4-5", to_model="claude-haiku")]}, "claude-haiku-4-5"),
        ({"models": [ModelChange(model="gpt-9", to_model="claude-haiku-4-5")]}, "gpt-9"),
        ({"regions": [RegionMove(region="eu", to_region="EU")]}, "both region and to_region"),
        ({"regions": [RegionMove(region="mars-1", to_region="eu-central-1")]}, "mars-1"),
        ({"prices": [price("Other", "-1")]}, "unit_price is 0 and at most"),
        ({"prices": [price("Nothing", "1")]}, "Nothing"),
    ],
)
def test_a_simulation_without_lines_or_meaning_is_refused(
    acme: Account, query: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        simulate(acme, [tokens("10", "2000000"), eu_machine("1", "1")], **query)
