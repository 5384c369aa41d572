"""The size of an answer before its numbers are rounded."""

from __future__ import annotations

import json
from decimal import Decimal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mcpserver.results import encode_answer, largest_size


class Line(msgspec.Struct, frozen=True):
    name: str
    currency: str
    amount: Decimal
    series: list[Decimal] | msgspec.UnsetType = msgspec.UNSET


class Lines(msgspec.Struct, frozen=True):
    lines: list[Line]


AMOUNTS = st.decimals(allow_nan=True, allow_infinity=True) | st.decimals(
    min_value=-(10**20), max_value=10**20, places=18
)
SERIES = st.lists(AMOUNTS, max_size=3) | st.just(msgspec.UNSET)
ANY_LINE = st.builds(
    Line, name=st.text(max_size=9), currency=st.text(max_size=3), amount=AMOUNTS, series=SERIES
)
NUMBERS = st.sampled_from(["0E-18", "1E-7", "6E-7", "9.9999999", "-5.000000000000000001", "1E+9", "12E-7"])


@given(lines=st.lists(ANY_LINE, max_size=5))
def test_no_answer_is_larger_than_its_largest_size(lines: list[Line]) -> None:
    most = largest_size(Lines(lines))

    assert most is None or len(encode_answer(Lines(lines))) <= most


@given(numbers=st.lists(NUMBERS, max_size=9))
def test_nor_is_one_with_numbers_that_rounding_changes(numbers: list[str]) -> None:
    answer = Lines([Line("a", "EUR", Decimal(number)) for number in numbers])

    most, encoded = largest_size(answer), encode_answer(answer)

    assert most is None or len(encoded) <= most
    assert [line["amount"] for line in json.loads(encoded, parse_float=Decimal)["lines"]] == [
        round(Decimal(number), 6) for number in numbers
    ]


def test_an_ordinary_answer_has_a_largest_size_close_to_its_own() -> None:
    answer = Lines([Line(f"name {place}", "USD", Decimal("12.3456")) for place in range(100)])

    assert largest_size(answer) == len(encode_answer(answer))
