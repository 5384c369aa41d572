"""The filter values that the data has, and the nearest values for those that it does not have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import ibis

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answers import AppliedFilter
from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.filters import ResolvedFilter
from finops.costs.former_names import former_of
from finops.costs.queries.spend_lake import SpendPlan
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib.errors import UserError, nearest_choices
from finops.lib.name_choices import FEWEST, NameChoice, is_recording, offer_choice
from finops.lib.periods import ALL_DAYS, DateRange
from finops.lib.sentences import dimension_text, quote, truncate

NEAREST_OF = 5_000
"""The maximum of values searched for the nearest; the first by name if a dimension has more."""

REFUSED = ("customer", "currency")
REFUSED_FAMILIES = ("tag:", "cost_tag:")
"""Dimensions whose values users and rules define: an unknown value is more likely misspelt than without cost."""

NAMED_VALUES = 5
SHOWN_VALUES = 20
SHOWN_LENGTH = 120
SHOWN_MISSING = 5
"""The maximum of unmatched values with a sentence each."""


@dataclass(frozen=True)
class FilterFindings:
    """The filters as applied, and sentences about values that match nothing."""

    used: list[AppliedFilter] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    clause: str = ""
    """Values that no line of these days has, for the end of the first sentence; starts with a semicolon. Not for
    dimensions that no line has, which `no_values_clause` names."""


def look_up(
    account: Account,
    plan: SpendPlan,
    deadline: float | None,
    manifest: Manifest | None = None,
    *,
    receiving_values: Mapping[str, Collection[str]] | None = None,
    refuse_all: bool = False,
) -> FilterFindings:
    """Check the filters' values. One lake query over the filtered columns; a second if a value is not in these days.

    `receiving_values` are values by dimension that received cost from shared-cost splits; they count as being in the data.
    Raises UserError for an `in` of which no value is in the data of any day, on dimensions whose values users define
    (REFUSED; `refuse_all`: on any): a sum of nothing would read as a cost of 0. One more lake query if none is in
    these days. One more as well if a person can be asked which of several similar values is meant.
    """
    reader = _ValueReader(account, plan, deadline, manifest)
    exact = [item for item in plan.filters if item.is_exact]
    present = reader.values(exact, only_matching=True)
    for index, item in enumerate(exact):
        values = (receiving_values or {}).get(item.dimension.name, ())
        received = [value for value in values if _accepts(item, value)]
        present[index] = dict.fromkeys(received, "") | present.get(index, {})
    missing = {index: _missing_values(item, present.get(index, {})) for index, item in enumerate(exact)}
    filters = [(item, missing[index]) for index, item in enumerate(exact) if missing[index]]
    labels = reader.values([item for item, _ in filters], only_matching=False)
    unknown = [
        _UnknownValue(item, value, labels.get(index, {}))
        for index, (item, values) in enumerate(filters)
        for value in values
    ]
    refused = [item for item, values in filters if _should_refuse(item, values, refuse_all)]
    _refuse_values(reader, [each for each in unknown if each.item in refused])
    named = [each for each in unknown if not each.item.dimension.no_values][:SHOWN_MISSING]
    if is_recording():
        _offer_names(reader, named)
    warnings = [each.warning for each in named]
    warnings += [sentence for item in plan.filters for sentence in _rename_warnings(item)]
    labels_by_filter = {id(item): present.get(index, {}) for index, item in enumerate(exact)}
    return FilterFindings(
        [_applied_filter(item, labels_by_filter.get(id(item))) for item in plan.filters],
        warnings,
        "".join(f"; {each.clause}" for each in named),
    )


def labels_of_filters(
    account: Account, plan: SpendPlan, deadline: float | None, manifest: Manifest | None = None
) -> dict[str, str]:
    """Return the labels of filter values that are ids, by value. The lake query of `look_up`, whose result is cached;
    PostgreSQL only for dimensions with names of a higher app."""
    exact = [item for item in plan.filters if item.is_exact]
    if all(item.dimension.label is None and item.dimension.names is None for item in exact):
        return {}
    reader = _ValueReader(account, plan, deadline, manifest)
    present = reader.values(exact, only_matching=True)
    labels: dict[str, str] = {}
    for index, item in enumerate(exact):
        values = present.get(index, {})
        names = item.dimension.names.names(list(values)) if item.dimension.names is not None else {}
        labels |= {value: label for value, label in {**values, **names}.items() if label}
    return labels


def _should_refuse(item: ResolvedFilter, missing: Sequence[str], refuse_all: bool) -> bool:
    """Return whether none of the values is in the data and the dimension is one that refuses unknown values."""
    name = item.dimension.name
    return (
        item.op == "in"
        and (refuse_all or name in REFUSED or name.startswith(REFUSED_FAMILIES))
        and len(missing) == len(item.values)
        # The dimension reports an unknown tag key, with similar keys.
        and not item.dimension.warnings
        # An existing customer without cost is a valid value.
        and not (
            item.dimension.names is not None and any(map(item.dimension.names.values_with_name, item.values))
        )
    )


@dataclass(frozen=True)
class _UnknownValue:
    """A value of a filter that is not in these days; `labels` are the values that are, with their labels."""

    item: ResolvedFilter
    value: str
    labels: Mapping[str, str]

    @property
    def names(self) -> list[str]:
        return [*self.labels, *(label for label in self.labels.values() if label)]

    @cached_property
    def nearest(self) -> list[str]:
        return nearest_choices(truncate(self.value, SHOWN_LENGTH), self.names)

    @property
    def choices(self) -> tuple[str, ...]:
        """The nearest names; of a value and its label only the nearer one."""
        by_value: dict[str, str] = {}
        for name in self.nearest:
            values = [value for value, label in self.labels.items() if name in (value, label)]
            by_value.setdefault(min(values, default=name), name)
        return tuple(by_value.values())

    @property
    def text(self) -> str:
        return f"{dimension_text(self.item.dimension.name)} {truncate(self.value, SHOWN_LENGTH)!r}"

    @property
    def clause(self) -> str:
        return f"no cost on these days has {self.text}"

    @property
    def warning(self) -> str:
        advice = f" Nearest: {_quote_names(self.nearest)}." if self.nearest else ""
        return f"No cost on these days has {self.text}.{advice} See listDimensionValues."

    @property
    def refusal(self) -> UserError:
        listing = _quote_names(self.nearest or sorted(self.names)[:NAMED_VALUES])
        advice = f" {'Nearest' if self.nearest else 'These days have'}: {listing}." if listing else ""
        return UserError(
            f"filters: no cost has {self.text}.{advice} See listDimensionValues.",
            field="filters",
            value=self.value,
            choices=self.nearest,
        )


def _quote_names(names: Sequence[str]) -> str:
    return ", ".join(quote(name, SHOWN_LENGTH) for name in names)


def _refuse_values(reader: _ValueReader, unknown: Sequence[_UnknownValue]) -> None:
    """Raises UserError for the first value of the first filter without a line on any day. One lake query, if any."""
    first_values = {id(each.item): each for each in reversed(unknown)}
    values = [first_values[key] for key in dict.fromkeys(id(each.item) for each in unknown)]
    lines = reader.values([each.item for each in values], only_matching=True, days=ALL_DAYS)
    for index, each in enumerate(values):
        if not lines.get(index):
            raise each.refusal


def _offer_names(reader: _ValueReader, unknown: Sequence[_UnknownValue]) -> None:
    """Offer similar names for values that no line of any day has: one with cost on other days is no mistake. One lake
    query, if any."""
    similar = [each for each in unknown if len(each.choices) >= FEWEST]
    lines = reader.values([each.item for each in similar], only_matching=True, days=ALL_DAYS)
    for index, each in enumerate(similar):
        if each.value in _missing_values(each.item, lines.get(index, {})):
            title = dimension_text(each.item.dimension.name)
            offer_choice(NameChoice(title, f"no cost has {each.text}", each.value, each.choices))


def _accepts(item: ResolvedFilter, value: str) -> bool:
    return value.lower() in [text.lower() for text in item.matching_values]


LabelByValue = dict[str, str]
"""Values of a dimension and their labels ("" for none)."""


@dataclass(frozen=True)
class _ValueReader:
    account: Account
    plan: SpendPlan
    deadline: float | None
    manifest: Manifest | None

    def values(
        self, items: Sequence[ResolvedFilter], *, only_matching: bool, days: DateRange | None = None
    ) -> dict[int, LabelByValue]:
        """Return the values of each filter. One lake query; none without filters."""
        if not items:
            return {}
        ranges = self.plan.ranges
        span = days or DateRange(min(each.start for each in ranges), max(each.end for each in ranges))
        table = engine.run(
            self.account,
            Kind.COST,
            span.start,
            span.end,
            _ValuesBuild(tuple(items), only_matching),
            tag_keys=self.plan.tag_keys,
            allow_rollups=True,
            manifest=self.manifest,
            deadline=self.deadline,
            in_own_currency=True,
        )
        labels_by_place: dict[int, LabelByValue] = {}
        for row in table.to_pylist():
            if row["value"] is not None:
                labels_by_place.setdefault(row["place"], {})[row["value"]] = strip_date_prefix(row["label"])
        return labels_by_place


@dataclass(frozen=True)
class _ValuesBuild:
    """The values of each filter's dimension. Equal for equal filters, so that the lake compiles it once."""

    items: tuple[ResolvedFilter, ...]
    only_matching: bool

    def __call__(self, lines: Any) -> Any:
        each = [
            _values_of(lines, index, item, only_matching=self.only_matching)
            for index, item in enumerate(self.items)
        ]
        return ibis.union(*each) if len(each) > 1 else each[0]


