"""One value out of several: found when it was given, suggested while it is typed. Without regard to case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from finops.lib.errors import UserError, unknown_value
from mcpserver.prompting.asked import Argument, Asked
from mcpserver.prompting.checking import MAX_VALUE
from mcpserver.registry import Completion

Choices = Callable[[Asked], Iterable[str]]


def choice(
    name: str, title: str, description: str, choices: Choices, *, listed_by: str = ""
) -> Argument[str]:
    """An argument that takes one of the choices; `listed_by` is the tool that lists them."""

    def read(asked: Asked, text: str) -> str:
        return one_of(name, text, list(choices(asked)), listed_by=listed_by)

    def complete(asked: Asked, typed: str) -> Completion:
        return matching(choices(asked), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


def one_of(name: str, text: str, choices: Sequence[str], *, listed_by: str = "") -> str:
    """The choice that the text is. Raises UserError with the nearest."""
    for each in choices:
        if each.casefold() == text.casefold():
            return each
    if not choices:
        raise UserError(f"{name}: the account has none yet, so leave {name} out.", field=name, value=text)
    raise unknown_value(name, text, choices, listed_by=listed_by)


def matching(choices: Iterable[str], typed: str) -> Completion:
    """Choices that have what was typed: those that begin with it first, else in the order given."""
    wanted = typed.casefold()
    fitting = [
        each for each in dict.fromkeys(choices) if wanted in each.casefold() and len(each) <= MAX_VALUE
    ]
    found = sorted(fitting, key=lambda each: not each.casefold().startswith(wanted))
    return Completion(values=found, total=len(found))
