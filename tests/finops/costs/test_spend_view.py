"""What counts, what is left out, and how an answer says so."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry
from finops.costs.answers import AppliedCostView
from finops.costs.models import CostView
from finops.costs.queries import cost_view, query_spend
from finops.costs.services import change_cost_view
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.factories.costs import add_source, cost

DAY = date(2026, 3, 2)
MARCH = SpendQuery(period="month_to_date")


@pytest.fixture
def bill(acme: Account) -> Account:
    """One line of everything; credits cancel the usage."""
    add_source(
        acme,
        [
            cost(DAY, 100, effective_cost=Decimal(90)),
            cost(DAY, -100, charge_category="Credit"),
            cost(DAY, 19, charge_category="Tax"),
            cost(DAY, -7, charge_category="Adjustment"),
            cost(DAY, -3, charge_class="Correction"),
            cost(DAY, 2, charge_class="Correction"),
            cost(
                DAY, 500, effective_cost=Decimal(0), charge_category="Purchase", charge_frequency="One-Time"
            ),
            cost(DAY, 40, charge_category="Purchase", charge_frequency="Recurring"),
        ],
    )
    return acme


def parts(account: Account, query: SpendQuery) -> dict[str, Decimal]:
    return {part.part: part.amount for part in query_spend(account, query).totals[0].inside}


def test_a_new_account_counts_what_is_billed_and_all_of_it(bill: Account) -> None:
    answer = query_spend(bill, MARCH)

    assert answer.view == AppliedCostView(basis="billed", charge_categories=["all"], is_account_view=True)
    assert answer.totals[0].amount == answer.totals[0].whole_amount == 551
    assert answer.totals[0].left_out == []


def test_credits_refunds_tax_and_one_time_fees_inside_are_listed(bill: Account) -> None:
    assert parts(bill, MARCH) == {"credits": -100, "refunds": -10, "tax": 19, "one_time_fees": 500}
    assert query_spend(bill, MARCH).summary.startswith(
        "'Acme' spent 551.00 USD (661.00 USD of charges less 100.00 USD of credits and 10.00 USD of refunds) from"
    )


@pytest.mark.parametrize(
    ("charges", "credit", "refund", "words"),
    [
        (100, "-5272.85", 0, "-5,172.85 USD (100.00 USD of charges less 5,272.85 USD of credits)"),
        (100, 0, -250, "-150.00 USD (100.00 USD of charges less 250.00 USD of refunds)"),
        (100, 20, 0, "120.00 USD (100.00 USD of charges plus 20.00 USD of credits refunded)"),
        (
            100,
            20,
            -5,
            (
                "115.00 USD (100.00 USD of charges less 5.00 USD of refunds plus 20.00 USD of "
                "credits refunded)"
            ),
        ),
        (0, -30, 0, "-30.00 USD (0.00 USD of charges less 30.00 USD of credits)"),
        (100, 0, 0, "100.00 USD"),
    ],
)
def test_credits_and_refunds_read_plainly_with_any_sign(
    acme: Account, charges: int, credit: Any, refund: int, words: str
) -> None:
    lines = [
        cost(DAY, charges),
        cost(DAY, credit, charge_category="Credit"),
        cost(DAY, refund, charge_class="Correction"),
    ]
    add_source(acme, [line for line in lines if line["billed_cost"]])
    assert query_spend(acme, MARCH).summary.startswith(f"'Acme' spent {words} from")


def test_left_out_cost_is_listed_and_adds_up_to_the_total(bill: Account) -> None:
    answer = query_spend(bill, SpendQuery(period="month_to_date", charge_categories=["usage", "Purchase"]))

    (total,) = answer.totals
    assert total.amount == 100 - 3 + 2 + 540
    assert [(part.part, part.amount) for part in total.left_out] == [
        ("Adjustment", Decimal(-7)),
        ("Credit", Decimal(-100)),
        ("Tax", Decimal(19)),
    ]
    assert total.amount + total.left_out_amount == total.whole_amount == 551
    assert answer.view == AppliedCostView(
        basis="billed", charge_categories=["Usage", "Purchase"], is_account_view=False
    )


def test_the_accounts_view_applies_unless_a_call_overrides_it(bill: Account, cast: Cast) -> None:
    change_cost_view(account=bill, actor=cast.actor, basis="amortized", charge_categories=["Usage"])

    default_answer = query_spend(bill, MARCH)
    overridden = query_spend(
        bill, SpendQuery(period="month_to_date", basis="billed", charge_categories=["all"])
    )

    assert (default_answer.totals[0].amount, default_answer.view.is_account_view) == (Decimal(89), True)
    assert (overridden.totals[0].amount, overridden.view.is_account_view) == (Decimal(551), False)


def test_currencies_are_never_added(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1), cost(DAY, 2, currency="EUR"), cost(DAY, 4, currency="EUR")])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["service"]))

    assert [(total.amount, total.currency) for total in answer.totals] == [
        (Decimal(6), "EUR"),
        (Decimal(1), "USD"),
    ]
    assert [(row.currency, row.amount) for row in answer.rows] == [("EUR", Decimal(6)), ("USD", Decimal(1))]
    assert [row.share for row in answer.rows] == [1, 1]
    assert (
        "Cost is in 2 currencies (EUR, USD), which are not added: one total per currency." in answer.warnings
    )


def test_a_share_of_nothing_is_null_with_its_reason(acme: Account) -> None:
    add_source(acme, [cost(DAY, 5, service="a"), cost(DAY, -5, service="b")])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["service"]))

    assert [(row.share, row.share_reason) for row in answer.rows] == [(None, "The total is 0.")] * 2


def test_a_large_credit_is_not_hidden_in_other(acme: Account) -> None:
    lines = [cost(DAY, amount, service=f"s{amount}") for amount in (5, 4, 3, 2, 1)]
    add_source(acme, [*lines, cost(DAY, -50, service="credit")])

    answer = query_spend(acme, SpendQuery(period="month_to_date", group_by=["service"], limit=2))

    assert [(row.group["service"], row.amount, row.other_groups) for row in answer.rows] == [
        ("s5", Decimal(5), 0),
        ("credit", Decimal(-50), 0),
        ("other", Decimal(10), 4),
    ]
    assert answer.truncated.startswith("4 groups are in the row other: raise limit (now 2, maximum 50)")


def test_empty_buckets_are_zero_where_there_is_data_around_and_null_elsewhere(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 1, 30), 1), cost(date(2026, 3, 3), 2), cost(date(2026, 3, 5), 4)])

    days = query_spend(
        acme, SpendQuery(start_date=date(2026, 3, 2), end_date=date(2026, 3, 6), granularity="day")
    )
    months = query_spend(
        acme, SpendQuery(start_date=date(2025, 12, 1), end_date=date(2026, 3, 31), granularity="month")
    )

    assert days.totals[0].series == {
        "2026-03-02": 0,
        "2026-03-03": 2,
        "2026-03-04": 0,
        "2026-03-05": 4,
        "2026-03-06": None,
    }
    assert months.totals[0].series == {
        "2025-12-01": None,
        "2026-01-01": 1,
        "2026-02-01": None,
        "2026-03-01": 6,
    }


def test_weeks_begin_on_monday_and_say_where_the_period_cuts_them(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 3, 1), 1), cost(date(2026, 3, 2), 2), cost(date(2026, 3, 11), 4)])

    answer = query_spend(
        acme, SpendQuery(start_date=date(2026, 3, 1), end_date=date(2026, 3, 11), granularity="week")
    )

    assert answer.totals[0].series == {"2026-02-23": 1, "2026-03-02": 2, "2026-03-09": 4}
    assert (
        "The week of 2026-02-23 counts from 2026-03-01 and the week of 2026-03-09 counts to 2026-03-11 only."
        in answer.warnings
    )


def test_too_many_buckets_are_refused_with_what_to_ask_instead(acme: Account) -> None:
    with pytest.raises(UserError, match="Use at most 400 days or a coarser granularity"):
        query_spend(
            acme, SpendQuery(start_date=date(2024, 1, 1), end_date=date(2026, 1, 1), granularity="day")
        )


def test_an_account_without_data_sees_how_to_begin(acme: Account) -> None:
    answer = query_spend(
        acme, SpendQuery(group_by=["service"], granularity="month", compare_to="previous_year")
    )

    assert (answer.totals, answer.rows, answer.data_through) == ([], [], None)
    assert answer.summary == "'Acme' has no cost data from 2026-02-18 to 2026-03-19."
    assert "The account has no cost data yet." in answer.warnings
    assert "Connections page" in answer.hint


def test_days_without_data_say_which_days_have_some(bill: Account) -> None:
    answer = query_spend(bill, SpendQuery(start_date=date(2020, 1, 1), end_date=date(2020, 1, 31)))

    assert answer.warnings == [("No data in the period. Data is available from 2026-03-02 to 2026-03-02.")]
    assert answer.hint == "Use days from 2026-03-02 to 2026-03-02, which have cost."


def test_quarters_and_years_begin_at_the_fiscal_start_month(acme: Account) -> None:
    add_source(acme, [cost(date(2026, month, 1), 10**month) for month in (1, 2, 3)])
    acme.fiscal_start_month = 2

    assert query_spend(acme, SpendQuery(period="quarter_to_date")).totals[0].amount == 1100
    assert query_spend(acme, SpendQuery(period="year_to_date")).totals[0].amount == 1100


def test_data_through_is_the_last_day_that_all_live_sources_have(acme: Account) -> None:
    def through() -> date | None:
        return query_spend(acme, MARCH).data_through

    add_source(acme, [cost(date(2026, 3, 19), 1)], name="fast")
    assert through() == date(2026, 3, 19)
    add_source(acme, [cost(date(2026, 3, 17), 1)], name="slow")
    assert through() == date(2026, 3, 17)
    add_source(acme, [cost(date(2026, 3, 1), 1)], name="stopped")
    assert through() == date(2026, 3, 17)
    assert "Source 'stopped' has no cost lines after 2026-03-01." in query_spend(acme, MARCH).warnings


def test_today_is_never_complete(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 3, 20), 1), cost(date(2026, 3, 20), 1)])

    answer = query_spend(acme, MARCH)

    assert answer.data_through is None
    with clock.frozen(datetime(2026, 3, 21, tzinfo=UTC)):
        assert query_spend(acme, MARCH).data_through == date(2026, 3, 20)


def test_changing_the_cost_view_is_audited_with_before_and_after(acme: Account, cast: Cast) -> None:
    change_cost_view(account=acme, actor=cast.actor, basis="amortized", charge_categories=["tax", "usage"])

    entry = AuditEntry.objects.get(action="cost_view.change")
    assert entry.detail["from"]["basis"] == "billed"
    assert entry.detail["to"]["charge_categories"] == ["Usage", "Tax"]
    assert cost_view(acme).charge_categories == ("Usage", "Tax")


def test_all_categories_are_the_same_as_no_choice(acme: Account, cast: Cast) -> None:
    every = ["Usage", "Purchase", "Tax", "Credit", "Adjustment"]
    for categories in (every, ["all"], []):
        view = change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=categories)
        assert view.charge_categories == []


def test_an_unknown_basis_or_category_changes_nothing(acme: Account, cast: Cast) -> None:
    with pytest.raises(ValidationError):
        change_cost_view(account=acme, actor=cast.actor, basis="net", charge_categories=[])
    with pytest.raises(UserError, match=r"charge_categories: 'Taxes' does not exist\. Nearest: Tax"):
        change_cost_view(account=acme, actor=cast.actor, basis="billed", charge_categories=["Taxes"])

    assert not CostView.objects.exists()
    assert not AuditEntry.objects.filter(action="cost_view.change").exists()
