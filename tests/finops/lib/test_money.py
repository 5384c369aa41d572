from __future__ import annotations

import threading
from decimal import Decimal

import pytest

from finops.lib.errors import nearest_choices, unknown_value
from finops.lib.money import ratio, round_amount


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("1.0000005", "1.000000"),
        ("1.0000015", "1.000002"),
        ("-0.0000004", "-0.000000"),
        ("12345678901234567890.5", None),
    ],
)
def test_amounts_round_half_to_even_at_six_places(amount: str, shown: str | None) -> None:
    assert str(round_amount(Decimal(amount))) == (shown or "12345678901234567890.500000")


def test_a_ratio_over_nothing_is_unknown() -> None:
    assert ratio(Decimal(5), Decimal(0)) is None
    assert ratio(Decimal(1), Decimal(4)) == Decimal("0.25")


def test_an_unknown_value_says_what_was_meant() -> None:
    error = unknown_value("dimension", "servce", ["service", "region", "sku"], listed_by="getAccountContext")

    assert error.message == ("dimension: 'servce' does not exist. Nearest: 'service'. Use getAccountContext.")


def test_nearest_finds_parts_of_names() -> None:
    assert nearest_choices("ec2", ["AmazonEC2", "AmazonS3"]) == ["AmazonEC2"]
    assert nearest_choices("", ["AmazonEC2"]) == []


def test_no_thread_rounds_a_sum_of_the_lakes_widest_amounts() -> None:
    widest, smallest = Decimal("12345678901234567890"), Decimal("0.000000000000000001")
    sums: list[Decimal] = []

    thread = threading.Thread(target=lambda: sums.append(sum([widest, smallest], Decimal(0))))
    thread.start()
    thread.join()

    assert [*sums, widest + smallest] == [Decimal("12345678901234567890.000000000000000001")] * 2
