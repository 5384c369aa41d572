"""Functions of DuckDB that Ibis has no name for, or wraps in conditions that are evaluated for each line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis

Function = Callable[..., Any]


def _builtin(name: str, takes: tuple[str, str], gives: str) -> Function:
    def function(first: Any, second: Any) -> None: ...

    function.__name__ = name
    builtin: Function = ibis.udf.scalar.builtin(function, signature=(takes, gives))
    return builtin


def _sign(number: Any) -> None: ...


_sign.__name__ = "sign"
sign: Function = ibis.udf.scalar.builtin(_sign, signature=(("int64",), "int64"))
"""1 for a positive number, 0 for 0."""

list_position = _builtin("list_position", ("array<string>", "string"), "int64")
"""The place of a text in a list, from 1; null when it is not there."""

list_place = _builtin("list_position", ("array<int64>", "int64"), "int64")
"""The place of a number in a list, from 1; null when it is not there."""

number_at = _builtin("list_extract", ("array<int64>", "int64"), "int64")
"""The number at a place of a list, from 1; null where there is none."""

text_at = _builtin("list_extract", ("array<string>", "int64"), "string")
"""The text at a place of a list, from 1; null where there is none."""

text_from = _builtin("substring", ("string", "int64"), "string")
"""The text from a character on, counted from 1."""
