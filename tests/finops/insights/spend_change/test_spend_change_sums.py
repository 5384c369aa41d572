"""With any lines, the parts of a change add up to it and to plain sums, in every currency, to the last digit."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.models import CostSource
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from finops.lib.money import exact_difference, exact_sum
from tests.examples import examples
from tests.factories.costs import Line, add_up, cost, key_of, store_lines

JANUARY, FEBRUARY = date(2026, 1, 1), date(2026, 2, 1)
EFFECTS = ("volume", "price", "new", "gone", "credits", "refunds", "unmeasured")

quantities = st.none() | st.decimals(min_value="-1e9", max_value="1e9", places=6, allow_nan=False)
lines = st.builds(
    lambda day, amount, quantity, unit, **columns: cost(
        day,
        amount,
        **columns,
        consumed_quantity=quantity,
        consumed_unit=unit if quantity is not None else None,
    ),
    st.dates(JANUARY, date(2026, 2, 28)),
    st.decimals(min_value="-9e14", max_value="9e14", places=18, allow_nan=False),
    quantities,
    st.sampled_from(["Hours", "GB", None]),
    service=st.sampled_from(["EC2", "S3", None]),
    sku_id=st.sampled_from(["a", "b", None]),
    usage_type=st.sampled_from(["u", "v", None]),
    region=st.sampled_from(["eu-1", "us-1", None]),
    currency=st.sampled_from(["USD", "EUR"]),
    charge_category=st.sampled_from(["Usage", "Tax", "Credit"]),
)


# Without shrinking: an example writes files.
@settings(
    max_examples=examples(40),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(lines, max_size=40),
    group_by=st.lists(st.sampled_from(["service", "region", "sku"]), min_size=1, max_size=2, unique=True),
    limit=st.integers(1, 4),
)
def test_the_parts_of_a_change_add_up_to_it(
    acme: Account, source: CostSource, rows: list[Line], group_by: list[str], limit: int
) -> None:
    days = [JANUARY.replace(day=day) for day in range(1, 32)] + [
        FEBRUARY.replace(day=day) for day in range(1, 29)
    ]
    every = [*rows, *(cost(day, 0, currency="USD") for day in days)]
    store_lines(acme, source, every)

    answer = explain_spend_change(
        acme,
        SpendChangeQuery(
            start_date=FEBRUARY,
            end_date=date(2026, 2, 28),
            previous_start_date=JANUARY,
            previous_end_date=date(2026, 1, 31),
            group_by=group_by,
            limit=limit,
        ),
    )

    plain = add_up(every, lambda row: (row["currency"], row["charge_date"] >= FEBRUARY))
    by_group = add_up(
        every,
        lambda row: (
            row["currency"],
            tuple(key_of(row, name) for name in group_by),
            row["charge_date"] >= FEBRUARY,
        ),
    )
    for total in answer.totals:
        now, before = (plain.get((total.currency, side), Decimal(0)) for side in (True, False))
        assert (total.current_amount, total.previous_amount) == (now, before)
        assert total.change == exact_difference(now, before)
        moves = [move for move in answer.moves if move.currency == total.currency]
        assert exact_sum(move.change for move in moves) == total.change
        for change, effects in [
            (total.change, total.effects),
            *((move.change, move.effects) for move in moves),
        ]:
            assert exact_sum(getattr(effects, name) for name in EFFECTS) == change
        for move in moves:
            if move.other_groups:
                continue
            key = (total.currency, tuple(move.group.values()))
            assert move.current_amount == by_group.get((*key, True), Decimal(0))
            assert move.previous_amount == by_group.get((*key, False), Decimal(0))
    assert {total.currency for total in answer.totals} == {row["currency"] for row in every}
