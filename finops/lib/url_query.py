"""Queries in a page's URL: one struct for each query, with its fields and filters as URL parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

import msgspec
from msgspec.structs import replace

from finops.lib.params import fields_of, from_text
from finops.lib.periods import DEFAULT_PERIOD, Period

FILTER_PARAMS = {"filters": "f", "usage_filters": "u"}
"""Lists of filters, with the letter that their URL parameters begin with."""

_DAYS = ("period", "start_date", "end_date")
_FILTER_NAME = re.compile(r"([fu])(\d{1,3})")


class UrlQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query in a page's URL. A filter has a `dimension`, its `values`, and where it can have one an `op`."""

    @classmethod
    def from_params(cls, params: Mapping[str, Sequence[str]]) -> Self:
        """Return the query of a URL: `dict(request.GET.lists())`. Unknown names and empty values are ignored.

        Filters are f0, f0op, f0v, f1 …: dimension, op, values; of usage u0, u0v …. Raises UserError that names the parameter.
        """
        return from_text(cls.raw_fields(params), cls)

    @classmethod
    def raw_fields(cls, params: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the texts of the fields that a URL names."""
        raw: dict[str, Any] = {}
        for field in fields_of(cls):
            values = [value for value in params.get(field.encode_name, ()) if value != ""]
            if values and field.name not in FILTER_PARAMS:
                raw[field.encode_name] = values if field.default_factory is list else values[-1]
        for name, letter in FILTER_PARAMS.items():
            if name in cls.__struct_fields__:
                raw[name] = _filters_from(params, letter)
        return raw

    def to_params(self) -> dict[str, list[str]]:
        """Return the URL parameters of this query; `from_params` returns an equal query for them. Defaults are left out."""
        params: dict[str, list[str]] = {}
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if field.name in FILTER_PARAMS or value in (None, [], field.default):
                continue
            params[field.encode_name] = (
                [str(item) for item in value] if isinstance(value, list) else [str(value)]
            )
        for name, letter in FILTER_PARAMS.items():
            for index, item in enumerate(getattr(self, name, ())):
                params[f"{letter}{index}"] = [item.dimension]
                params[f"{letter}{index}op"] = [item.op] if hasattr(item, "op") else []
                params[f"{letter}{index}v"] = list(item.values)
        return {name: values for name, values in params.items() if values}

    def filtered_dimensions(self) -> list[str]:
        """The dimensions of `filters`."""
        return [item.dimension for item in getattr(self, "filters", ())]


Query = TypeVar("Query", bound=UrlQuery)


def query_from_params(
    params: Mapping[str, Sequence[str]], first: Query, *, default_period: Period | None = DEFAULT_PERIOD
) -> Query:
    """Return the query of a page's URL; `first` where it has none. Raises UserError that names the parameter.

    A query without days gets the default period: the form has to show which days are meant.
    """
    kind = type(first)
    if not any(name in kind.__struct_encode_fields__ or name == "f0" for name in params):
        return first
    query = kind.from_params(params)
    if default_period is None or any(getattr(query, name, None) for name in _DAYS):
        return query
    return replace(query, period=default_period)


def _filters_from(params: Mapping[str, Sequence[str]], letter: str) -> list[dict[str, Any]]:
    """Return the filters in the order of their numbers."""
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
