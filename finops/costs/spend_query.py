"""What is asked about spend: the arguments of the tool `querySpend` and the URL of the cost explorer, one type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Self, TypeVar, cast

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.lib.errors import unknown_value
from finops.lib.params import fields_of, from_text
from finops.lib.periods import PERIOD_ALIASES, PERIODS
from finops.lib.periods import Granularity as Granularity
from finops.lib.periods import Period as Period

Op = Literal["in", "not_in", "contains", "not_contains", "starts_with", "ends_with", "absent"]
BasisName = Literal["billed", "amortized"]
CompareTo = Literal["none", "previous_period", "previous_year"]
Splits = Literal["before", "after"]
SpendOrder = Literal["amount", "change"]
Measure = Literal["cost", "list_cost", "contracted_cost", "consumed_quantity", "pricing_quantity"]
QUANTITIES = ("consumed_quantity", "pricing_quantity")
"""Measures in units: what is said of currencies holds of these."""

DEFAULT_PERIOD: Period = "last_30_days"
DEFAULT_TOP = 10
MAX_TOP = 50
MAX_GROUPS = 2
MAX_FILTERS = 20


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Cost lines whose dimension matches any of the values; without regard to case."""

    dimension: Annotated[str, Meta(description="A dimension such as service, region, tag:env.")]
    op: Annotated[
        Op,
        Meta(
            description="not_in and not_contains keep lines without a value; absent keeps only those, values empty."
        ),
    ] = "in"
    values: Annotated[list[str], Meta(description="listDimensionValues lists them.")] = []


# The same without its words, for tools that say "as in querySpend": all definitions together have 40 KB.
class CostFilter(Filter, frozen=True, kw_only=True):
    __doc__ = None
    dimension: str
    op: Op = "in"
    values: list[str] = []


FILTER_PARAMS = {"filters": "f", "usage_filters": "u"}
"""Lists of filters, and the letter that their URL parameters begin with."""


class UrlQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question that a page's URL can say: one with a list of `filters`."""

    filters: Sequence[Filter] = []

    @classmethod
    def from_params(cls, params: Mapping[str, Sequence[str]]) -> Self:
        """The query that a URL says: `dict(request.GET.lists())`. Names it does not know and empty values are ignored.

        Filters are f0, f0op, f0v, f1 …: dimension, op, values; of usage u0, u0v …. Raises UserError that names the parameter.
        """
        raw: dict[str, Any] = {
            field.name: _field_value(field, [value for value in params[field.name] if value != ""])
            for field in fields_of(cls)
            if field.name not in FILTER_PARAMS and any(params.get(field.name, ()))
        }
        for name, letter in FILTER_PARAMS.items():
            if name in cls.__struct_fields__:
                raw[name] = _filters_from(params, letter)
        return from_text(raw, cls)

    def to_params(self) -> dict[str, list[str]]:
        """The URL parameters of this query; `from_params` gives an equal query. Defaults are left out."""
        params: dict[str, list[str]] = {}
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if field.name in FILTER_PARAMS or value in (None, [], field.default):
                continue
            params[field.name] = [str(item) for item in value] if isinstance(value, list) else [str(value)]
        for name, letter in FILTER_PARAMS.items():
            for index, item in enumerate(getattr(self, name, ())):
                params[f"{letter}{index}"] = [item.dimension]
                params[f"{letter}{index}op"] = [item.op] if hasattr(item, "op") else []
                params[f"{letter}{index}v"] = list(item.values)
        return {name: values for name, values in params.items() if values}


class SpendQuery(UrlQuery, frozen=True, kw_only=True):
    """A question about spend. Days are UTC, both ends inside; without any dates, the last 30 days."""

    start_date: Annotated[date | None, Meta(description="First day, with end_date.")] = None
    end_date: Annotated[date | None, Meta(description="Last day, inclusive.")] = None
    period: Annotated[
        Period | None,
        Meta(description="Instead of dates. last_N_days end yesterday, last_N_months before this month."),
    ] = None
    granularity: Annotated[Granularity, Meta(description="Time buckets; weeks begin on Monday.")] = "none"
    group_by: Annotated[list[str], Meta(description="Up to two dimensions.", max_length=MAX_GROUPS)] = []
    filters: Annotated[list[Filter], Meta(description="Joined by and.", max_length=MAX_FILTERS)] = []
    basis: Annotated[BasisName | None, Meta(description="Left out: the account's cost view.")] = None
    charge_categories: Annotated[
        list[str],
        Meta(
            description="Those that count: Usage, Purchase, Tax, Credit, Adjustment; or all. Left out: the cost view."
        ),
    ] = []
    top: Annotated[
        int,
        Meta(description="Groups listed for each currency; the rest is summed in other.", ge=1, le=MAX_TOP),
    ] = DEFAULT_TOP
    compare_to: Annotated[CompareTo, Meta(description="Adds change to totals and rows.")] = "none"
    order_by: Annotated[SpendOrder, Meta(description="change: its size; needs compare_to.")] = "amount"
    splits: Annotated[Splits, Meta(description="Before or after shared-cost splits.")] = "before"
    spread: Annotated[
        Literal["none", "charge_period"], Meta(description="Monthly charges (tax, seats) evenly by day.")
    ] = "none"
    measure: Annotated[
        Measure, Meta(description="cost is in the basis; quantities have a unit, not a currency.")
    ] = "cost"


def read_period(name: str | None) -> Period | None:
    """The named period meant, kindly read (`Last month`); None for none. Raises UserError with the nearest."""
    if not name:
        return None
    folded = name.strip().lower().replace(" ", "_").replace("-", "_")
    period = PERIOD_ALIASES.get(folded, folded)
    if period not in PERIODS:
        raise unknown_value("period", name[:60], PERIODS, show=str)
    return cast(Period, period)


Q = TypeVar("Q", bound=UrlQuery)

_DAYS = ("period", "start_date", "end_date")


def query_from_params(params: Mapping[str, Sequence[str]], first: Q) -> Q:
    """The question of a page's URL, its days said: the form has to show which ones are meant. `first` where it has none."""
    kind = type(first)
    if not any(name in kind.__struct_fields__ or name == "f0" for name in params):
        return first
    query = kind.from_params(params)
    return query if any(getattr(query, name) for name in _DAYS) else replace(query, period=DEFAULT_PERIOD)


_FILTER_NAME = re.compile(r"([fu])(\d{1,3})")


def _field_value(field: msgspec.structs.FieldInfo, values: list[str]) -> str | list[str]:
    return values if field.default_factory is list else values[-1]


def _filters_from(params: Mapping[str, Sequence[str]], letter: str) -> list[dict[str, Any]]:
    numbered = []
    for name in params:
        match = _FILTER_NAME.fullmatch(name)
        if match and match[1] == letter and any(params[name]):
            numbered.append((int(match[2]), name))
    return [_filter_from(params, name) for _, name in sorted(numbered)]


def _filter_from(params: Mapping[str, Sequence[str]], name: str) -> dict[str, Any]:
    dimension = [value for value in params[name] if value]
    op = [value for value in params.get(f"{name}op", ()) if value]
    values = [value for value in params.get(f"{name}v", ()) if value != ""]
    return {"dimension": dimension[-1], "op": op[-1] if op else "in", "values": values}
