"""An account's own AI prices as code: exported, planned and applied as the other kinds."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.ai_spend.models import AiPrice
from finops.ai_spend.services import enter_price
from finops.configuration.services import apply_configuration, export_configuration, plan_configuration
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast

FILE = """\
version: 1
ai_prices:
  - {model: Claude Sonnet 4.5, token_type: input, price_per_million: 2.40, currency: USD, valid_from: 2026-01-01}
  - {model: Claude Sonnet 4.5, token_type: input, price_per_million: 2.1, currency: USD, valid_from: 2026-03-01}
  - {model: gpt-5-mini, token_type: output, price_per_million: "0", currency: EUR, valid_from: 2026-01-01}
"""
SONNET = "claude-sonnet-4-5 input 2026-01-01"


def lines(account: Account, text: str, *, delete: bool = False) -> list[str]:
    changes = plan_configuration(account, text, delete=delete)
    return [" ".join([each.action, each.name, *each.fields]) for each in changes]


def apply(account: Account, text: str, *, delete: bool = False) -> int:
    return len(apply_configuration(account=account, actor=ACTOR, text=text, delete=delete))


@pytest.fixture
def account_with_prices(acme: Account) -> Account:
    assert apply(acme, FILE) == 3
    return acme


def test_prices_of_a_file_are_entered_once_and_a_plan_writes_nothing(acme: Account) -> None:
    assert sorted(lines(acme, FILE)) == [
        f"create {SONNET}",
        "create claude-sonnet-4-5 input 2026-03-01",
        "create gpt-5-mini output 2026-01-01",
    ]
    assert not AiPrice.objects.exists()

    assert apply(acme, FILE) == 3
    assert apply(acme, FILE) == 0
    price = AiPrice.objects.get(model_key="claude-sonnet-4-5", valid_from=date(2026, 1, 1))
    assert (price.price_per_million, price.currency) == (Decimal("2.4"), "USD")
    assert AuditEntry.objects.filter(action="ai_price.enter").count() == 3


def test_an_export_makes_an_empty_account_equal(cast: Cast, account_with_prices: Account) -> None:
    text = export_configuration(account_with_prices, ["ai_prices"])

    assert apply(cast.other_account, text) == 3
    with account_scope(cast.other_account):
        assert export_configuration(cast.other_account, ["ai_prices"]) == text
    assert lines(account_with_prices, text, delete=True) == []


def test_a_price_changes_in_place_whatever_its_model_is_called(account_with_prices: Account) -> None:
    changed = FILE.replace("2.40", "2.39")
    assert lines(account_with_prices, changed) == [f"change {SONNET} price_per_million"]
    respelled = FILE.replace("Claude Sonnet 4.5, token_type: input, price_per_million: 2.40", "x").replace(
        "{model: x,", "{model: anthropic/claude-sonnet-4-5, token_type: input, price_per_million: 2.4,"
    )
    assert lines(account_with_prices, respelled) == [f"change {SONNET} model"]

    assert apply(account_with_prices, changed) == 1
    assert AiPrice.objects.count() == 3


def test_rows_missing_in_a_file_are_deleted_only_on_request(account_with_prices: Account) -> None:
    text = "\n".join(FILE.splitlines()[:3]) + "\n"

    assert apply(account_with_prices, text) == 0
    assert apply(account_with_prices, text, delete=True) == 2
    assert [row.valid_from for row in AiPrice.objects.all()] == [date(2026, 1, 1)]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("2.40", "-1"), "entry 1: '-1' is not a price such as 2.50"),
        (("2.40", "nan"), "entry 1: 'NaN' is not a price"),
        (("2.40", "0.0000000001"), "with 9 decimals at most"),
        (("token_type: output", "token_type: words"), "entry 3: 'words' is no token type"),
        (("currency: EUR", "currency: Euro"), "entry 3: "),
        (("2026-03-01", "2019-03-01"), "2019-03-01 is before 2020-01-01"),
        (("2026-03-01", "2026-01-01"), f"entry 2: '{SONNET}' is in the file twice"),
        (("model: gpt-5-mini", "modell: gpt-5-mini"), "entry 3: "),
    ],
)
def test_a_wrong_price_refuses_the_whole_file(acme: Account, change: tuple[str, str], text: str) -> None:
    with pytest.raises(UserError) as error:
        apply(acme, FILE.replace(*change))

    assert error.value.message.startswith("ai_prices, entry ")
    assert text in error.value.message
    assert not AiPrice.objects.exists()


def test_a_price_that_the_console_entered_is_the_same_row(acme: Account) -> None:
    enter_price(
        account=acme,
        actor=ACTOR,
        model="GPT-5 mini",
        token_type="output",
        price_per_million="0.00",
        currency="EUR",
        valid_from=date(2026, 1, 1),
    )

    assert "change gpt-5-mini output 2026-01-01 model" in lines(acme, FILE)
