"""The cost of one unit: small accounts, calculated by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.unit_cost_query import UnitCostQuery
from tests.factories.unit_costs import (
    add_data,
    by_customer,
    cost_line,
    cost_per_unit,
    day,
    march_query,
    name_customer,
    usage_event,
)
from tests.factories.usage import event


def rows_of(account: Account, **options: Any) -> dict[str, Any]:
    """Status, cost, usage and unit cost of each row, by customer id or value."""
    answer = cost_per_unit(account, by_customer(**options))
    return {
        row.customer_id or "+".join(row.values) or row.status: (
            row.status,
            row.cost,
            row.usage,
            row.unit_cost,
        )
        for row in answer.rows
        if row.cost or row.usage is not None
    }


def test_the_golden_example_of_how_we_count(acme: Account) -> None:
    lines = [
        cost_line(1, 60, "acme"),
        cost_line(2, 30, "globex"),
        cost_line(2, 6, "Globex Inc"),
        cost_line(3, 12, "old-co"),
        cost_line(3, 42),
    ]
    add_data(
        acme,
        lines,
        [
            usage_event(1, "acme", 300),
            usage_event(2, "acme", 300),
            usage_event(2, "globex", 90),
            usage_event(3, "initech", 60),
        ],
    )
    CustomerAlias.objects.create(account=acme, value="Globex Inc", customer_id="globex")

    answer = cost_per_unit(acme, march_query())
    (total,) = answer.totals

    assert (total.cost, total.usage, total.unit_cost) == (150, 750, Decimal("0.2"))
    assert rows_of(acme) == {
        "acme": ("matched", 60, 600, Decimal("0.1")),
        "globex": ("matched", 36, 90, Decimal("0.4")),
        "initech": ("no_cost", 0, 60, None),
        "old-co": ("unknown_customer", 12, None, None),
        "(untagged)": ("no_customer", 42, None, None),
    }
    assert answer.summary == (
        "'Acme' from 2026-03-01 to 2026-03-10 (amortized, all charge categories): 150.00 USD ÷ 750 'requests' = 0.20 USD "
        "for each; cost has data on 10 and usage on 3 of 10 days."
    )


def test_before_any_usage_the_unit_cost_is_null_with_cost_currency_and_reason(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")])

    answer = cost_per_unit(acme, march_query("orders"))
    (total,) = answer.totals

    assert (total.cost, total.currency, total.usage, total.unit_cost) == (60, "USD", None, None)
    assert "No usage pushed yet, so there is no unit cost." in total.reason
    assert "POST events with this metric to /api/usage/events" in total.reason
    assert total.reason in answer.summary
    assert "60.00 USD of cost and no unit cost for 'orders'" in answer.summary
    assert rows_of(acme) == {"acme": ("unknown_customer", 60, None, None)}


def test_a_metric_that_is_yet_to_be_pushed_is_null_and_a_misspelt_one_is_an_error(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 3)])

    (total,) = cost_per_unit(acme, march_query("seats")).totals
    assert total.unit_cost is None
    assert "No usage events of metric 'seats'. The account has 'requests'" in total.reason

    with pytest.raises(UserError) as error:
        cost_per_unit(acme, march_query("reqeusts"))
    assert error.value.message == (
        "usage_metric: 'reqeusts' does not exist. Nearest: 'requests'. Use getAccountContext."
    )
    with pytest.raises(UserError, match=r"Set usage_metric \(the divisor\) or a saved unit_metric"):
        cost_per_unit(acme, march_query(""))


def test_a_metric_in_another_case_is_accepted_and_named(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 3)])

    answer = cost_per_unit(acme, march_query("Requests"))

    assert (answer.usage_metric, answer.totals[0].unit_cost) == ("requests", 20)
    assert "Usage metric 'Requests' was interpreted as 'requests'." in answer.warnings


@pytest.mark.parametrize(
    ("quantities", "message"),
    [(["0"], "Usage is 0"), (["5", "-5"], "Usage is 0"), (["5", "-7"], "Usage is negative")],
    ids=["zero", "corrected to zero", "corrected below zero"],
)
def test_usage_that_cannot_divide_gives_null_and_says_why(
    acme: Account, quantities: list[str], message: str
) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", each) for each in quantities])

    answer = cost_per_unit(acme, by_customer())

    assert answer.totals[0].unit_cost is None
    assert message in answer.totals[0].reason
    assert message in answer.rows[0].reason
    assert answer.rows[0].cost == 60


@pytest.mark.parametrize(
    ("credit", "unit_cost"), [("-60", "0"), ("-90", "-3")], ids=["to nothing", "below nothing"]
)
def test_credits_count_as_the_view_says_and_are_shown_inside(
    acme: Account, credit: str, unit_cost: str
) -> None:
    lines = [cost_line(1, 60, "acme"), cost_line(2, credit, "acme", charge_category="Credit")]
    add_data(acme, lines, [usage_event(1, "acme", 10)])

    (total,) = cost_per_unit(acme, march_query()).totals
    assert total.unit_cost == Decimal(unit_cost)
    assert [(part.part, part.amount) for part in total.inside] == [("credits", Decimal(credit))]

    (without,) = cost_per_unit(acme, march_query(charge_categories=["Usage"])).totals
    assert (without.unit_cost, without.left_out_amount) == (6, Decimal(credit))
    assert without.cost + without.left_out_amount == total.cost


def test_two_currencies_are_never_added(acme: Account) -> None:
    lines = [
        cost_line(1, 60, "acme"),
        cost_line(1, 30, "acme", currency="EUR"),
        cost_line(1, 8, "globex", currency="EUR"),
    ]
    add_data(
        acme, lines, [usage_event(1, "acme", 10), usage_event(1, "globex", 4), usage_event(1, "initech", 6)]
    )

    answer = cost_per_unit(acme, by_customer())

    assert [(t.currency, t.cost, t.usage, t.unit_cost) for t in answer.totals] == [
        ("USD", 60, 20, 3),
        ("EUR", 38, 20, Decimal("1.9")),
    ]
    rows = [
        (row.customer_id, row.currency, row.cost, row.usage, row.unit_cost)
        for row in answer.rows
        if row.customer_id
    ]
    assert rows == [
        ("acme", "USD", 60, 10, 6),
        ("initech", "USD", 0, 6, None),
        ("acme", "EUR", 30, 10, 3),
        ("globex", "EUR", 8, 4, 2),
    ]
    assert any(
        ("Each currency's cost is divided by all usage: the cost of a unit is the sum of these unit costs.")
        in warning
        for warning in answer.warnings
    )


def test_only_exactly_the_same_id_matches(acme: Account) -> None:
    add_data(
        acme,
        [cost_line(1, 10, "Acme"), cost_line(1, 20, "acme"), cost_line(1, 30, "acme ")],
        [usage_event(1, "acme", 10)],
    )

    assert rows_of(acme) == {
        "acme": ("matched", 20, 10, 2),
        "Acme": ("unknown_customer", 10, None, None),
        "acme ": ("unknown_customer", 30, None, None),
    }


def test_an_alias_joins_another_spelling_and_its_row_says_which(acme: Account) -> None:
    add_data(acme, [cost_line(1, 10, "Acme Inc."), cost_line(1, 20, "acme")], [usage_event(1, "acme", 10)])
    name_customer(acme, "acme", "Acme Incorporated")
    CustomerAlias.objects.create(account=acme, value="Acme Inc.", customer_id="acme")

    answer = cost_per_unit(acme, by_customer())
    row = answer.rows[0]

    assert (row.customer_id, row.name, row.cost, row.unit_cost) == ("acme", "Acme Incorporated", 30, 3)
    assert row.values == ["Acme Inc.", "acme"]


def test_an_alias_of_a_deleted_customer_matches_no_customer(acme: Account) -> None:
    add_data(acme, [cost_line(1, 10, "Acme Inc.")], [usage_event(1, "acme", 10)])
    CustomerAlias.objects.create(account=acme, value="Acme Inc.", customer_id="nobody")

    assert rows_of(acme)["Acme Inc."] == ("unknown_customer", 10, None, None)


def test_a_customer_with_cost_alone_and_one_with_usage_alone_are_both_shown(acme: Account) -> None:
    lines, events = (
        [cost_line(1, 10, "acme")],
        [usage_event(1, "globex", 4), event(date(2026, 1, 1), "acme", 7)],
    )
    add_data(acme, lines, events)

    answer = cost_per_unit(acme, by_customer())
    reasons = {row.customer_id: row.reason for row in answer.rows if row.customer_id}

    assert rows_of(acme) == {"acme": ("no_usage", 10, None, None), "globex": ("no_cost", 0, 4, None)}
    assert "no usage of the metric" in reasons["acme"]
    assert "This customer has usage but no cost lines." in reasons["globex"]
    assert "Unmatched customers: 1 with cost but no usage and 1 with usage but no cost." in answer.warnings


def test_cost_of_no_customer_is_in_the_total_and_said(acme: Account) -> None:
    add_data(
        acme,
        [cost_line(1, 60, "acme"), cost_line(1, 30, "stranger"), cost_line(1, 10)],
        [usage_event(1, "acme", 10)],
    )

    answer = cost_per_unit(acme, by_customer())

    assert (answer.totals[0].cost, answer.totals[0].unmatched_cost) == (100, 40)
    assert "40.00 USD (40.0 %) of cost has no known customer by 'tag:customer'" in " ".join(answer.warnings)
    assert "; cost without a known customer: 40.00 USD (40.0 %)" in answer.summary


def test_seats_are_averaged_over_the_days_that_have_any(acme: Account) -> None:
    events = [usage_event(n, "acme", 10, metric="seats", unit="seat") for n in (1, 2, 3, 4)]
    events += [usage_event(n, "globex", 5, metric="seats", unit="seat") for n in (1, 2)]
    add_data(acme, [cost_line(1, 100, "acme"), cost_line(9, 25, "globex")], events, seats="average_of_days")

    answer = cost_per_unit(acme, march_query("seats"))
    (total,) = answer.totals

    assert (answer.aggregation, answer.unit) == ("average_of_days", "seat")
    assert (total.usage, total.unit_cost) == (Decimal("12.5"), 10)
    assert (
        "125.00 USD ÷ 12.5 'seats' = 10.00 USD for each; cost has data on 10 and usage on 4 of 10 days."
        in answer.summary
    )
    assert (
        "Usage is the average of days with usage, so this is the cost per unit for the whole "
        "period, not per day."
    ) in answer.summary
    assert rows_of(acme, metric="seats") == {
        "acme": ("matched", 100, 10, 10),
        "globex": ("matched", 25, Decimal("2.5"), 10),
    }


def test_days_with_data_are_said_and_a_difference_is_warned_of(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 5), usage_event(4, "acme", 5)])

    answer = cost_per_unit(acme, march_query())

    assert (answer.cost_days, answer.usage_days) == (10, 2)
    assert "Of the 10 days cost has data on 10 and usage on 2" in " ".join(answer.warnings)


def test_each_bucket_has_its_own_division_and_reason(acme: Account) -> None:
    lines = [cost_line(1, 60, "acme"), cost_line(2, 8, "acme"), cost_line(4, 5, "acme")]
    add_data(acme, lines, [usage_event(1, "acme", 5), usage_event(2, "acme", 4), usage_event(3, "acme", 1)])

    query = by_customer(granularity="day", start_date=day(1), end_date=day(12))
    answer = cost_per_unit(acme, query)
    buckets = {bucket.start_date.day: bucket for bucket in answer.totals[0].buckets}

    assert [buckets[n].unit_cost for n in (1, 2, 3, 4)] == [12, 2, 0, None]
    assert buckets[4].reason == "No usage on these days."
    assert buckets[11].cost is None
    assert list(answer.rows[0].series.values())[:5] == [12, 2, 0, None, None]


def test_a_filter_chooses_the_cost_and_leaves_the_usage(acme: Account) -> None:
    lines = [cost_line(1, 60, "acme", service="EC2"), cost_line(1, 40, "acme", service="S3")]
    add_data(acme, lines, [usage_event(1, "acme", 10)])

    query = UnitCostQuery.from_params(
        {
            "usage_metric": ["requests"],
            "start_date": ["2026-03-01"],
            "end_date": ["2026-03-10"],
            "f0": ["service"],
            "f0v": ["S3"],
        }
    )
    answer = cost_per_unit(acme, query)

    assert (answer.totals[0].cost, answer.totals[0].unit_cost) == (40, 4)
    assert answer.resolved_filters[0].values == ["S3"]


@pytest.mark.parametrize("mode", ["total", "per_customer"])
@pytest.mark.parametrize("customer", ["globex", "Globex Corporation"])
def test_named_customers_restrict_cost_and_usage(acme: Account, mode: str, customer: str) -> None:
    lines = [
        cost_line(1, 60, "acme"),
        cost_line(1, 9, "globex"),
        cost_line(2, 3, "Globex Inc"),
        cost_line(3, 4),
    ]
    add_data(acme, lines, [usage_event(1, "acme", 10), usage_event(2, "globex", 6)])
    name_customer(acme, "globex", "Globex Corporation")
    CustomerAlias.objects.create(account=acme, value="Globex Inc", customer_id="globex")

    answer = cost_per_unit(acme, march_query(mode=mode, customers=[customer]))

    assert [(t.cost, t.usage, t.unit_cost) for t in answer.totals] == [(12, 6, 2)]
    assert [row.customer_id for row in answer.rows] == (["globex"] if mode == "per_customer" else [])


def test_an_unknown_customer_is_said_with_the_nearest(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 10)])

    answer = cost_per_unit(acme, march_query(customers=["acm"]))

    assert answer.totals == []
    assert "No customer with the ID or name 'acm'. Nearest: 'acme'." in answer.warnings


@pytest.mark.parametrize(
    "options", [{"mode": "per_customer"}, {"customers": ["acme"]}], ids=["mode", "customers"]
)
def test_without_a_customer_key_the_error_says_where_to_choose_one(
    acme: Account, options: dict[str, Any]
) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 10)])
    CustomerKey.objects.all().delete()

    with pytest.raises(UserError, match="Members set it in Settings, Customer key"):
        cost_per_unit(acme, march_query(**options))
    assert cost_per_unit(acme, march_query()).totals[0].unit_cost == 6


def test_the_rest_of_many_customers_is_one_row_that_still_adds_up(acme: Account) -> None:
    lines = [cost_line(1, n, f"c{n:02}") for n in range(1, 31)] + [
        cost_line(1, n, f"x{n:02}") for n in range(1, 31)
    ]
    add_data(acme, lines, [usage_event(1, f"c{n:02}", 2) for n in range(1, 31)])

    answer = cost_per_unit(acme, by_customer(limit=5))
    (rest_row,) = [row for row in answer.rows if row.status == "rest"]

    assert sum(row.cost for row in answer.rows) == answer.totals[0].cost == 930
    assert (rest_row.other_rows, rest_row.cost, rest_row.usage, rest_row.unit_cost) == (
        25,
        325,
        50,
        Decimal("6.5"),
    )
    assert (
        "25 other customers and 26 values of unknown customers are in one row per status" in answer.truncated
    )
    assert "raise limit (now 5, maximum 100)" in answer.truncated


def test_unmatched_customers_are_listed_however_many_match(acme: Account) -> None:
    lines = [cost_line(1, n, f"c{n:02}") for n in range(1, 11)] + [cost_line(1, 1, "silent")]
    events = [usage_event(1, f"c{n:02}", 2) for n in range(1, 11)] + [
        usage_event(1, f"free-{n}", n) for n in range(1, 5)
    ]
    add_data(acme, lines, [*events, event(date(2026, 1, 1), "silent", 1)])

    answer = cost_per_unit(acme, by_customer(limit=2))

    assert [row.customer_id for row in answer.rows if row.status in ("no_usage", "no_cost")] == [
        "silent",
        "free-4",
        "free-3",
        None,
    ]
    allow_rollups = [row for row in answer.rows if row.other_rows]
    assert [(row.status, row.other_rows, row.usage, row.unit_cost) for row in allow_rollups] == [
        ("rest", 8, 16, Decimal("2.25")),
        ("no_cost", 2, 3, None),
    ]
