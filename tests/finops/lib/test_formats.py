"""Amounts, shares, quantities, days and times in a person's locale; the browser formats the same."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.lib import clock
from finops.lib.formats import dates, numbers
from finops.lib.formats.locales import LOCALES, reader_formats, time_zones
from finops.lib.formats.sentences import reader_text, without_warnings
from finops.lib.sentences import change_percent_text, percent_text

ROOT = Path(__file__).parents[3]
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)

VALUES = (
    *(0, 1, 2.5, 12, 999.994, 999.995, 1005, 1234.5, 9999.99, 10_000, 12_345, 196_123.45, 999_940, 999_960),
    *(
        1_000_000,
        4_412_000,
        999_999_999,
        1.5e9,
        7e12,
        1.25e15,
        0.5,
        0.1,
        0.01,
        0.009,
        0.0042,
        0.000123456,
        1.2e-9,
    ),
    *(-0.004, -3, -1234.567, -196_123, 0.3233, 0.042, 0.0004, -0.0004, -0.25, 1.5),
)
CURRENCIES = ("USD", "EUR", "JPY", "CHF", "KWD", "TOKENS")

COMPARE = """
import { readFileSync } from "node:fs";
import * as numbers from "./static/js/lib/numbers.js";
const texts = JSON.parse(readFileSync(0)).map(({ symbols, name, value, unit }) => {
  numbers.setSymbols(symbols);
  return numbers[name](value, ...(unit ? [unit] : []));
});
console.log(JSON.stringify(texts));
"""


def in_browser(cases: list[dict[str, Any]]) -> list[str]:
    node = str(Path(sys.executable).with_name("node"))
    result = subprocess.run(
        [node, "--input-type=module", "--eval", COMPARE],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return list(json.loads(result.stdout))


def cases_of(values: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Everything that both sides write, in every locale, with what the server writes."""
    cases, texts = [], []
    for locale in LOCALES:
        with reader_formats(locale):
            symbols = numbers.browser_symbols()
            for value in values:
                for name, text in (
                    ("formatNumber", numbers.number(value)),
                    ("formatCompact", numbers.compact(value)),
                    ("formatPercent", numbers.percent(value)),
                    ("formatChange", numbers.change(value)),
                ):
                    cases.append({"symbols": symbols, "name": name, "value": value})
                    texts.append(text)
                for currency in CURRENCIES:
                    unit = numbers.browser_unit(currency)
                    for name, write in (
                        ("formatMoney", numbers.money),
                        ("formatHeadline", numbers.headline),
                    ):
                        cases.append({"symbols": symbols, "name": name, "value": value, "unit": unit})
                        texts.append(write(value, currency))
    return cases, texts


def test_the_browser_writes_every_number_as_the_server_does() -> None:
    cases, texts = cases_of(VALUES)
    assert len(cases) > 8000
    different = [
        (case, browser_text, server_text)
        for case, browser_text, server_text in zip(cases, in_browser(cases), texts, strict=True)
        if browser_text != server_text
    ]
    assert different[:5] == []


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("en-US", "−$1,234.50 €12.00 CA$12.00 CHF\xa012.00 ¥12 $0.0042"),
        ("en-CA", "−US$1,234.50 €12.00 $12.00 CHF\xa012.00 JP¥12 US$0.0042"),
        ("en-DE", "−1.234,50\xa0US$ 12,00\xa0€ 12,00\xa0CA$ 12,00\xa0CHF 12\xa0JP¥ 0,0042\xa0US$"),
        ("en-IN", "−$1,234.50 €12.00 CA$12.00 CHF\xa012.00 JP¥12 $0.0042"),
    ],
)
def test_an_amount_has_the_symbol_of_its_currency_where_the_locale_has_it(locale: str, expected: str) -> None:
    with reader_formats(locale):
        texts = [
            numbers.money(Decimal("-1234.5"), "USD"),
            *(numbers.money(12, currency) for currency in ("EUR", "CAD", "CHF", "JPY")),
            numbers.money(0.0042, "USD"),
        ]
    assert " ".join(texts) == expected


def test_a_headline_is_short_and_says_so_only_of_large_amounts() -> None:
    amounts = [0, 842.1, 9_999.99, 10_000, 196_123, 999_960, -4_412_000]
    texts = [numbers.headline(each, "USD") for each in amounts]
    assert texts == ["$0.00", "$842.10", "$9,999.99", "$10K", "$196.1K", "$1M", "−$4.4M"]


