"""Which of the values that filters name are in the data, and what comes nearest to those that are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ibis

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answers import FilterUsed
from finops.costs.dated_names import dated, undated
from finops.costs.filters import ResolvedFilter
from finops.costs.former_names import former_of
from finops.costs.queries.spend_lake import SpendPlan
from finops.lake import engine
from finops.lake.manifest import Manifest
from finops.lake.schema import Kind
from finops.lib.errors import UserError, nearest
from finops.lib.periods import EVER, DateRange
from finops.lib.spoken import cut, dimension_words, quoted

NEAREST_OF = 5_000
"""Values looked through for the nearest; the first by name when a dimension has more."""

REFUSED = ("customer", "currency")
REFUSED_FAMILIES = ("tag:", "cost_tag:")
"""Dimensions whose values people and rules make up, so that a misspelt one is likelier than one without cost."""

NAMED_VALUES = 5
SHOWN_VALUES = 20
SHOWN_LENGTH = 120
SHOWN_MISSING = 5
"""Values that match nothing, each a sentence."""


@dataclass(frozen=True)
class FilterFindings:
    """The filters as applied, and sentences about values that match nothing."""

    used: list[FilterUsed] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def look_up(
    account: Account,
    plan: SpendPlan,
    deadline: float | None,
    manifest: Manifest | None = None,
    *,
    brought: Mapping[str, Collection[str]] | None = None,
    refuse_all: bool = False,
) -> FilterFindings:
    """One lake query over the filtered columns; a second one when a value is not in the data of these days.

    `brought` are values by dimension that shared-cost splits gave cost to, which count as being in the data. Raises
    UserError for an `in` of which no value is in the data of any day, on dimensions whose values people make up
    (REFUSED; `refuse_all`: on any): a sum of nothing would read as a cost of 0. One lake query more where none is of
    these days.
    """
    exact = [item for item in plan.filters if item.is_exact]
    present = _ask(account, plan, exact, deadline, manifest, only_wanted=True)
    for index, item in enumerate(exact):
        moved = [value for value in (brought or {}).get(item.dimension.name, ()) if _wants(item, value)]
        present[index] = dict.fromkeys(moved, "") | present.get(index, {})
    missing = {index: _missing(item, present.get(index, {})) for index, item in enumerate(exact)}
    lost = [(item, missing[index]) for index, item in enumerate(exact) if missing[index]]
    known = _ask(account, plan, [item for item, _ in lost], deadline, manifest, only_wanted=False)
    unknown = [(index, item, value) for index, (item, values) in enumerate(lost) for value in values]
    empty = [
        (index, item) for index, (item, values) in enumerate(lost) if _is_refused(item, values, refuse_all)
    ]
    other_days = _ask(
        account, plan, [item for _, item in empty], deadline, manifest, only_wanted=True, days=EVER
    )
    for place, (index, item) in enumerate(empty):
        if not other_days.get(place):
            raise _refusal(item, known.get(index, {}))
    warnings = [
        _not_found(item, value, known.get(index, {})) for index, item, value in unknown[:SHOWN_MISSING]
    ]
    warnings += [sentence for item in plan.filters for sentence in _renamed(item)]
    found = {id(item): present.get(index, {}) for index, item in enumerate(exact)}
    return FilterFindings([_used(item, found.get(id(item))) for item in plan.filters], warnings)


def _is_refused(item: ResolvedFilter, missing: Sequence[str], refuse_all: bool) -> bool:
    """Whether none of the values asked for is there, and it is worth a refusal when no day has any."""
    name = item.dimension.name
    return (
        item.op == "in"
        and (refuse_all or name in REFUSED or name.startswith(REFUSED_FAMILIES))
        and len(missing) == len(item.asked)
        # A tag key that no line has is said by the dimension, with the keys that come near.
        and not item.dimension.warnings
        # A customer that exists, without any cost, costs nothing.
        and not (item.dimension.names is not None and any(map(item.dimension.names.values_named, item.asked)))
    )


def _refusal(item: ResolvedFilter, known: Mapping[str, str]) -> UserError:
    value, name = item.asked[0], item.dimension.name
    names = [*known, *(label for label in known.values() if label)]
    close = nearest(cut(value, SHOWN_LENGTH), names)
    shown = ", ".join(quoted(each, SHOWN_LENGTH) for each in close or sorted(names)[:NAMED_VALUES])
    advice = f" {'Nearest' if close else 'These days have'}: {shown}." if shown else ""
    return UserError(
        f"filters: no cost line of any day has {dimension_words(name)} {cut(value, SHOWN_LENGTH)!r}.{advice} listDimensionValues lists the "
        "values.",
        field="filters",
        value=cut(value, SHOWN_LENGTH),
    )


def _wants(item: ResolvedFilter, value: str) -> bool:
    return value.lower() in [wanted.lower() for wanted in item.wanted]


Found = dict[str, str]
"""Values of a dimension, and their labels ("" for none)."""


def _ask(
    account: Account,
    plan: SpendPlan,
    items: Sequence[ResolvedFilter],
    deadline: float | None,
    manifest: Manifest | None,
    *,
    only_wanted: bool,
    days: DateRange | None = None,
) -> dict[int, Found]:
    """The values of each filter."""
    if not items:
        return {}
    asked = days or DateRange(min(each.start for each in plan.ranges), max(each.end for each in plan.ranges))
    table = engine.run(
        account,
        Kind.COST,
        asked.start,
        asked.end,
        _ValuesBuild(tuple(items), only_wanted),
        tag_keys=plan.tag_keys,
        summed=True,
        manifest=manifest,
        deadline=deadline,
    )
    found: dict[int, Found] = {}
    for row in table.to_pylist():
        if row["value"] is not None:
            found.setdefault(row["place"], {})[row["value"]] = undated(row["label"])
    return found


@dataclass(frozen=True)
class _ValuesBuild:
    """The values of each filter's dimension; equal for equal filters, so that the lake compiles it once."""

    items: tuple[ResolvedFilter, ...]
    only_wanted: bool

    def __call__(self, lines: Any) -> Any:
        each = [
            _values_of(lines, index, item, only_wanted=self.only_wanted)
            for index, item in enumerate(self.items)
        ]
        return ibis.union(*each) if len(each) > 1 else each[0]


