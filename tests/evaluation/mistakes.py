"""The calls of a script in place of a model: a right call, with the mistakes that assistants make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Mistake:
    """`kind` names it in the record; the arguments are those of a call that makes it."""

    kind: str
    arguments: Arguments


_FOCUS = {
    "service": "ServiceName", "provider": "ProviderName", "region": "RegionId", "account": "SubAccountId",
    "service_category": "ServiceCategory", "charge_category": "ChargeCategory", "source": "billing_source",
}  # fmt: skip
_PERIODS = {
    "last_month": ("last month", "previous_month", "lastMonth", "2026-10"),
    "month_to_date": ("this month", "mtd", "current_month"),
    "last_7_days": ("7d", "past_week", "last 7 days"),
    "last_30_days": ("30d", "last 30 days", "past_month"),
    "last_week": ("previous_week", "Last Week"),
    "quarter_to_date": ("this_quarter", "qtd"),
    "yesterday": ("Yesterday", "1d"),
}


def mistakes(arguments: Mapping[str, Any]) -> Iterator[Mistake]:
    yield from _of_period(arguments)
    yield from _of_groups(arguments)
    yield from _of_filters(arguments)
    yield from _of_names(arguments)


def _with(arguments: Mapping[str, Any], **changed: Any) -> Arguments:
    return {**deepcopy(dict(arguments)), **changed}


def _of_period(arguments: Mapping[str, Any]) -> Iterator[Mistake]:
    for phrase in _PERIODS.get(arguments.get("period", ""), ()):
        yield Mistake("period in other words", _with(arguments, period=phrase))


def _of_groups(arguments: Mapping[str, Any]) -> Iterator[Mistake]:
    groups = arguments.get("group_by")
    if not groups:
        return
    if isinstance(groups, str):
        yield Mistake("list for a text", _with(arguments, group_by=[groups]))
        return
    (group,) = groups
    yield Mistake("text for a list", _with(arguments, group_by=group))
    yield Mistake("JSON as text", _with(arguments, group_by=f'["{group}"]'))
    if ":" in group:
        family, _, key = group.partition(":")
        # The dimension customer is another than the tag: who meant the tag has the better answer.
        if key != "customer":
            yield Mistake("dimension in other words", _with(arguments, group_by=[key]))
        yield Mistake("dimension in other words", _with(arguments, group_by=[f"{family}s.{key}"]))
        yield Mistake("dimension misspelt", _with(arguments, group_by=[f"tag:{key[:-1]}"]))
        return
    yield Mistake("dimension in other words", _with(arguments, group_by=[_FOCUS.get(group, group)]))
    yield Mistake("dimension in other words", _with(arguments, group_by=[f"{group}s"]))
    yield Mistake("dimension misspelt", _with(arguments, group_by=[group[:-2] + group[-1]]))


def _of_filters(arguments: Mapping[str, Any]) -> Iterator[Mistake]:
    filters = arguments.get("filters")
    if not filters:
        return
    (cost_filter,) = filters
    name, (value,) = cost_filter["dimension"], cost_filter["values"]
    yield Mistake("filters as an object", _with(arguments, filters={name: value}))
    yield Mistake("filters as an object", _with(arguments, filters=dict(cost_filter)))
    yield Mistake(
        "filter with a single value", _with(arguments, filters=[{"dimension": name, "value": value}])
    )
    yield Mistake("operator in other words", _with(arguments, filters=[{**cost_filter, "op": "equals"}]))
    yield Mistake("operator in other words", _with(arguments, filters=[{**cost_filter, "op": "="}]))
    yield Mistake("filter as an argument", _with(arguments, filters=[]) | {name: value})
    for kind, spelled in _spellings(value):
        yield Mistake(kind, _with(arguments, filters=[{"dimension": name, "values": [spelled]}]))
    other = {
        "service": "product",
        "provider": "cloud",
        "region": "location",
        "account": "project",
        "team": "owner",
        "ai_vendor": "vendor",
    }
    yield Mistake(
        "dimension in other words", _with(arguments, filters=[{**cost_filter, "dimension": other[name]}])
    )


def _spellings(value: str) -> Iterator[tuple[str, str]]:
    yield "value in other case", value.swapcase()
    yield "value misspelt", value[: len(value) // 2] + value[len(value) // 2 + 1 :]
    yield "value misspelt", f"{value}s"
    if " " in value:
        yield "value shortened", value.split()[-1]
        yield "value shortened", value.split()[0]
        yield "value shortened", "".join(word[0] for word in value.split() if word[0].isupper())


def _of_names(arguments: Mapping[str, Any]) -> Iterator[Mistake]:
    other_names = {
        "group_by": ("groupBy", "dimensions"),
        "period": ("time_range", "timeframe"),
        "filters": ("filter", "where"),
        "granularity": ("interval",),
        "usage_metric": ("metric", "metric_name"),
        "limit": ("limit_rows", "top"),
        "basis": ("cost_basis",),
    }
    for name in arguments.keys() & other_names.keys():
        for other in other_names[name]:
            other_arguments = {key: value for key, value in arguments.items() if key != name}
            yield Mistake("argument in other words", _with(other_arguments, **{other: arguments[name]}))
    if isinstance(arguments.get("limit"), int):
        yield Mistake("number as text", _with(arguments, limit=str(arguments["limit"])))
