"""Choices of fields for a dimension of usage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from accounts.models import Account
from finops.lake import queries as lake_queries
from ingestion.queries.resolution import CUSTOMER_NAMES, PREFIX
from ingestion.usage_query import CUSTOMER


def field_value(dimension: str) -> str:
    """Return the value of a dimension in the fields: `customer`, or `dimension:` and its key."""
    if dimension.strip().casefold() in CUSTOMER_NAMES:
        return CUSTOMER
    return dimension if dimension.startswith(PREFIX) else f"{PREFIX}{dimension}"


SHOWN: Final = 200
SHOWN_BYTES: Final = 20_000
"""Maximum number of dimension keys in a choice list, and their bytes; a form has up to a dozen such lists."""


@dataclass(frozen=True)
class ValueChoices:
    """Values with their labels. If not `whole`, there are more, so the field must accept text too."""

    choices: list[tuple[str, str]]
    whole: bool = True


def dimension_choices(account: Account, used: Iterable[str]) -> ValueChoices:
    """Return customer, the dimension keys of the account's events, and other keys in the URL. One query."""
    every = lake_queries.dimension_keys(account)
    keys = shown_keys(every)
    choices = [(CUSTOMER, "Customer"), *((f"{PREFIX}{key}", key) for key in keys)]
    listed_names = {name for name, _title in choices}
    choices += [(name, name) for name in dict.fromkeys(used) if name and name not in listed_names]
    return ValueChoices(choices, whole=len(keys) == len(every))


def shown_keys(keys: Sequence[str]) -> list[str]:
    """Return the first keys that fit into a list."""
    sizes = accumulate(len(key.encode()) for key in keys[:SHOWN])
    return [key for key, size in zip(keys, sizes, strict=False) if size <= SHOWN_BYTES]