def _values_of(lines: Any, index: int, item: ResolvedFilter, *, only_wanted: bool) -> Any:
    value = item.dimension.value(lines)
    label = ibis.null("string") if item.dimension.label is None else item.dimension.label(lines)
    wanted = item.matches(lines) if only_wanted else value.notnull()
    chosen = lines.filter(wanted).select(value=value, label=dated(lines, label))
    distinct = chosen.group_by("value").aggregate(label=chosen.label.max())
    shown = distinct.select("value", "label", place=ibis.literal(index, "int64"))
    return shown.order_by("value").limit(NEAREST_OF)


def _missing(item: ResolvedFilter, present: Mapping[str, str]) -> list[str]:
    names = {name.lower() for pair in present.items() for name in pair}
    return [
        value
        for value in item.asked
        if value.strip().lower() != item.dimension.absent
        and not names & {name.lower() for name in _meanings(item, value)}
    ]


def _meanings(item: ResolvedFilter, value: str) -> list[str]:
    """The value, its aliases, and the values that it is or was the name of."""
    by_name = item.dimension.names.values_named(value) if item.dimension.names is not None else ()
    former = [each.id for each in former_of(item.dimension, value)]
    return [*candidates(item.dimension.name, value), *by_name, *former]


def _not_found(item: ResolvedFilter, value: str, known: Mapping[str, str]) -> str:
    close = nearest(cut(value, SHOWN_LENGTH), [*known, *(label for label in known.values() if label)])
    advice = f" Nearest: {', '.join(quoted(name, SHOWN_LENGTH) for name in close)}." if close else ""
    return (
        f"No cost line of these days has {dimension_words(item.dimension.name)} {cut(value, SHOWN_LENGTH)!r}.{advice} "
        "listDimensionValues lists the values."
    )


def _renamed(item: ResolvedFilter) -> list[str]:
    """What earlier names of renamed ids were taken for."""
    return [
        f"{dimension_words(item.dimension.name)} {cut(value, SHOWN_LENGTH)!r} is an earlier name of {cut(each.newest, SHOWN_LENGTH)!r} "
        f"({quoted(each.id, SHOWN_LENGTH)}), which it was taken for, under all its names."
        for value in item.asked[:SHOWN_MISSING]
        for each in former_of(item.dimension, value)[:SHOWN_MISSING]
    ]


def _used(item: ResolvedFilter, present: Mapping[str, str] | None) -> FilterUsed:
    """An exact filter as the values that the data has; any other as it was applied, aliases with it."""
    asked = list(item.asked)
    values = list(item.wanted) if present is None else sorted(present)
    if present is not None and item.wants_absent:
        values = [*values, item.dimension.absent]
    changed = values != asked
    return FilterUsed(
        dimension=item.dimension.name,
        op=item.op,
        values=_shown(values),
        asked=_shown(asked) if changed else [],
    )


def _shown(values: Sequence[str]) -> list[str]:
    """The first values; says how many more there are."""
    more = [f"… and {len(values) - SHOWN_VALUES} more"] if len(values) > SHOWN_VALUES else []
    return [cut(value, SHOWN_LENGTH) for value in values[:SHOWN_VALUES]] + more
