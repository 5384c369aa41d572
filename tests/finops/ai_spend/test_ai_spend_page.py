"""The page AI spend as people see it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.usage import add_usage
from tests.finops.ai_spend.test_review import claude, tokens
from tests.pages import csv_rows, get_page

PAGE = "/a/acme/ai-spend/"


@pytest.fixture
def with_claude(cast: Cast) -> Account:
    """Ten billed days of one model, with usage of five; and another service."""
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=back) for back in range(1, 11)]
    lines = [claude(day, "2.70", "claude-sonnet-4-5", "uncached_input_tokens", "1000000") for day in days]
    lines.append(cost(days[0], 900, service="Amazon SageMaker"))
    with account_scope(cast.account):
        add_source(cast.account, lines)
        add_usage(cast.account, [tokens(day, 1_000_000, "claude-sonnet-4-5", "input") for day in days[:5]])
    return cast.account


def test_billed_and_estimated_are_next_to_each_other(cast: Cast, with_claude: Account) -> None:
    page = get_page(signed_in(cast.viewer), PAGE)

    assert "$27.00" in page
    assert "$15.00" in page
    assert "$42.00" not in page
    assert "usage on 5 of 30 days" in page
    assert "Billed prices against the price list" in page
    assert "claude-sonnet-4-5 input $27.00" in page


def test_the_csv_has_every_group_exactly(cast: Cast, with_claude: Account) -> None:
    (row,) = csv_rows(signed_in(cast.viewer).get(f"{PAGE}?period=last_30_days&format=csv"))

    assert (row["model"], row["token type"], row["currency"]) == ("claude-sonnet-4-5", "input", "USD")
    assert (Decimal(row["billed"]), Decimal(row["estimated from usage"])) == (Decimal(27), Decimal(15))
    assert Decimal(row["billed tokens"]) == 10_000_000


@pytest.mark.parametrize(
    "group", ["model", "token_type", "vendor", "person", "key", "feature", "customer", "team"]
)
def test_every_group_has_a_page(cast: Cast, with_claude: Account, group: str) -> None:
    page = get_page(signed_in(cast.viewer), PAGE, group_by=group, period="last_30_days")

    assert f"AI spend by {group.replace('_', ' ')}" in page
    assert "$27.00" in page


def test_an_account_without_ai_spend_is_shown_what_to_do(cast: Cast) -> None:
    assert "Connect Anthropic or OpenAI" in get_page(signed_in(cast.viewer), PAGE)


def test_a_group_that_does_not_exist_is_refused(cast: Cast) -> None:
    assert signed_in(cast.viewer).get(f"{PAGE}?group_by=moon").status_code == 400
