"""What a rule that copies tags makes of them, as an expression. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ibis

from finops.allocation.cost_tags.functions import list_position, text_at
from finops.allocation.rules import Normalisation

BLANKS = r"[ _.]+"
NO_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]+"


def apply_steps(text: Any, steps: Sequence[Normalisation]) -> Any:
    """A tag's value after these steps; empty when nothing is left of it, null where the line has no such tag."""
    for step in steps:
        text = _STEPS[step](text)
    return text


_STEPS: dict[Normalisation, Callable[[Any], Any]] = {
    "trim": lambda text: text.strip(),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "capitalise": lambda text: text.capitalize(),
    "dashes": lambda text: text.re_replace(BLANKS, "-"),
    "alphanumeric": lambda text: text.re_replace(NO_LETTER_OR_DIGIT, ""),
}


def apply_map(text: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """What a map makes of a value, without regard to case; the value itself where it has no entry."""
    if not pairs:
        return text
    old = ibis.array([ibis.literal(old).lower() for old, _ in pairs])
    new = ibis.array([new for _, new in pairs])
    return text_at(new, list_position(old, text.lower())).fill_null(text)
