"""Comparisons, warnings and refusals in an answer about unit cost."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.lib.errors import UserError
from tests.factories.costs import cost
from tests.factories.unit_costs import (
    add_data,
    by_customer,
    cost_line,
    cost_per_unit,
    day,
    march_query,
    usage_event,
)
from tests.factories.usage import event, push_events


def test_a_change_compares_unit_costs_of_the_same_elapsed_days(acme: Account) -> None:
    lines = [cost(date(2026, 2, n), 12, tags={"customer": "acme"}) for n in range(1, 29)]
    lines += [cost_line(n, 10, "acme") for n in range(1, 20)]
    events = [event(date(2026, 2, n), "acme", 4) for n in range(1, 29)] + [
        usage_event(n, "acme", 5) for n in range(1, 21)
    ]
    add_data(acme, lines, events)

    answer = cost_per_unit(acme, march_query(period="month_to_date", compare_to="previous_period"))
    change = answer.totals[0].change

    assert change is not None
    assert change.days is not None
    assert (change.days.end_date, change.days.previous_end_date) == (day(19), date(2026, 2, 19))
    assert (change.current_unit_cost, change.previous_unit_cost) == (2, 3)
    assert change.change == -1
    assert change.ratio is not None
    assert round(change.ratio, 6) == Decimal("-0.333333")
    assert (
        "1.90 USD for each (2.00 USD on complete days, 33.3 % less than the 3.00 USD before)"
        in answer.summary
    )


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "The previous period has no usage."),
        (
            [event(date(2026, 2, 27), "acme", 4)],
            "usage on 1 of 9 days of the previous period and 9 of 9 of this one",
        ),
    ],
    ids=["none", "pushing began late"],
)
def test_without_earlier_usage_there_is_no_change(acme: Account, events: list[Any], message: str) -> None:
    lines = [cost(date(2026, 2, n), 12, tags={"customer": "acme"}) for n in range(1, 29)]
    add_data(
        acme,
        [*lines, *[cost_line(n, 10, "acme") for n in range(1, 11)]],
        [*events, *[usage_event(n, "acme", 5) for n in range(1, 10)]],
    )

    answer = cost_per_unit(
        acme, march_query(start_date=day(1), end_date=day(9), compare_to="previous_period")
    )
    change = answer.totals[0].change

    assert change is not None
    assert (change.change, change.ratio) == (None, None)
    assert message in change.reason
    assert change.current_unit_cost == 2


def test_a_push_counts_in_the_next_answer(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")])
    assert cost_per_unit(acme, by_customer()).totals[0].unit_cost is None

    push_events(acme, [usage_event(2, "acme", 15)])

    answer = cost_per_unit(acme, by_customer())
    assert [(t.usage, t.unit_cost) for t in answer.totals] == [(15, 4)]
    assert (answer.rows[0].customer_id, answer.rows[0].unit_cost) == ("acme", 4)


def test_a_tiny_unit_cost_is_also_said_for_a_million(acme: Account) -> None:
    add_data(acme, [cost_line(1, "0.5", "acme")], [usage_event(1, "acme", 1_000_000, metric="tokens")])

    answer = cost_per_unit(acme, by_customer("tokens"))

    assert answer.totals[0].unit_cost == Decimal("0.0000005")
    assert answer.totals[0].unit_cost_per_million == answer.rows[0].unit_cost_per_million == Decimal("0.5")
    assert "0.0000005 USD for each" in answer.summary


def test_an_account_without_any_cost_says_so(acme: Account) -> None:
    push_events(acme, [usage_event(1, "acme", 5)])

    answer = cost_per_unit(acme, march_query())

    assert answer.totals == []
    assert "No cost" in answer.summary
    assert "The account has no cost data yet." in answer.warnings


def test_units_that_differ_are_warned_of(acme: Account) -> None:
    add_data(
        acme,
        [cost_line(1, 60, "acme")],
        [usage_event(1, "acme", 5, unit="call"), usage_event(1, "acme", 5, unit="calls")],
    )

    answer = cost_per_unit(acme, march_query())

    assert answer.unit is None
    assert "2 units ('call' and 'calls')" in " ".join(answer.warnings)


def test_a_connection_that_is_not_well_is_warned_of(acme: Account) -> None:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 5)])

    answer = cost_per_unit(acme, march_query(start_date=day(1), end_date=day(15)))

    assert answer.data_through == day(10)
    assert answer.period.unfinished
    assert any(warning.startswith("Source 'Bill' is stale") for warning in answer.warnings)


def test_more_groups_than_fit_in_memory_are_refused_with_instructions(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.costs.queries.spend.MAX_SUMS", 2)
    add_data(
        acme,
        [cost_line(1, 60, "acme"), cost_line(1, 60, "globex"), cost_line(1, 60)],
        [usage_event(1, "acme", 5)],
    )

    with pytest.raises(UserError, match="Use fewer days, a coarser granularity or a filter"):
        cost_per_unit(acme, by_customer())
    assert cost_per_unit(acme, march_query()).totals[0].cost == 180
