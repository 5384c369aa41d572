"""The exception whose message views, tools and APIs show to the caller."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from finops.lib.sentences import join_with_and, quote, truncate

MAX_CHOICE = 300
"""Characters of a value that are shown: tag and customer names may have any length."""

SHOWN_USERS = 5

INVALID_JSON: Final = (ValueError, RecursionError)
"""What msgspec and json raise for a text that is no JSON or not of the expected type: a ValueError also for bytes that are not
UTF-8 and for lone surrogates, a RecursionError for deep nesting."""


class UserError(Exception):
    """A problem that the caller can repair.

    `message` is whole sentences that say what is wrong, with which value, and what to do instead; they are shown unchanged
    (a tool in an error result, a page beside the field). `field` names the argument or form field, or is empty. `page` is
    where in the account's console it can be repaired, such as `budgets/3/`: the MCP server adds its address. `choices` are the
    account's own names that `value` may mean, for an assistant that can ask its person.
    """

    def __init__(
        self,
        message: str,
        *,
        field: str = "",
        value: Any = None,
        page: str = "",
        choices: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.value = value
        self.page = page
        self.choices = tuple(choices)


def nearest_choices(value: str, choices: Iterable[str], *, limit: int = 5) -> list[str]:
    """Return the choices most similar to the value, best first; an empty list when none is similar."""
    value = value[:MAX_CHOICE]
    by_fold = {choice.casefold(): choice for choice in choices}
    comparable = [fold for fold in by_fold if len(fold) <= MAX_CHOICE]
    matches = difflib.get_close_matches(value.casefold(), comparable, n=limit, cutoff=0.5)
    containing = [fold for fold in by_fold if value and value.casefold() in fold]
    return [by_fold[fold] for fold in dict.fromkeys([*matches, *containing])][:limit]


def in_use_error(what: str, noun: str, names: Sequence[str]) -> UserError:
    """Return the error for deleting something (`Team 'Core'`) that these objects (budgets) refer to. The first five are
    named."""
    more = len(names) - SHOWN_USERS
    listing = [repr(truncate(name, 60)) for name in names[:SHOWN_USERS]] + (
        [f"{more} more"] if more > 0 else []
    )
    is_single = len(names) == 1
    return UserError(
        f"{what} is used by the {noun}{'' if is_single else 's'} {join_with_and(listing)}: change or delete {'it' if is_single else 'them'} first."
    )


def unknown_value(
    field: str,
    value: str,
    choices: Iterable[str],
    *,
    listed_by: str = "",
    show: Callable[[str], str] = quote,
) -> UserError:
    """Return the error for a value outside a set: names the field, the value, the nearest choices, and where all are
    listed. `show` formats a choice: `str` for the product's own words, `dimension_text` for dimensions."""
    choice_list = list(choices)
    suggestions = [truncate(choice, MAX_CHOICE) for choice in nearest_choices(value, choice_list)]
    parts = [f"{field}: {truncate(value, MAX_CHOICE)!r} does not exist."]
    if suggestions:
        parts.append(f"Nearest: {', '.join(map(show, suggestions))}.")
    if 0 < len(choice_list) <= 20 and not (suggestions and listed_by):
        parts.append(f"Valid: {', '.join(map(show, choice_list))}.")
    if listed_by:
        parts.append(f"Use {listed_by}.")
    names = suggestions if show is quote else ()
    return UserError(" ".join(parts), field=field, value=value, choices=names)
