"""Values of a dimension as numbers: where all its texts are known before, a line needs none of them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis


@dataclass(frozen=True)
class DictionaryEncoding:
    """`number` gives the place of a line's text among `texts`, from 1. Null, or a place without a text: no value.

    Comparing and grouping by it costs a fraction of what the text does, which the lake would make for each line.
    """

    texts: tuple[str | None, ...]
    number: Callable[[Any], Any]

    def among(self, table: Any, takes: Callable[[str], bool]) -> Any:
        """The condition that a line has a text that `takes` is true of; null is no."""
        places = [place for place, text in enumerate(self.texts, 1) if text is not None and takes(text)]
        if not places:
            return ibis.literal(False)
        return ibis.array([ibis.literal(place, "int64") for place in places]).contains(self.number(table))

    def text_at(self, number: int | None) -> str | None:
        """The text that a number stands for."""
        is_valid = number is not None and 0 < number <= len(self.texts)
        return self.texts[number - 1] if is_valid and number is not None else None


def dictionary_encoding_of(value: Any) -> DictionaryEncoding | None:
    """Of an expression (`Dimension.value`) whose texts are known; None of any other."""
    encoding: DictionaryEncoding | None = getattr(value, "numbers", None)
    return encoding


def fold_case(text: str) -> str:
    """Small letters as the lake makes them: character by character, each into one."""
    return "".join(char.lower()[:1] for char in text)
