"""Charges of several days, counted evenly by day over their charge period, against plain division by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.comparison import one_sided_of
from finops.costs.queries import query_spend
from finops.costs.queries.charge_spread import amount_in_range
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from tests.cast import Cast, signed_in
from tests.factories.costs import Line, add_source, cost
from tests.mcpserver.mcp_client import McpClient, mint

MARCH_1, MARCH_10 = date(2026, 3, 1), date(2026, 3, 10)


def charge(day: date, amount: str, days: int, /, **columns: Any) -> Line:
    """A charge whose period is so many days from its day on."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    defaults = {
        "service": "Support",
        "charge_category": "Purchase",
        "charge_frequency": "Recurring",
        **columns,
    }
    return cost(
        day, amount, **defaults, charge_period_start=start, charge_period_end=start + timedelta(days=days)
    )


@pytest.fixture
def payer(acme: Account) -> Account:
    """1 USD of usage a day from 1 February to 15 March; support of 280 in February and of 310 in March."""
    usage = [
        charge(date(2026, 2, 1) + timedelta(days=n), "1", 1, service="EC2", charge_category="Usage")
        for n in range(43)
    ]
    add_source(acme, [*usage, charge(date(2026, 2, 1), "280", 28), charge(MARCH_1, "310", 31)])
    return acme


def spread(account: Account, **fields: Any) -> Any:
    defaults = {"start_date": MARCH_1, "end_date": MARCH_10, "spread": "charge_period", **fields}
    return query_spend(account, SpendQuery(**defaults))


def test_a_monthly_charge_counts_by_the_day(cast: Cast, payer: Account) -> None:
    """Ten days of March: 10 of usage, and 10 / 31 of the 310 of support, where the bill has all of it on the first."""
    answer = spread(payer, group_by=["service"], granularity="day")

    (total,) = answer.totals
    assert total.amount == 110
    assert set(total.series.values()) == {Decimal(11)}
    assert {row.group["service"]: row.amount for row in answer.rows} == {"EC2": 10, "Support": 100}
    assert [(each.amount, each.currency) for each in answer.spread] == [(Decimal(-210), "USD")]
    assert "210.00 USD less than on their charge days" in answer.summary.partition(";")[2]
    tool = McpClient(mint(cast)).ask(
        "querySpend", start_date="2026-03-01", end_date="2026-03-10", spread="charge_period"
    )
    assert (tool["totals"][0]["amount"], tool["spread"][0]["amount"]) == (110, -210)


def test_a_charge_from_before_the_days_counts_its_share(payer: Account) -> None:
    answer = spread(payer, start_date=date(2026, 2, 20), end_date=date(2026, 3, 5), granularity="week")

    # 14 days of usage, 9 of February's 10 a day, 5 of March's 10 a day.
    assert answer.totals[0].amount == 14 + 90 + 50
    assert answer.totals[0].series["2026-02-23"] == 7 + 60 + 10


def test_a_comparison_of_part_of_a_month_has_the_charge_on_both_sides(payer: Account) -> None:
    days = {"start_date": date(2026, 2, 25), "end_date": MARCH_10, "compare_to": "previous_period"}

    (plain,) = spread(payer, spread="none", **days).totals
    (even,) = spread(payer, **days).totals

    assert plain.change is not None
    assert [plain.change.current_amount, plain.change.previous_amount] == [324, 14]
    assert even.change is not None
    assert [even.change.current_amount, even.change.previous_amount] == [14 + 40 + 100, 14 + 140]


PARTS_OF_MONTHS = {"start_date": date(2026, 2, 25), "end_date": MARCH_10, "compare_to": "previous_period"}


def test_a_comparison_that_a_monthly_charge_decides_says_so_with_its_amount(
    cast: Cast, payer: Account
) -> None:
    """14 of usage on both sides and 310 of support on one: without it nothing changes."""
    answer = spread(payer, spread="none", **PARTS_OF_MONTHS)

    (total,) = answer.totals
    assert total.change is not None
    assert total.change.one_sided == 310
    first = answer.summary
    assert (
        "310.00 USD of monthly or one-time charges are in these days only; without them nothing changes"
        in first
    )
    assert spread(payer, **PARTS_OF_MONTHS).totals[0].change.one_sided is None
    days = {"start_date": "2026-02-25", "end_date": "2026-03-10"}
    moved = McpClient(mint(cast)).ask("explainSpendChange", **days)
    assert moved["totals"][0]["one_sided"] == 310
    assert "310.00 USD of monthly or one-time charges" in moved["summary"]


