"""Codes of currencies, and the codes that a name or a symbol may mean."""

from __future__ import annotations

import pytest

from finops.lib.currencies import currency_code, currency_of_unit, named_currencies
from finops.lib.errors import UserError


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("US dollars", ["USD"]),
        ("Dollars (US)", ["USD"]),
        ("$", ["USD"]),
        ("US$", ["USD"]),
        ("A$", ["AUD"]),
        ("euros", ["EUR"]),
        ("EURO", ["EUR"]),
        (" € ", ["EUR"]),
        ("british pounds", ["GBP"]),
        ("£", ["GBP"]),
        ("Yen", ["JPY"]),
        ("¥", ["JPY", "CNY"]),
        ("￥", ["JPY", "CNY"]),
        ("元", ["CNY"]),
        ("RMB", ["CNY"]),
        ("kr", ["SEK", "NOK", "DKK", "ISK"]),
        ("zł", ["PLN"]),
        ("Kč", ["CZK"]),
        ("Ft", ["HUF"]),
        ("₽", ["RUB"]),
        ("₺", ["TRY"]),
        ("₴", ["UAH"]),
        ("R$", ["BRL"]),
        ("Rs.", ["INR", "PKR"]),
        ("pounds sterling", ["GBP"]),
        ("Swiss francs", ["CHF"]),
        ("kroner", ["DKK", "NOK"]),
        ("dollers canadian", ["CAD"]),
        ("of", []),
        ("", []),
    ],
)
def test_a_name_or_symbol_means_these_codes(text: str, codes: list[str]) -> None:
    assert named_currencies(text) == codes


@pytest.mark.parametrize(
    ("text", "first"),
    [("dollars", "USD"), ("dollar", "USD"), ("dólares", "USD"), ("pounds", "GBP"), ("rupees", "INR")],
)
def test_of_many_the_one_with_the_best_known_symbol_is_first(text: str, first: str) -> None:
    codes = named_currencies(text)

    assert codes[0] == first
    assert len(codes) > 1


@pytest.mark.parametrize(
    ("unit", "currency"),
    [
        ("USD", "USD"),
        ("usd", "USD"),
        (" € ", "EUR"),
        ("CHF", "CHF"),
        ("$", "USD"),
        ("US$", "USD"),
        ("Ft", ""),
        ("kr", ""),
        ("all", ""),
        ("pounds", ""),
        ("call", ""),
    ],
)
def test_a_unit_of_usage_is_a_currency_by_its_code_or_symbol(unit: str, currency: str) -> None:
    assert currency_of_unit(unit) == currency
    assert currency_of_unit(None) == ""


def test_a_name_is_refused_with_the_codes_that_it_may_mean() -> None:
    with pytest.raises(UserError) as error:
        currency_code("US dollars", field="display_currency")

    assert error.value.field == "display_currency"
    assert error.value.message.endswith("Nearest: USD.")
    assert currency_code(" usd ") == "USD"


@pytest.mark.parametrize("text", ["default", "undefined", "my currency", "bitcoin"])
def test_a_word_that_names_no_currency_has_no_similar_code(text: str) -> None:
    with pytest.raises(UserError) as error:
        currency_code(text)

    assert "Nearest" not in error.value.message
