"""Resolves the names of a query to the data: dimension keys, their values, customers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Account
from finops.lake import queries as lake_queries
from finops.lake import ranking
from finops.lake.schema import dimension_column
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.name_choices import FEWEST, NameChoice, is_recording, offer_choice
from finops.lib.periods import DateRange
from finops.lib.sentences import dimension_text, quote
from ingestion.models import Customer
from ingestion.queries.usage_lake import EVER, NONE, usage_rows
from ingestion.usage_query import CUSTOMER, UsageFilter

PREFIX = "dimension:"
CUSTOMER_NAMES = ("customer", "customers", "customer_id", "customer_name")
MAX_WARNINGS = 3
MAX_SUGGESTIONS = 5
MAX_CANDIDATES = 2_000
"""Maximum number of customers searched for a similar name; the first by id."""

SHOWN_LENGTH = 100


@dataclass
class EventDimensions:
    """Dimensions of the account's events. One query for the dimension keys, at first use."""

    account: Account

    @cached_property
    def keys(self) -> list[str]:
        return lake_queries.dimension_keys(self.account)


@dataclass(frozen=True)
class Resolution:
    """A resolved part of a query, and warnings about its interpretation."""

    value: str
    warning: str = ""


def find_group(event_dimensions: EventDimensions, name: str) -> Resolution:
    """Resolve `customer` or `dimension:<key>`, with tolerance (`Customers`, `region`). Raises UserError with the
    nearest."""
    plain = name.strip()
    if not plain or plain.casefold() in CUSTOMER_NAMES:
        return Resolution(CUSTOMER if plain else "")
    prefix, colon, key = plain.partition(":")
    if colon and key and prefix.strip().casefold() in ("dimension", "dim"):
        resolution = find_key(event_dimensions, key.strip())
        return Resolution(f"{PREFIX}{resolution.value}", resolution.warning)
    if plain in event_dimensions.keys:
        return Resolution(f"{PREFIX}{plain}")
    choices = [CUSTOMER, *(f"{PREFIX}{key}" for key in event_dimensions.keys)]
    raise unknown_value("group_by", plain[:100], choices, listed_by="getAccountContext", show=dimension_text)


def find_key(event_dimensions: EventDimensions, name: str) -> Resolution:
    """Return the dimension key in the data: exact, else the only one that differs in case."""
    key = name if name in event_dimensions.keys else name.removeprefix(PREFIX)
    if key in event_dimensions.keys:
        return Resolution(key)
    case_variants = [
        each for each in event_dimensions.keys if each.strip().casefold() == key.strip().casefold()
    ]
    if len(case_variants) == 1:
        return Resolution(case_variants[0], f"Dimension {key!r} was interpreted as {case_variants[0]!r}.")
    suggestions = case_variants or nearest_choices(key, event_dimensions.keys)
    advice = (
        f" Nearest: {', '.join(quote(each, SHOWN_LENGTH) for each in suggestions)}." if suggestions else ""
    )
    return Resolution(key, f"No events have dimension {key[:100]!r}.{advice} See getAccountContext.")


def find_filters(
    event_dimensions: EventDimensions, filters: Sequence[UsageFilter]
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], list[str]]:
    """Return keys with values, and warnings. A person who can be asked chooses between keys that are similar to an
    unknown one."""
    for item in filters:
        if find_key(event_dimensions, item.dimension).value not in event_dimensions.keys:
            problem = f"no events have dimension {quote(item.dimension, SHOWN_LENGTH)}"
            names = nearest_choices(item.dimension, event_dimensions.keys)
            offer_choice(NameChoice("dimension", problem, item.dimension, tuple(names)))
    resolutions = [(find_key(event_dimensions, item.dimension), tuple(item.values)) for item in filters]
    return (
        tuple((key.value, values) for key, values in resolutions),
        [key.warning for key, _values in resolutions if key.warning],
    )


