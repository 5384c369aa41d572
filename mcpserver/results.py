"""A tool's answer on its way out: Decimal becomes a number of at most six places, here and nowhere earlier."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import msgspec

from finops.lib.money import rounded

_encoder = msgspec.json.Encoder(decimal_format="number")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call came to: an answer as JSON, or the one text that says what to repair."""

    answer: bytes = b""
    problem: str = ""

    @property
    def failed(self) -> bool:
        return not self.answer

    @property
    def text(self) -> str:
        return self.problem if self.failed else self.answer.decode()


def encode_answer(answer: msgspec.Struct) -> bytes:
    return _encoder.encode(_outside(msgspec.to_builtins(answer, builtin_types=(Decimal,))))


def _outside(value: Any) -> Any:
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, dict):
        return {key: _outside(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_outside(item) for item in value]
    return value


def _number(value: Decimal) -> Decimal | int | None:
    """Without trailing zeros or exponent, as a person would write it. NaN is not JSON, so it is null."""
    if not value.is_finite():
        return None
    short = rounded(value).normalize()
    whole = short.as_tuple().exponent >= 0  # type: ignore[operator]  # finite, so the exponent is an int
    return int(short) if whole else short
