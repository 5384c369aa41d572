"""From the words of a question to what the data has: dimension keys, customers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Account
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError, nearest, unknown_value
from finops.lib.spoken import dimension_words, quoted
from ingestion.models import Customer
from ingestion.usage_query import CUSTOMER, UsageFilter

PREFIX = "dimension:"
CUSTOMER_NAMES = ("customer", "customers", "customer_id", "customer_name")
NAMED_UNKNOWN = 3
NEAREST = 5
NEAREST_OF = 2_000
"""Customers looked through for one whose name is spelt alike; the first by id."""

SHOWN_LENGTH = 100


@dataclass
class Known:
    """What the account's events have. One query for the dimension keys, when first asked."""

    account: Account

    @cached_property
    def keys(self) -> list[str]:
        return lake_queries.dimension_keys(self.account)


@dataclass(frozen=True)
class Found:
    """A part of a question as the data has it, and what to say about how it was read."""

    value: str
    warning: str = ""


def find_group(known: Known, name: str) -> Found:
    """`customer` or `dimension:<key>`, kindly read (`Customers`, `region`). Raises UserError with the nearest."""
    plain = name.strip()
    if not plain or plain.casefold() in CUSTOMER_NAMES:
        return Found(CUSTOMER if plain else "")
    prefix, colon, key = plain.partition(":")
    if colon and key and prefix.strip().casefold() in ("dimension", "dim"):
        found = find_key(known, key.strip())
        return Found(f"{PREFIX}{found.value}", found.warning)
    if plain in known.keys:
        return Found(f"{PREFIX}{plain}")
    choices = [CUSTOMER, *(f"{PREFIX}{key}" for key in known.keys)]
    raise unknown_value("group_by", plain[:100], choices, listed_by="getAccountContext", show=dimension_words)


def find_key(known: Known, name: str) -> Found:
    """The dimension key as the data has it: as written, else the only one that differs in case."""
    key = name if name in known.keys else name.removeprefix(PREFIX)
    if key in known.keys:
        return Found(key)
    alike = [one for one in known.keys if one.strip().casefold() == key.strip().casefold()]
    if len(alike) == 1:
        return Found(alike[0], f"Dimension {key!r} was read as {alike[0]!r}, as the events have it.")
    close = alike or nearest(key, known.keys)
    advice = f" Nearest: {', '.join(quoted(one, SHOWN_LENGTH) for one in close)}." if close else ""
    return Found(key, f"No event has dimension {key[:100]!r}.{advice} getAccountContext lists them.")


def find_filters(
    known: Known, filters: Sequence[UsageFilter]
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], list[str]]:
    """Keys with values, and warnings."""
    found = [(find_key(known, item.dimension), tuple(item.values)) for item in filters]
    return (
        tuple((key.value, values) for key, values in found),
        [key.warning for key, _values in found if key.warning],
    )


def find_customers(account: Account, asked: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The ids of customers named by id, or by name in any case; and warnings about those that are neither.

    Two customers of one name are both meant. Raises UserError for what no id can hold. One query, and up to two
    more for each unknown of the first three.
    """
    if not asked:
        return (), []
    if any("\x00" in value for value in asked):
        raise UserError("customers: no customer has a NUL character in its id. Remove it.", field="customers")
    by_id, by_name = _customers(account, asked)
    ids: list[str] = []
    unknown = []
    for value in asked:
        found = [value] if value in by_id else by_name.get(value.strip().lower(), [])
        ids += found or [value]
        unknown += [] if found else [value]
    warnings = [_unknown(account, value) for value in unknown[:NAMED_UNKNOWN]]
    if len(unknown) > NAMED_UNKNOWN:
        warnings.append(f"{len(unknown) - NAMED_UNKNOWN} more of the customers asked for are not known.")
    return tuple(dict.fromkeys(ids)), warnings


def customer_names(account: Account, ids: Sequence[str]) -> dict[str, str]:
    """The names of those customers that have one which can be seen. One query."""
    rows = Customer.objects.filter(account=account, customer_id__in=ids).exclude(name="")
    return {
        customer_id: name for customer_id, name in rows.values_list("customer_id", "name") if name.strip()
    }


def _customers(account: Account, asked: Sequence[str]) -> tuple[set[str], dict[str, list[str]]]:
    lowered = [value.strip().lower() for value in asked]
    rows = Customer.objects.filter(account=account).annotate(folded=Lower("name"))
    by_id: set[str] = set()
    by_name: dict[str, list[str]] = {}
    wanted = rows.filter(Q(customer_id__in=asked) | Q(folded__in=lowered))
    for customer_id, folded in wanted.order_by("customer_id").values_list("customer_id", "folded"):
        by_id.add(customer_id)
        by_name.setdefault(folded, []).append(customer_id)
    return by_id, by_name


def _unknown(account: Account, value: str) -> str:
    part = value.strip()
    rows = Customer.objects.filter(account=account)
    close = rows.filter(Q(customer_id__icontains=part) | Q(name__icontains=part)).order_by("customer_id")
    ids = list(close.values_list("customer_id", flat=True)[:NEAREST]) if part else []
    if not ids:
        known = rows.order_by("customer_id").values_list("customer_id", "name")[:NEAREST_OF]
        ids = nearest(part[:SHOWN_LENGTH], [text for row in known for text in row if text.strip()])
    advice = f" Nearest: {', '.join(quoted(one, SHOWN_LENGTH) for one in ids)}." if ids else ""
    return f"No customer has the id or name {value[:100]!r}.{advice}"
