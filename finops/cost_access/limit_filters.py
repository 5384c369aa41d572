"""The filters of a limit in the URL of its form: one row of chips for each alternative.

Filter n of alternative k has the number 20 k + n, so that a filter can be added to a row without renumbering the
others.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from accounts.models import Account
from finops.cost_access.services import MAX_ALTERNATIVES
from finops.costs.explorer_steps import FilteredQuery
from finops.costs.spend_query import MAX_FILTERS, CostFilter, Filter
from finops.costs.views.choices import DimensionChoices
from finops.costs.views.explorer_toolbar import hidden_fields
from finops.costs.views.filter_row import FilterRow, filter_row, value_labels

Params = Mapping[str, Sequence[str]]
Rows = Sequence[Sequence[CostFilter]]

DRAFT: Final = "draft"
"""Marks a URL whose filters are those of the form, not the stored ones."""
_NUMBER = re.compile(r"f(\d{1,3})(op|v)?")


class AlternativeFilters(FilteredQuery, frozen=True, kw_only=True):
    """The filters of one alternative."""


def alternatives_from(params: Params) -> list[list[CostFilter]]:
    """The alternatives of a form or URL. Filters without a value are left out, as in the cost explorer. Raises
    UserError."""
    groups: dict[int, dict[str, Sequence[str]]] = {}
    for name, values in params.items():
        match = _NUMBER.fullmatch(name)
        if match:
            number = int(match[1])
            own = f"f{number % MAX_FILTERS}{match[2] or ''}"
            groups.setdefault(number // MAX_FILTERS, {})[own] = values
    read = (AlternativeFilters.from_params(groups[key]).with_complete_filters() for key in sorted(groups))
    alternatives = [
        [msgspec.convert(item, CostFilter, from_attributes=True) for item in each.filters] for each in read
    ]
    return [filters for filters in alternatives if filters]


def params_of(alternatives: Rows) -> dict[str, list[str]]:
    """The URL parameters from which `alternatives_from` returns the same alternatives."""
    params: dict[str, list[str]] = {DRAFT: ["1"]}
    for at, filters in enumerate(alternatives):
        for place, item in enumerate(filters):
            name = f"f{at * MAX_FILTERS + place}"
            params |= {name: [item.dimension], f"{name}op": [item.op]}
            if item.values:
                params[f"{name}v"] = list(item.values)
    return params


def alternative_rows(account: Account, alternatives: Rows, dimensions: DimensionChoices) -> list[FilterRow]:
    """The chips of each alternative, and an empty row to add one. Costs as much as `value_labels`."""
    params = params_of(alternatives)
    every: list[Filter] = [item for filters in alternatives for item in filters]
    labels = value_labels(account, every)
    rows = [*alternatives, []] if len(alternatives) < MAX_ALTERNATIVES else list(alternatives)
    return [_row(at, rows, params, dimensions, labels) for at in range(len(rows))]


def _row(
    at: int, rows: Rows, params: Params, dimensions: DimensionChoices, labels: Mapping[str, str]
) -> FilterRow:
    row = filter_row(AlternativeFilters(filters=list(rows[at])), dimensions, labels)
    first = at * MAX_FILTERS
    chips = []
    for place, chip in enumerate(row.chips):
        name = f"f{first + place}"
        other_filters = [
            [item for index, item in enumerate(filters) if (number, index) != (at, place)]
            for number, filters in enumerate(rows)
        ]
        left = params_of([filters for filters in other_filters if filters])
        chips.append(
            dataclasses.replace(
                chip,
                index=first + place,
                hidden=hidden_fields(params, (name, f"{name}op", f"{name}v")),
                remove_url=f"?{urlencode(left, doseq=True)}",
            )
        )
    return FilterRow(chips, first + len(chips), hidden_fields(params, ()), [])
