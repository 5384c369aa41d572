"""`finops budget-check`: Infracost's delta against the budgets of the served program."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell

# What infracost diff --format json writes, version 0.2, without its resources.
INFRACOST: dict[str, Any] = {
    "version": "0.2",
    "currency": "USD",
    "projects": [],
    "totalMonthlyCost": "1303.28",
    "pastTotalMonthlyCost": "561.06",
    "diffTotalMonthlyCost": "742.22",
    "summary": {"totalDetectedResources": 5, "totalUnsupportedResources": 0},
}


def estimate(delta: Any, **more: Any) -> str:
    return json.dumps({**INFRACOST, "diffTotalMonthlyCost": delta, **more})


@pytest.fixture
def budget(shell: Shell) -> dict[str, Any]:
    answer = json.loads(shell.run("ask", "listBudgets", "--format", "json").stdout, parse_float=Decimal)
    budget: dict[str, Any] = next(each for each in answer["budgets"] if each["name"] == "Everything")
    assert budget["forecast"] is not None
    return budget


def test_a_delta_that_fits_to_the_cent_is_status_0(shell: Shell, budget: dict[str, Any]) -> None:
    remainder = Decimal(budget["amount"]) - Decimal(budget["forecast"])

    out = shell.run(
        "budget-check", "--delta", "-", "--budget", "Everything", stdin=estimate(str(remainder))
    ).stdout

    assert "= 1,000.00 USD, within 1,000.00 USD, 0.00 USD left." in out


def test_a_cent_more_is_status_1_with_the_sentence_why(
    shell: Shell, budget: dict[str, Any], tmp_path: Path
) -> None:
    remainder = Decimal(budget["amount"]) - Decimal(budget["forecast"])
    path = tmp_path / "infracost.json"
    path.write_text(estimate(str(remainder + Decimal("0.01"))))

    result = shell.run("budget-check", "--delta", str(path), "--budget", "Everything", status=1)

    assert "exceeds 1,000.00 USD by 0.01 USD." in result.stdout
    assert f"forecast {Decimal(budget['forecast']):,.2f} +" in result.stdout
    assert "1 of 1 budgets exceeded." in result.stderr


def test_another_currency_is_status_2(shell: Shell) -> None:
    text = estimate("1", currency="EUR")

    problem = shell.problem("budget-check", "--delta", "-", "--budget", "Everything", stdin=text)

    assert "Budget 'Everything' is in USD, the estimate in EUR." in problem


def test_without_a_delta_a_budget_or_its_name_it_does_not_guess(shell: Shell) -> None:
    def problem(text: str, *names: str) -> str:
        options = [word for name in names for word in ("--budget", name)]
        return shell.problem("budget-check", "--delta", "-", *options, stdin=text)

    assert "has no diffTotalMonthlyCost" in problem(estimate(None), "Everything")
    assert "has no currency" in problem(estimate("1", currency=""), "Everything")
    assert "is no amount" in problem(estimate("much"), "Everything")
    assert "is no JSON" in problem("no", "Everything")
    assert "Budget 'Nobody' does not exist." in problem(estimate("1"), "Nobody")


def test_resources_without_a_price_are_said_first(shell: Shell) -> None:
    text = estimate("-1", summary={"totalUnsupportedResources": 3})

    result = shell.run("budget-check", "--delta", "-", "--budget", "Everything", stdin=text)

    assert result.stderr.splitlines()[0] == "Warning: the estimate leaves out 3 resources without a price."


def test_left_out_amounts_are_named_on_standard_error(shell: Shell) -> None:
    answer = json.loads(shell.run("ask", "listBudgets", "--format", "json").stdout)

    warnings = shell.run("budget-check", "--delta", "-", "--budget", "Everything", stdin=estimate("1")).stderr

    assert answer["warnings"]
    assert [each for each in answer["warnings"] if f"Warning: {each}" not in warnings.splitlines()] == []
    assert "Warning: Everything: 5.00 EUR of its cost is not counted." in warnings.splitlines()


def test_each_budget_of_the_account_counts_the_delta_for_every_month_that_is_left(shell: Shell) -> None:
    out = shell.run("budget-check", "--delta", "-", stdin=estimate("1")).stdout.splitlines()
    months = 13 - datetime.now(UTC).month

    assert len(out) == 2
    (year,) = [line for line in out if line.startswith("A year")]
    assert ("+1.00 =" if months == 1 else f"+1.00 x {months} months =") in year