def test_there_is_one_minus_sign_and_none_before_what_reads_as_zero() -> None:
    assert numbers.money(Decimal("-0.0"), "USD") == "$0.00"
    assert numbers.percent(-0.25) == "−25%"
    assert numbers.signed_money(-3, "USD") == "−$3.00"
    assert numbers.signed_money(0, "USD") == "$0.00"
    assert numbers.number(-12) == "−12"


def test_shares_and_changes() -> None:
    assert [numbers.percent(each) for each in (0.3233, 0.5, 1, 0, 0.0001, 0.9997, -0.9997, 12.345)] == [
        *("32.3%", "50%", "100%", "0%", "<0.1%", ">99.9%", "<−99.9%", "1,234.5%")
    ]
    assert [numbers.change(each) for each in (0.042, -0.042, 0, 0.0004, -0.0004, 0.9997, -0.9997)] == [
        *("+4.2%", "−4.2%", "0%", "0%", "0%", "+100%", "<−99.9%")
    ]


@pytest.mark.parametrize(
    ("share", "sentence", "page"),
    [
        ("0.3233", "32.3 %", "32.3%"),
        ("0.0004", "<0.1 %", "<0.1%"),
        ("-0.0004", ">-0.1 %", ">−0.1%"),
        ("0.9997", ">99.9 %", ">99.9%"),
        ("-0.9997", "<-99.9 %", "<−99.9%"),
        ("0.9994", "99.9 %", "99.9%"),
        ("1.0004", "100.0 %", "100%"),
        ("-0", "0.0 %", "0%"),
    ],
)
def test_a_share_never_claims_nothing_or_everything_in_a_sentence(
    share: str, sentence: str, page: str
) -> None:
    """The page shows the sentence's share as it shows the share of a table."""
    assert percent_text(Decimal(share)) == sentence
    assert reader_text(f"{sentence} of it") == f"{page} of it"
    assert numbers.percent(Decimal(share)) == page


def test_a_change_in_a_sentence_has_a_sign() -> None:
    assert [
        change_percent_text(Decimal(each)) for each in ("0.0421", "-0.04", "0.0003", "0.9997", "-0.9997")
    ] == [*("+4.2 %", "-4.0 %", "0.0 %", "+100.0 %", "<-99.9 %")]


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (4_412_000, "documents", "4.4M documents"),
        (1, "documents", "1 document"),
        (1, "document", "1 document"),
        (2, "query", "2 queries"),
        (1, "queries", "1 query"),
        (3, "GB", "3 GB"),
        (1, "address", "1 address"),
        (12.5, "kWh", "12.5 kWh"),
        (2, "storage", "2 storage"),
        (2, "API calls", "2 API calls"),
        (7, None, "7"),
    ],
)
def test_a_quantity_agrees_with_its_unit(value: float, unit: str | None, expected: str) -> None:
    assert numbers.quantity(value, unit, short=True) == expected


def test_a_unit_price_keeps_four_digits() -> None:
    prices = [Decimal("0.042129"), Decimal("3.14159"), Decimal("1234.5"), Decimal(0)]
    assert [numbers.price(each, "USD") for each in prices] == ["$0.04213", "$3.142", "$1,234.50", "$0.00"]


def test_days_have_their_year_where_it_is_not_this_one() -> None:
    with clock.frozen(NOON):
        assert dates.day(date(2026, 10, 23)) == "Oct 23"
        assert dates.day(date(2025, 10, 23)) == "Oct 23, 2025"
        assert dates.day_range(date(2026, 10, 23), date(2026, 11, 21)) == "Oct 23 – Nov 21"
        assert dates.day_range(date(2025, 12, 23), date(2026, 1, 21)) == "Dec 23, 2025 – Jan 21, 2026"
        assert dates.day_range(date(2026, 11, 1), date(2026, 11, 1)) == "Nov 1"
        assert dates.month_range(date(2026, 8, 1), date(2026, 11, 1)) == "Aug – Nov"
        assert [dates.bucket(each) for each in ("2026-11", "2025-11", "2026-11-23", "EC2", "Storage")] == [
            *("Nov", "Nov 2025", "Nov 23", "EC2", "Storage")
        ]
        with reader_formats("en-GB"):
            assert dates.day_range(date(2026, 10, 23), date(2026, 11, 21)) == "23 Oct – 21 Nov"


def test_compared_days_are_next_to_each_other() -> None:
    with clock.frozen(NOON):
        text = dates.compared_days(
            date(2026, 10, 23), date(2026, 11, 21), date(2026, 9, 23), date(2026, 10, 22)
        )
    assert text == "Oct 23 – Nov 21 vs Sep 23 – Oct 22"


