"""Two answers to one question, compared by their numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from finops.receipts.figures import FigureChange, changes, decode_figures, have_same_digits


def figures(amount: str, label: str = "EC2", currency: str = "USD") -> dict[str, Any]:
    row = f'{{"group":{{"service":"{label}"}},"amount":{amount},"currency":"{currency}"}}'
    return decode_figures(f'{{"rows":[{row}],"data_through":"2026-10-02","unfinished":true}}'.encode())


def test_names_may_change_and_the_digits_be_the_same() -> None:
    assert have_same_digits(figures("1.10"), figures("1.1", label="Compute"))


def test_another_digit_or_currency_is_another_figure() -> None:
    assert not have_same_digits(figures("1.10"), figures("1.100001"))
    assert not have_same_digits(figures("1.10"), figures("1.10", currency="EUR"))


def test_figures_that_differ_are_named_by_their_group_and_currency() -> None:
    assert changes(figures("1.10"), figures("2")) == [
        FigureChange(figure="rows EC2 amount", then=Decimal("1.10"), now=Decimal(2), currency="USD")
    ]


def test_a_group_of_one_side_is_null_on_the_other() -> None:
    assert changes(figures("1"), figures("2", label="S3")) == [
        FigureChange(figure="rows S3 amount", then=None, now=Decimal(2), currency="USD"),
        FigureChange(figure="rows EC2 amount", then=Decimal(1), now=None, currency="USD"),
    ]
