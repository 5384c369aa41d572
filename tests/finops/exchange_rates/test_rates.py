"""Which rate a day has: the last day before, the source that wins, inverses and the way through the euro."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from finops.exchange_rates.rates import SourceRate, day_rates, spans_of

FRIDAY = date(2026, 11, 13)
MONDAY = date(2026, 11, 16)
DAY = date(2026, 11, 20)


def rate(day: date, base: str, quote: str, text: str, source: str = "ecb") -> SourceRate:
    return SourceRate(day, base, quote, Decimal(text), source)


def rates_on(rows: list[SourceRate], target: str, day: date) -> dict[str, Decimal]:
    return {each.currency: each.rate for each in day_rates(rows, target, day, day)}


def test_a_weekend_has_the_rate_of_friday() -> None:
    rows = [rate(FRIDAY, "EUR", "USD", "1.1")]
    rates = day_rates(rows, "USD", FRIDAY, MONDAY)
    assert [(each.day.day, each.rate, each.rate_day) for each in rates] == [
        (day, Decimal("1.1"), FRIDAY) for day in (13, 14, 15, 16)
    ]


def test_a_rate_is_missing_once_the_last_is_older_than_a_week() -> None:
    rows = [rate(FRIDAY, "EUR", "USD", "1.1")]
    assert rates_on(rows, "USD", date(2026, 11, 20)) == {"EUR": Decimal("1.1")}
    assert rates_on(rows, "USD", date(2026, 11, 21)) == {}


def test_no_rate_is_taken_from_a_later_day() -> None:
    assert rates_on([rate(MONDAY, "EUR", "USD", "1.1")], "USD", FRIDAY) == {}


def test_the_entered_rate_of_a_day_precedes_uploads_bills_and_ecb() -> None:
    sources = ["ecb", "bill", "uploaded", "entered"]
    rows = [rate(DAY, "EUR", "USD", f"1.{place + 1}", source) for place, source in enumerate(sources)]
    for place in reversed(range(4)):
        assert rates_on(rows[: place + 1], "USD", DAY) == {"EUR": Decimal(f"1.{place + 1}")}


def test_a_newer_day_wins_over_a_better_source() -> None:
    rows = [rate(MONDAY, "EUR", "USD", "1.1", "entered"), rate(DAY, "EUR", "USD", "1.2", "ecb")]
    assert rates_on(rows, "USD", DAY) == {"EUR": Decimal("1.2")}


def test_an_inverse_is_rounded_to_14_decimals() -> None:
    assert rates_on([rate(DAY, "EUR", "USD", "1.0876")], "EUR", DAY) == {"USD": Decimal("0.91945568223612")}


def test_a_cross_rate_goes_through_the_euro_exactly() -> None:
    rows = [rate(DAY, "EUR", "USD", "1.0876"), rate(DAY, "EUR", "JPY", "164.33")]
    assert rates_on(rows, "USD", DAY)["JPY"] == Decimal("0.00661838982535")
    assert day_rates(rows, "USD", DAY, DAY)[1].through == "EUR"


def test_a_pair_as_its_source_has_it_wins_over_the_way_through_the_euro() -> None:
    rows = [
        rate(DAY, "EUR", "USD", "1.0876", "uploaded"),
        rate(DAY, "EUR", "GBP", "0.85", "uploaded"),
        rate(DAY, "GBP", "USD", "1.3", "uploaded"),
    ]
    assert rates_on(rows, "USD", DAY)["GBP"] == Decimal("1.3")


def test_no_way_leads_through_two_sources() -> None:
    rows = [rate(DAY, "EUR", "USD", "1.0876", "ecb"), rate(DAY, "EUR", "GBP", "0.85", "uploaded")]
    assert "GBP" not in rates_on(rows, "USD", DAY)


def test_a_rate_that_14_decimals_cannot_hold_is_missing() -> None:
    rows = [rate(DAY, "USD", "VND", "999999.5"), rate(DAY, "EUR", "USD", "0.00000000000001")]
    rows += [rate(DAY, "EUR", "LBP", "999999")]
    assert "LBP" not in rates_on(rows, "USD", DAY)


def test_days_that_share_a_rate_are_one_span() -> None:
    rows = [rate(FRIDAY, "EUR", "USD", "1.1"), rate(MONDAY, "EUR", "USD", "1.2")]
    used = {("EUR", date(2026, 11, day)) for day in (13, 15, 16)}
    spans = spans_of(day_rates(rows, "USD", FRIDAY, DAY), used)
    assert [(span.start.day, span.end.day, span.rate) for span in spans] == [
        (16, 16, Decimal("1.2")),
        (13, 15, Decimal("1.1")),
    ]
