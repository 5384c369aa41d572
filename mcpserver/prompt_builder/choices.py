"""One value out of several: found when it was given, suggested while it is typed. Without regard to case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from finops.lib.errors import UserError, unknown_value
from mcpserver.prompt_builder.prompt_context import Argument, PromptContext
from mcpserver.prompt_builder.prompt_requests import MAX_VALUE
from mcpserver.registry import Completion

Choices = Callable[[PromptContext], Iterable[str]]


def choice(
    name: str, title: str, description: str, choices: Choices, *, listed_by: str = ""
) -> Argument[str]:
    """An argument that takes one of the choices; `listed_by` is the tool that lists them."""

    def read(ctx: PromptContext, text: str) -> str:
        return find_choice(name, text, list(choices(ctx)), listed_by=listed_by)

    def complete(ctx: PromptContext, typed: str) -> Completion:
        return match_choices(choices(ctx), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


def find_choice(name: str, text: str, choices: Sequence[str], *, listed_by: str = "") -> str:
    """The choice that the text is. Raises UserError with the nearest."""
    for each in choices:
        if each.casefold() == text.casefold():
            return each
    if not choices:
        raise UserError(f"{name}: the account has none yet, so leave {name} out.", field=name, value=text)
    raise unknown_value(name, text, choices, listed_by=listed_by)


def match_choices(choices: Iterable[str], typed: str) -> Completion:
    """Choices that have what was typed: those that begin with it first, else in the order given."""
    search = typed.casefold()
    matches = [
        each for each in dict.fromkeys(choices) if search in each.casefold() and len(each) <= MAX_VALUE
    ]
    ordered_values = sorted(matches, key=lambda each: not each.casefold().startswith(search))
    return Completion(values=ordered_values, total=len(ordered_values))