def test_a_time_is_that_of_the_readers_zone() -> None:
    moment = datetime(2026, 11, 22, 23, 30, tzinfo=UTC)
    with clock.frozen(NOON):
        assert dates.moment(moment) == "Nov 22, 11:30 PM"
        with reader_formats("en-GB", "Europe/Berlin"):
            assert dates.moment(moment) == "23 Nov, 00:30"
            assert "Monday, 23 November 2026, 00:30:00" in dates.exact_moment(moment)
        with reader_formats("en-GB", "Asia/Tokyo"):
            assert dates.moment(moment) == "23 Nov, 08:30"


def test_a_locale_or_zone_that_is_not_supported_is_the_default() -> None:
    with reader_formats("xx-XX", "Mars/Olympus"):
        assert numbers.money(1, "USD") == "$1.00"
        assert dates.exact_moment(NOON).endswith("UTC")
    assert {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"} <= time_zones()


def test_relative_times_and_durations() -> None:
    assert dates.ago(timedelta(hours=3)) == "3 hours ago"
    assert dates.ago(timedelta(seconds=-3700)) == "in 1 hour"
    assert dates.ago(timedelta(seconds=20)) == "just now"
    assert dates.duration(4.21) == "4.2 seconds"


@given(
    amount=st.decimals(min_value=-(10**15), max_value=10**15, places=9, allow_nan=False),
    locale=st.sampled_from(sorted(LOCALES)),
)
def test_a_written_amount_is_read_as_the_rounded_amount(amount: Decimal, locale: str) -> None:
    with reader_formats(locale):
        own, affixes = numbers.symbols(locale), numbers.currency_affixes("EUR", locale)
        text = numbers.money(amount, "EUR")
    digits = text.removeprefix(numbers.MINUS).removeprefix(affixes.prefix).removesuffix(affixes.suffix)
    read = Decimal(digits.replace(own.group, "").replace(own.decimal, "."))
    read = -read if text.startswith(numbers.MINUS) else read
    assert abs(read - amount) <= max(
        Decimal("0.005") if abs(amount) >= Decimal("0.01") else abs(amount) / 200, Decimal(0)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "'Acme' spent 1,234.50 USD (1.5 % less than the 1,253.00 USD before) from 2026-10-23 to 2026-11-21.",
            "'Acme' spent $1,234.50 (1.5% less than the $1,253.00 before) from Oct 23 to Nov 21.",
        ),
        ("+12.34 USD billed and -1.00 EUR, 2.344 USD for each", "+$12.34 billed and −€1.00, $2.344 for each"),
        ("failed since 2026-11-23 10:20 UTC, so", "failed since Nov 23, 10:20 AM, so"),
        (
            "2026-09 was closed; months 2026-09 to 2026-11 (2025-12)",
            "Sep was closed; months Sep – Nov (Dec 2025)",
        ),
        ("at or above the threshold of 80 %. Now 100.0 %", "at or above the threshold of 80%. Now 100%"),
        ("'2026-10 at 5.00 USD' costs 5.00 USD", "'2026-10 at 5.00 USD' costs $5.00"),
        (
            "a-2026-09.parquet, 2026-13-45, 5.00 ABC, INV-2026-10",
            "a-2026-09.parquet, 2026-13-45, 5.00 ABC, INV-2026-10",
        ),
        (
            "4,690,276 'document' = 0.05897 USD; 1 'seat', 3 'GB', 2026-10 'day'",
            "4,690,276 documents = $0.05897; 1 seat, 3 'GB', Oct 'day'",
        ),
        ("2 more sources have problems (getDataHealth).", "2 more sources have problems."),
        (
            "mode per_customer needs a key. Set usage_filters, or use mode total without customers.",
            "by customer needs a key. Set usage filters, or show the total without customers.",
        ),
        ("", ""),
    ],
)
def test_a_sentence_of_an_answer_is_written_for_its_reader(text: str, expected: str) -> None:
    with clock.frozen(NOON):
        assert reader_text(text) == expected


def test_a_summary_leaves_out_what_its_warnings_repeat() -> None:
    summary = "Acme spent 5.00 USD; syncs of 'AWS' have failed since 2026-11-22, so it has no cost yet; most on 'EC2'."
    warnings = ["Syncs of 'AWS' have failed since 2026-11-22, so it has no cost yet.", "Data is complete."]

    assert without_warnings(summary, warnings) == "Acme spent 5.00 USD; most on 'EC2'."


def test_a_sentence_of_an_answer_has_the_readers_locale_and_zone() -> None:
    with clock.frozen(NOON), reader_formats("en-DE", "Asia/Tokyo"):
        assert reader_text("5.00 EUR since 2026-11-22 23:30 UTC") == "5,00\xa0€ since 23 Nov, 08:30"
