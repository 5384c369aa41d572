"""The filters of a question about cost as a row of chips, on pages whose other fields are in a form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend import filter_labels
from finops.costs.spend_query import Filter, SpendQuery
from finops.costs.views.choices import DimensionChoices
from finops.costs.views.explorer_toolbar import FilterChip, filter_chips, filter_params, hidden_fields
from finops.lib.errors import UserError
from finops.lib.url_query import UrlQuery


@dataclass(frozen=True)
class FilterRow:
    """The chips, and the form of a new filter. `form_fields` are the filters' fields in the page's form."""

    chips: list[FilterChip]
    new_filter: int
    hidden_of_filters: list[tuple[str, str]]
    form_fields: list[tuple[str, str]]


def filter_row(
    query: UrlQuery,
    dimensions: DimensionChoices,
    labels: Mapping[str, str],
    params: Mapping[str, Sequence[str]] | None = None,
) -> FilterRow:
    """Return the row. `labels` are of values that are ids; `params` of the page's URL, if it has more parts."""
    params = query.to_params() if params is None else params
    chips = filter_chips(query, dimensions, labels, params)
    return FilterRow(
        chips=chips,
        new_filter=len(chips),
        hidden_of_filters=hidden_fields(params, ()),
        form_fields=hidden_fields(filter_params(params), ()),
    )


def value_labels(account: Account, filters: list[Filter], days: UrlQuery | None = None) -> dict[str, str]:
    """Return labels of filter values, over the days of a question that has days. One lake query if values may be ids,
    and those of `load_sources`; none without filters. Empty for an invalid question: its answer gives the error."""
    if not filters:
        return {}
    names = ("period", "start_date", "end_date") if hasattr(days, "start_date") else ()
    spend = SpendQuery(filters=filters, **{name: getattr(days, name) for name in names})
    try:
        return filter_labels(account, spend, load_sources(account))
    except UserError:
        return {}
