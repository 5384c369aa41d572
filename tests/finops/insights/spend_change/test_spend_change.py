"""Why spend changed: the parts add up to the change, and each says why it moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import Effects, Move, SpendChangeAnswer, SpendChangeQuery
from finops.lib.errors import UserError
from tests.factories.costs import add_source, cost

JANUARY, FEBRUARY = date(2026, 1, 10), date(2026, 2, 10)
MONTHS = SpendChangeQuery(
    start_date=date(2026, 2, 1),
    end_date=date(2026, 2, 28),
    previous_start_date=date(2026, 1, 1),
    previous_end_date=date(2026, 1, 31),
)


def metered_line(day: date, amount: str, quantity: str | None, /, **columns: Any) -> dict[str, Any]:
    """A line of a SKU with so many hours."""
    values = {"sku_id": "vm", "usage_type": "VM hours", "service": "Compute", **columns}
    if quantity is None:
        return cost(day, amount, **values)
    return cost(day, amount, **values, consumed_quantity=Decimal(quantity), consumed_unit="Hours")


def every_day(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """With a line of nothing on every day, so that all days have data."""
    days = [date(2026, 1, day) for day in range(1, 32)] + [date(2026, 2, day) for day in range(1, 29)]
    return [*lines, *(cost(day, 0, service="Nothing", sku_id="none") for day in days)]


def explain(acme: Account, *lines: dict[str, Any], query: SpendChangeQuery = MONTHS) -> SpendChangeAnswer:
    add_source(acme, every_day(lines))
    return explain_spend_change(acme, query)


def effects(move: Move) -> Mapping[str, Decimal]:
    assert isinstance(move.effects, Effects)
    names = ("volume", "price", "new", "gone", "credits", "refunds", "unmeasured")
    return {name: getattr(move.effects, name) for name in names if getattr(move.effects, name)}


def test_more_hours_at_the_old_price_are_volume(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "100", "50"), metered_line(FEBRUARY, "150", "75"))

    assert answer.moves[0].group == {"service": "Compute"}
    assert effects(answer.moves[0]) == {"volume": Decimal(50)}


def test_the_same_hours_at_another_price_are_price(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "100", "50"), metered_line(FEBRUARY, "80", "50"))

    assert effects(answer.moves[0]) == {"price": Decimal(-20)}
    assert (answer.moves[0].change, answer.moves[0].kind) == (Decimal(-20), "down")


def test_more_hours_at_another_price_are_both_with_the_mixed_term_in_the_price(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "100", "50"), metered_line(FEBRUARY, "210", "70"))

    assert effects(answer.moves[0]) == {"volume": Decimal(40), "price": Decimal(70)}


def test_a_quotient_without_an_end_still_adds_up(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "100", "3"), metered_line(FEBRUARY, "200", "7"))

    parts = effects(answer.moves[0])
    assert parts["volume"] == Decimal("133.333333333333333333")
    assert parts["volume"] + parts["price"] == Decimal(100)


def test_groups_that_begin_are_new_and_groups_that_end_are_gone(acme: Account) -> None:
    answer = explain(
        acme,
        metered_line(JANUARY, "10", "5", service="Old", sku_id="old"),
        metered_line(FEBRUARY, "30", "5", service="Young", sku_id="young"),
    )

    assert [(move.group["service"], move.kind, move.change) for move in answer.moves[:2]] == [
        ("Young", "new", Decimal(30)),
        ("Old", "gone", Decimal(-10)),
    ]
    assert answer.moves[0].ratio is None
    assert answer.moves[0].ratio_reason == "previous_amount is 0."


def test_a_new_sku_in_an_old_service_is_new_in_it(acme: Account) -> None:
    answer = explain(
        acme,
        metered_line(JANUARY, "10", "5"),
        metered_line(FEBRUARY, "10", "5"),
        metered_line(FEBRUARY, "7", "1", sku_id="gpu", usage_type="GPU hours"),
    )

    assert answer.moves[0].kind == "up"
    assert effects(answer.moves[0]) == {"new": Decimal(7)}
    assert [(cause.usage_type, cause.effect) for cause in answer.moves[0].causes] == [("GPU hours", "new")]


def test_without_a_quantity_price_and_volume_are_not_separated(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "10", None), metered_line(FEBRUARY, "12", None))

    assert effects(answer.moves[0]) == {"unmeasured": Decimal(2)}


def test_a_credit_that_begins_and_one_that_ends_are_called_so(acme: Account) -> None:
    """A promotion of 30 begins in one service, one of 20 ends in another, and a refund of 5 comes beside plain usage."""
    answer = explain(
        acme,
        cost(FEBRUARY, "-30", service="Promotions", charge_category="Credit"),
        cost(JANUARY, "-20", service="Startup credits", charge_category="Credit"),
        metered_line(JANUARY, "10", "5"),
        metered_line(FEBRUARY, "10", "5"),
        cost(FEBRUARY, "-5", service="Compute", charge_category="Usage", charge_class="Correction"),
    )

    moves = {move.group["service"]: move for move in answer.moves}
    assert effects(moves["Promotions"]) == {"credits": Decimal(-30)}
    assert effects(moves["Startup credits"]) == {"credits": Decimal(20)}
    assert effects(moves["Compute"]) == {"refunds": Decimal(-5)}
    assert [moves[name].why for name in ("Promotions", "Startup credits", "Compute")] == [
        "credits began",
        "credits ended",
        "refunds began",
    ]
    assert "'Promotions' (-30.00 USD, credits began)" in answer.summary
    assert "'Startup credits' (+20.00 USD, credits ended)" in answer.summary
    assert "'Compute' (-5.00 USD, mostly refunds began)" in answer.summary


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [("-10", "-25", "more credits"), ("-25", "-10", "fewer credits")],
)
def test_credits_on_both_sides_are_more_or_fewer(acme: Account, before: str, after: str, why: str) -> None:
    answer = explain(
        acme,
        cost(JANUARY, before, service="Promotions", charge_category="Credit"),
        cost(FEBRUARY, after, service="Promotions", charge_category="Credit"),
    )

    assert answer.moves[0].why == why


def test_a_negative_line_on_one_side_only_is_neither_new_nor_gone(acme: Account) -> None:
    answer = explain(acme, metered_line(JANUARY, "-7", None, service="Discounts"))

    assert (effects(answer.moves[0]), answer.moves[0].why) == ({"refunds": Decimal(7)}, "refunds ended")


def test_another_unit_is_another_thing(acme: Account) -> None:
    later = {**metered_line(FEBRUARY, "12", "3"), "consumed_unit": "Days"}
    answer = explain(acme, metered_line(JANUARY, "10", "48"), later)

    assert effects(answer.moves[0]) == {"new": Decimal(12), "gone": Decimal(-10)}


def test_currencies_are_never_added(acme: Account) -> None:
    answer = explain(
        acme,
        metered_line(JANUARY, "10", "5"),
        metered_line(FEBRUARY, "20", "10"),
        metered_line(FEBRUARY, "5", "1", currency="EUR"),
    )

    assert [(total.currency, total.change) for total in answer.totals] == [
        ("USD", Decimal(10)),
        ("EUR", Decimal(5)),
    ]
    assert any("2 currencies (USD, EUR)" in sentence for sentence in answer.warnings)


def test_the_moves_that_are_not_listed_are_summed_in_other(acme: Account) -> None:
    lines = [
        metered_line(day, str(amount * factor), "1", service=f"S{amount}", sku_id=f"sku{amount}")
        for amount in (1, 2, 4, 8)
        for day, factor in ((JANUARY, 1), (FEBRUARY, 2))
    ]
    add_source(acme, every_day(lines))

    answer = explain_spend_change(
        acme,
        SpendChangeQuery(
            start_date=MONTHS.start_date,
            end_date=MONTHS.end_date,
            previous_start_date=MONTHS.previous_start_date,
            previous_end_date=MONTHS.previous_end_date,
            limit=2,
        ),
    )

    assert [(move.group["service"], move.change) for move in answer.moves] == [
        ("S8", Decimal(8)),
        ("S4", Decimal(4)),
        ("other", Decimal(3)),
    ]
    assert answer.moves[-1].other_groups == 3  # S1, S2 and the lines of nothing
    assert "3 groups are in the driver other" in answer.truncated


def test_fewer_moves_are_listed_until_the_answer_fits(acme: Account) -> None:
    lines = [metered_line(FEBRUARY, str(number), "1", service=f"S{number}") for number in range(1, 30)]
    add_source(acme, every_day(lines))

    answer = explain_spend_change(acme, MONTHS, fits=lambda tried: len(tried.moves) <= 4)

    assert len(answer.moves) == 3
    assert answer.moves[-1].other_groups == 28


def test_a_filter_and_two_dimensions_narrow_the_change(acme: Account) -> None:
    add_source(
        acme,
        every_day(
            [
                metered_line(JANUARY, "1", "1", region="eu"),
                metered_line(FEBRUARY, "5", "5", region="eu"),
                metered_line(FEBRUARY, "9", "9", region="us"),
                metered_line(FEBRUARY, "100", "9", service="Storage"),
            ]
        ),
    )
    query = SpendChangeQuery.from_params(
        {
            **MONTHS.to_params(),
            "group_by": ["service", "region"],
            "f0": ["service"],
            "f0v": ["compute"],
        }
    )

    answer = explain_spend_change(acme, query)

    assert [(tuple(move.group.values()), move.change) for move in answer.moves] == [
        (("Compute", "us"), Decimal(9)),
        (("Compute", "eu"), Decimal(4)),
    ]
    assert answer.resolved_filters[0].values == ["Compute"]


def test_only_days_with_complete_data_are_compared_and_it_says_so(acme: Account) -> None:
    add_source(acme, every_day([metered_line(JANUARY, "10", "5"), metered_line(FEBRUARY, "20", "5")]))

    answer = explain_spend_change(
        acme, SpendChangeQuery(start_date=date(2026, 2, 1), end_date=date(2026, 3, 10))
    )

    assert answer.days is not None
    assert answer.days.end_date <= date(2026, 2, 28)
    assert "Only complete days count, so the current period ends on" in answer.days.note


def test_days_without_data_before_give_a_reason_and_no_figures(acme: Account) -> None:
    add_source(acme, every_day([metered_line(FEBRUARY, "20", "5")]))

    answer = explain_spend_change(
        acme,
        SpendChangeQuery(start_date=date(2026, 2, 1), end_date=date(2026, 2, 28), compare_to="previous_year"),
    )

    assert (answer.totals, answer.moves) == ([], [])
    assert "no data for 2025-02-01 to 2025-02-28" in answer.summary


def test_an_account_without_cost_sees_what_to_do(acme: Account) -> None:
    answer = explain_spend_change(acme, SpendChangeQuery())

    assert answer.moves == []
    assert "no cost data yet" in " ".join(answer.warnings)


def test_a_source_that_begins_between_is_next_to_the_change(acme: Account) -> None:
    add_source(acme, every_day([metered_line(JANUARY, "10", "5"), metered_line(FEBRUARY, "20", "5")]))
    add_source(acme, [metered_line(FEBRUARY, "3", "1", service="Maps")], name="Second bill")

    answer = explain_spend_change(acme, MONTHS)

    assert [(each.kind, each.day) for each in answer.beside] == [("new_source", FEBRUARY)]
    assert "'Second bill'" in answer.beside[0].what


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"previous_start_date": ["2026-01-01"], "previous_end_date": []}, "previous_end_date"),
        ({"previous_start_date": [], "previous_end_date": ["2026-01-31"]}, "previous_start_date"),
        ({"previous_start_date": ["2026-01-31"], "previous_end_date": ["2026-01-01"]}, "previous_start_date"),
        ({"previous_end_date": ["2026-02-01"]}, "previous_end_date"),
    ],
    ids=["half", "other half", "backwards", "overlapping"],
)
def test_earlier_days_that_make_no_sense_are_refused_by_name(
    acme: Account, options: dict[str, list[str]], field: str
) -> None:
    query = SpendChangeQuery.from_params({**MONTHS.to_params(), **options})

    with pytest.raises(UserError) as error:
        explain_spend_change(acme, query)

    assert error.value.field == field