@pytest.mark.parametrize(
    ("later", "earlier", "charges", "moved"),
    [
        # 100 of tax in the earlier days only turned +20 of usage into -80.
        (120, 200, [("tax", (0, 100))], -100),
        # Of +50, 10 are a fee: not most of it.
        (150, 100, [("fee", (10, 0))], None),
        # The same fee on both sides, and a fee of every day, decide nothing.
        (150, 100, [("fee", (40, 10))], None),
        # Two lines of one fee, on either side, are on both.
        (150, 100, [("fee", (40, 0)), ("fee", (0, 10))], None),
        (100, 100, [("fee", (30, 0))], 30),
    ],
)
def test_only_charges_on_one_side_decide(
    later: int, earlier: int, charges: list[tuple[str, tuple[int, int]]], moved: int | None
) -> None:
    sides = [(charge, (Decimal(now), Decimal(before))) for charge, (now, before) in charges]

    assert one_sided_of(Decimal(later), Decimal(earlier), sides) == moved


def test_whole_months_are_compared_as_they_are(payer: Account) -> None:
    months = {"start_date": date(2026, 2, 1), "end_date": date(2026, 2, 28), "compare_to": "previous_period"}
    change = spread(payer, spread="none", **months).totals[0].change

    assert change is None or change.one_sided is None


def test_filters_charge_categories_and_other_currencies_keep_to_themselves(payer: Account) -> None:
    add_source(payer, [charge(MARCH_1, "62", 31, currency="EUR")], name="Another")

    support = spread(payer, filters=[Filter(dimension="service", values=["Support"])])
    usage = spread(payer, charge_categories=["Usage"])

    assert {total.currency: total.amount for total in support.totals} == {"USD": 100, "EUR": 20}
    dollars = next(total for total in usage.totals if total.currency == "USD")
    assert [dollars.amount, dollars.left_out_amount, dollars.whole_amount] == [10, 100, 110]


def test_without_long_charges_the_answer_says_so_and_splits_are_refused(payer: Account) -> None:
    only_usage = [Filter(dimension="service", values=["EC2"])]

    assert any(
        (
            "spread had no effect: no charge of these days covers more than one day, or "
            "ChargePeriodEnd is missing (import older bills again)."
        )
        in each
        for each in spread(payer, filters=only_usage).warnings
    )
    with pytest.raises(
        UserError, match=r"spread charge_period cannot be combined with splits\. Remove one of them"
    ):
        spread(payer, splits="after")


def test_the_explorer_has_the_choice(cast: Cast, payer: Account) -> None:
    url = "/a/acme/cost-explorer/?start_date=2026-03-01&end_date=2026-03-10&group_by=service"
    page = signed_in(cast.viewer).get(f"{url}&spread=charge_period")
    table = b"".join(signed_in(cast.viewer).get(f"{url}&spread=charge_period&format=csv"))

    assert "Spread monthly charges" in page.content.decode()
    assert page.context["answer"].totals[0].amount == 110
    assert b"Support,Support,USD,100.000" in table


amounts = st.decimals(min_value="-9e15", max_value="9e15", places=18, allow_nan=False)


@given(amounts, st.integers(1, 366), st.lists(st.integers(0, 366), max_size=6))
def test_the_days_of_a_charge_add_up_to_it_however_they_are_cut(
    amount: Decimal, days: int, cuts: list[int]
) -> None:
    edges = sorted({0, days, *(cut for cut in cuts if cut < days)})
    parts = [
        amount_in_range(
            amount,
            MARCH_1,
            days,
            DateRange(MARCH_1 + timedelta(days=start), MARCH_1 + timedelta(days=end - 1)),
        )
        for start, end in pairwise(edges)
    ]

    assert sum(map(Fraction, parts)) == Fraction(amount)
    assert all(Fraction(part) * 10**18 % 1 == 0 for part in parts)
