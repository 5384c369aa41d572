"""Similar names for a value that the data does not have, recorded while a call runs whose person can be asked which one
is meant (ADR 0079). Outside `record_choices` nothing is recorded, so other calls have no cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

FEWEST: Final = 2
"""With a single similar name, an assistant can decide without the person."""


@dataclass(frozen=True)
class NameChoice:
    """`field` says what the value is, such as `service`; `problem` is a clause, such as `no cost has service 'EC2'`.
    `names` are similar, the most similar first, and each is something else."""

    field: str
    problem: str
    value: str
    names: tuple[str, ...]


_choices: ContextVar[list[NameChoice] | None] = ContextVar("name_choices", default=None)


@contextmanager
def record_choices() -> Iterator[list[NameChoice]]:
    """Record the choices that queries inside the block offer, in their order."""
    choices: list[NameChoice] = []
    token = _choices.set(choices)
    try:
        yield choices
    finally:
        _choices.reset(token)


def is_recording() -> bool:
    """Whether the person can be asked."""
    return _choices.get() is not None


def offer_choice(choice: NameChoice) -> None:
    """Record a choice, unless a single name or none is similar."""
    if (choices := _choices.get()) is not None and len(choice.names) >= FEWEST:
        choices.append(choice)
