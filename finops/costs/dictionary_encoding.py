"""Dimension values as numbers: if all texts are known in advance, no text is built per line. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis


@dataclass(frozen=True)
class DictionaryEncoding:
    """`number` is the position of a line's text in `texts`, from 1. Null, or a number without a text, means no value.

    Comparing and grouping by number costs a fraction of the text, which the lake would build for each line.
    """

    texts: tuple[str | None, ...]
    number: Callable[[Any], Any]

    def among(self, table: Any, takes: Callable[[str], bool]) -> Any:
        """Return the condition that the line's text satisfies `takes`; null means no."""
        places = [place for place, text in enumerate(self.texts, 1) if text is not None and takes(text)]
        if not places:
            return ibis.literal(False)
        return ibis.array([ibis.literal(place, "int64") for place in places]).contains(self.number(table))

    def text_at(self, number: int | None) -> str | None:
        """Return the text of a number."""
        is_valid = number is not None and 0 < number <= len(self.texts)
        return self.texts[number - 1] if is_valid and number is not None else None


def dictionary_encoding_of(value: Any) -> DictionaryEncoding | None:
    """Return the encoding of an expression (`Dimension.value`) whose texts are known; else None."""
    encoding: DictionaryEncoding | None = getattr(value, "numbers", None)
    return encoding


def fold_case(text: str) -> str:
    """Return the text in lower case as the lake does: character by character, each to exactly one."""
    return "".join(char.lower()[:1] for char in text)