@dataclass(frozen=True)
class CustomerMatches:
    """The ids of customers. On names that no customer has: clauses for the first sentence, and warnings with similar
    names."""

    ids: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def find_customers(account: Account, names: Sequence[str]) -> CustomerMatches:
    """Return the ids of customers given by id, or by name in any case; and warnings about unknown ones.

    A name of two customers means both. Raises UserError for an impossible id. One query, and up to two more for each
    unknown of the first three.
    """
    if not names:
        return CustomerMatches()
    if any("\x00" in value for value in names):
        raise UserError("customers: an ID must not have a NUL character. Remove it.", field="customers")
    by_id, by_name = _customers(account, names)
    ids: list[str] = []
    unknown = []
    for value in names:
        matching_ids = [value] if value in by_id else by_name.get(value.strip().lower(), [])
        ids += matching_ids or [value]
        unknown += [] if matching_ids else [value]
    clauses = [_unknown_customer(value) for value in unknown[:MAX_WARNINGS]]
    warnings = [_unknown_customer_warning(account, value) for value in unknown[:MAX_WARNINGS]]
    if len(unknown) > MAX_WARNINGS:
        more = len(unknown) - MAX_WARNINGS
        text = "1 more requested customer does" if more == 1 else f"{more} more requested customers do"
        clauses.append(f"{text} not exist")
        warnings.append(f"{text} not exist.")
    return CustomerMatches(tuple(dict.fromkeys(ids)), tuple(clauses), tuple(warnings))


def customer_names(account: Account, ids: Sequence[str]) -> dict[str, str]:
    """Return the visible names of those customers. One query."""
    rows = Customer.objects.filter(account=account, customer_id__in=ids).exclude(name="")
    return {
        customer_id: name for customer_id, name in rows.values_list("customer_id", "name") if name.strip()
    }


def _customers(account: Account, names: Sequence[str]) -> tuple[set[str], dict[str, list[str]]]:
    lower_names = [value.strip().lower() for value in names]
    rows = Customer.objects.filter(account=account).annotate(folded=Lower("name"))
    by_id: set[str] = set()
    by_name: dict[str, list[str]] = {}
    matching_rows = rows.filter(Q(customer_id__in=names) | Q(folded__in=lower_names))
    for customer_id, lower_name in matching_rows.order_by("customer_id").values_list("customer_id", "folded"):
        by_id.add(customer_id)
        by_name.setdefault(lower_name, []).append(customer_id)
    return by_id, by_name


def _unknown_customer(value: str) -> str:
    return f"no customer with the ID or name {value[:SHOWN_LENGTH]!r}"


def _unknown_customer_warning(account: Account, value: str) -> str:
    part = value.strip()
    rows = Customer.objects.filter(account=account)
    similar_rows = rows.filter(Q(customer_id__icontains=part) | Q(name__icontains=part)).order_by(
        "customer_id"
    )
    names = list(similar_rows.values_list("customer_id", flat=True)[:MAX_SUGGESTIONS]) if part else []
    by_customer = {name: name for name in names}
    if not names:
        candidates = list(rows.order_by("customer_id").values_list("customer_id", "name")[:MAX_CANDIDATES])
        names = nearest_choices(
            part[:SHOWN_LENGTH], [text for row in candidates for text in row if text.strip()]
        )
        for name in names:
            by_customer.setdefault(next(row[0] for row in candidates if name in row), name)
    advice = f" Nearest: {', '.join(quote(each, SHOWN_LENGTH) for each in names)}." if names else ""
    problem = _unknown_customer(value)
    offer_choice(NameChoice(CUSTOMER, problem, value, tuple(by_customer.values())))
    return f"{problem[0].upper()}{problem[1:]}.{advice}"


@dataclass(frozen=True)
class ValueSuggestion:
    value: str
    hint: str = ""


def suggest_values(account: Account, dimension: str, *, search: str, limit: int) -> list[ValueSuggestion]:
    """Return customers by id or name, or a dimension's values on most events, that contain the text. One query, or
    one lake query."""
    text = search.replace("\x00", "").strip()
    if dimension == CUSTOMER:
        rows = Customer.objects.filter(account=account).order_by("customer_id")
        matching_rows = (
            rows.filter(Q(customer_id__icontains=text) | Q(name__icontains=text)) if text else rows
        )
        return [ValueSuggestion(row.customer_id, row.name) for row in matching_rows[:limit]]
    key = find_key(EventDimensions(account), dimension).value
    value_rows = usage_rows(account, EVER, _Values(key, text, limit), keys=[key])
    return [ValueSuggestion(row["value"]) for row in sorted(value_rows, key=lambda row: row["place"])]


@dataclass(frozen=True)
class _Values:
    key: str
    search: str
    limit: int

    def __call__(self, table: Any) -> Any:
        value = table[dimension_column(self.key)]
        condition = (
            value.lower().contains(ibis.literal(self.search).lower()) if self.search else value.notnull()
        )
        events = table.filter(condition)
        counts = events.group_by(value=value).aggregate(events=events.count())
        return ranking.top_n(counts, self.limit, size=counts.events, keys=["value"]).select("value", "place")