def _values_of(lines: Any, index: int, item: ResolvedFilter, *, only_matching: bool) -> Any:
    value = item.dimension.value(lines)
    label = ibis.null("string") if item.dimension.label is None else item.dimension.label(lines)
    condition = item.matches(lines) if only_matching else value.notnull()
    selection = lines.filter(condition).select(value=value, label=with_date_prefix(lines, label))
    distinct = selection.group_by("value").aggregate(label=selection.label.max())
    columns = distinct.select("value", "label", place=ibis.literal(index, "int64"))
    return columns.order_by("value").limit(NEAREST_OF)


def _missing_values(item: ResolvedFilter, present: Mapping[str, str]) -> list[str]:
    names = {name.lower() for pair in present.items() for name in pair}
    return [
        value
        for value in item.values
        if value.strip().lower() != item.dimension.absent
        and not names & {name.lower() for name in _meanings(item, value)}
    ]


def _meanings(item: ResolvedFilter, value: str) -> list[str]:
    """Return the value, its aliases, and the values that it is or was the name of."""
    by_name = item.dimension.names.values_with_name(value) if item.dimension.names is not None else ()
    former = [each.id for each in former_of(item.dimension, value)]
    return [*candidates(item.dimension.name, value), *by_name, *former]


def _rename_warnings(item: ResolvedFilter) -> list[str]:
    """Return warnings on how earlier names of renamed ids were interpreted."""
    return [
        f"{dimension_text(item.dimension.name)} {truncate(value, SHOWN_LENGTH)!r} is an earlier name "
        f"of {truncate(each.newest, SHOWN_LENGTH)!r} ({quote(each.id, SHOWN_LENGTH)}); all its names "
        "are included."
        for value in item.values[:SHOWN_MISSING]
        for each in former_of(item.dimension, value)[:SHOWN_MISSING]
    ]


def _applied_filter(item: ResolvedFilter, present: Mapping[str, str] | None) -> AppliedFilter:
    """Return an exact filter with the values in the data's spelling; any other filter as applied, with aliases."""
    requested = list(item.values)
    values = list(item.matching_values) if present is None else sorted(present)
    if present is not None and item.wants_absent:
        values = [*values, item.dimension.absent]
    changed = values != requested
    return AppliedFilter(
        dimension=item.dimension.name,
        op=item.op,
        values=_truncate_values(values),
        asked=_truncate_values(requested) if changed else [],
    )


def _truncate_values(values: Sequence[str]) -> list[str]:
    """Return the first values and the number of others."""
    more = [f"… and {len(values) - SHOWN_VALUES} more"] if len(values) > SHOWN_VALUES else []
    return [truncate(value, SHOWN_LENGTH) for value in values[:SHOWN_VALUES]] + more
