"""Amounts of many days shared out at once: whole to the last unit, and each part what fractions say."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.allocation.splits import allocate, allocate_by_day

Day = tuple[list[int], dict[str, int]]

amounts = st.dictionaries(st.sampled_from("abc"), st.integers(-(10**38), 10**38), min_size=1)


@st.composite
def days(draw: st.DrawFn) -> list[Day]:
    weight = st.integers(0, draw(st.sampled_from([1, 7, 10**6, 10**40])))
    places = draw(st.integers(1, 8))
    rows = st.lists(weight, min_size=places, max_size=places).filter(any)
    return draw(st.lists(st.tuples(rows, amounts), min_size=1, max_size=10))


def exact(days_with_weights: list[Day], key: str) -> list[Fraction]:
    """What each place would get without any cut."""
    shares_of_key = [
        (weights, Fraction(amounts.get(key, 0), sum(weights))) for weights, amounts in days_with_weights
    ]
    return [
        sum((share * weights[place] for weights, share in shares_of_key), Fraction(0))
        for place in range(len(days_with_weights[0][0]))
    ]


@given(days_with_weights=days())
def test_parts_add_up_and_are_cut_once_whatever_the_days(days_with_weights: list[Day]) -> None:
    for key, (total, parts) in allocate_by_day(days_with_weights).items():
        exact_part = exact(days_with_weights, key)
        assert total == sum(amounts.get(key, 0) for _weights, amounts in days_with_weights) == sum(parts)
        last = max((place for place, amount in enumerate(exact_part) if amount), default=-1)
        assert all(
            abs(part - amount) < 1 for part, amount in zip(parts[:last], exact_part[:last], strict=True)
        )
        assert all(abs(part - amount) < len(parts) for part, amount in zip(parts, exact_part, strict=True))


@given(
    amount=st.integers(-(10**38), 10**38),
    weights=st.lists(st.integers(1, 10**40), min_size=1, max_size=20),
)
def test_a_single_day_is_shared_out_as_one_amount_is(amount: int, weights: list[int]) -> None:
    assert allocate_by_day([(weights, {"a": amount})]) == {"a": (amount, allocate(amount, weights))}


@given(days_with_weights=days())
def test_the_order_of_days_changes_nothing(days_with_weights: list[Day]) -> None:
    assert allocate_by_day(days_with_weights) == allocate_by_day(days_with_weights[::-1])


def test_an_exact_result_is_not_shortened() -> None:
    thirds = [([1, 2], {"a": 10}), ([2, 1], {"a": 10}), ([1, 6], {"a": 7})]

    assert allocate_by_day(thirds) == {"a": (27, [11, 16])}


@pytest.mark.parametrize("sign", [1, -1])
def test_the_last_that_has_a_weight_on_any_day_gets_the_remainder(sign: int) -> None:
    days_of_weights = [([1, 1, 1, 0], {"a": sign * 10}), ([1, 1, 0, 0], {"a": sign * 1})]

    assert allocate_by_day(days_of_weights) == {"a": (sign * 11, [sign * 3, sign * 3, sign * 5, 0])}


def test_no_days_have_no_parts() -> None:
    assert allocate_by_day([]) == {}
