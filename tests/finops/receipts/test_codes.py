"""Codes of receipts: short, with a day, and determined by their content."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from finops.receipts import codes

DAYS = st.dates(date(2025, 1, 1), date(2025, 1, 1) + timedelta(days=7_999))


@given(day=DAYS, content=st.binary(max_size=50))
def test_a_code_is_sixteen_letters_that_have_its_day(day: date, content: bytes) -> None:
    code = codes.code_of(day, content)

    assert len(code) == 16
    assert codes.parse(codes.shown(code).lower()) == code
    assert codes.day_of(code) == day
    assert codes.is_code_of(code, day, content)
    assert not codes.is_code_of(code, day, content + b"x")


def test_a_code_of_an_earlier_key_is_known_while_that_is_a_fallback(settings: Any) -> None:
    settings.SECRET_KEY = "first"
    code = codes.code_of(date(2026, 10, 3), b"content")
    settings.SECRET_KEY = "second"
    assert not codes.is_code_of(code, date(2026, 10, 3), b"content")

    settings.SECRET_KEY_FALLBACKS = ["first"]

    assert codes.is_code_of(code, date(2026, 10, 3), b"content")