MAX_METRIC_VALUES = 5_000


def metric_values(
    account: Account, metric: str, days: DateRange, names: Sequence[str], *, deadline: float | None = None
) -> dict[str, list[str]]:
    """Return the values of a metric's events on these days in each dimension, or of `customer`; `(none)` for events
    without one. One more than MAX_METRIC_VALUES means that there are too many. One lake query."""
    keys = [name for name in names if name != CUSTOMER]
    build = _MetricValues(metric, tuple(names))
    values_by_name: dict[str, list[str]] = {name: [] for name in names}
    for row in usage_rows(account, days, build, keys=keys, deadline=deadline):
        values_by_name[names[row["place"]]].append(row["value"])
    return {name: sorted(values) for name, values in values_by_name.items()}


@dataclass(frozen=True)
class UnmatchedFilters:
    """Filters on dimensions that the metric does not have, or whose values no event of the metric has on these days:
    the clause for the end of the first sentence, and warnings with similar values."""

    clause: str = ""
    warnings: tuple[str, ...] = ()


def find_unmatched_filters(
    account: Account,
    metric: str,
    days: DateRange,
    filters: Sequence[tuple[str, tuple[str, ...]]],
    keys: Sequence[str],
    *,
    deadline: float | None = None,
) -> UnmatchedFilters:
    """Return what the filters select that the metric does not have. `keys` are the keys of all events of the account.
    One lake query, and one more if a person can be asked which of several similar values is meant."""
    names = list(dict.fromkeys(key for key, _values in filters if key in keys))
    present = metric_values(account, metric, days, names, deadline=deadline) if names else {}
    shown_metric = quote(metric, SHOWN_LENGTH)
    clauses = [
        f"no events of {shown_metric} have dimension {quote(key, SHOWN_LENGTH)}"
        for key, _values in filters
        if not {*present.get(key, ())} - {NONE}
    ]
    unmatched = [
        (key, value)
        for key, values in filters
        if {*present.get(key, ())} - {NONE} and len(present[key]) <= MAX_METRIC_VALUES
        for value in values
        if value.lower() not in {NONE, *(each.lower() for each in present[key])}
    ]
    warnings = []
    for key, value in unmatched[:MAX_WARNINGS]:
        text = f"no events of {shown_metric} on these days have {dimension_text(key)} {quote(value, SHOWN_LENGTH)}"
        nearest = nearest_choices(value[:SHOWN_LENGTH], [each for each in present[key] if each != NONE])
        listing = ", ".join(quote(each, SHOWN_LENGTH) for each in nearest)
        clauses.append(text)
        warnings.append(f"{text[0].upper()}{text[1:]}.{f' Nearest: {listing}.' if nearest else ''}")
        _offer_values(account, metric, key, value, nearest, deadline)
    if len(unmatched) > MAX_WARNINGS:
        clauses.append(f"{len(unmatched) - MAX_WARNINGS} more values of the filters have none")
    return UnmatchedFilters("".join(f"; {each}" for each in clauses), tuple(warnings))


def _offer_values(
    account: Account, metric: str, key: str, value: str, nearest: Sequence[str], deadline: float | None
) -> None:
    """Offer similar values for one that no event of any day has: one with events on other days is no mistake."""
    if not is_recording() or len(nearest) < FEWEST:
        return
    ever = metric_values(account, metric, EVER, [key], deadline=deadline)[key]
    if len(ever) <= MAX_METRIC_VALUES and value.lower() not in {each.lower() for each in ever}:
        problem = f"no events have {dimension_text(key)} {quote(value, SHOWN_LENGTH)}"
        offer_choice(NameChoice(key[:SHOWN_LENGTH], problem, value, tuple(nearest)))


@dataclass(frozen=True)
class _MetricValues:
    metric: str
    names: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        events = table.filter(table.metric == self.metric)
        each = [self._of(events, place, name) for place, name in enumerate(self.names)]
        return ibis.union(*each) if len(each) > 1 else each[0]

    def _of(self, events: Any, place: int, name: str) -> Any:
        value = events.customer_id if name == CUSTOMER else events[dimension_column(name)].coalesce(NONE)
        values = events.select(value=value).distinct()
        shown = values.select(place=ibis.literal(place, "int64"), value=values["value"])
        return shown.order_by("value").limit(MAX_METRIC_VALUES + 1)
