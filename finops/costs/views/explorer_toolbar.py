"""The toolbar above the cost explorer's chart: days, filters as chips, path of a drill-down. Links are questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from finops.costs import explorer_steps
from finops.costs.spend_query import Filter, SpendQuery
from finops.costs.views.choices import COMPARISONS, OPS, PERIODS, DimensionChoices
from finops.lib.url_query import UrlQuery

DATE_FIELDS: Final = ("period", "start_date", "end_date")
OPTIONS: Final = ("measure", "basis", "splits", "order_by", "limit", "spread", "charge_categories")
CUSTOM_RANGE: Final = "Custom range"
MAX_CHIP_VALUES: Final = 2


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    is_current: bool = False


@dataclass(frozen=True)
class FilterChip:
    """A filter in display form, and the form that changes it. `hidden` are the other fields of its form."""

    index: int
    title: str
    op: str
    values: str
    filter: Filter
    options: list[tuple[str, str]]
    """The values of the filter with their labels."""
    remove_url: str
    hidden: list[tuple[str, str]]

    @property
    def text(self) -> str:
        return f"{self.title} {self.op} {self.values}".strip()


@dataclass(frozen=True)
class Toolbar:
    """The toolbar. `hidden_…` are the parts of the question that a form's own fields do not have."""

    period: str
    comparison: str
    periods: list[Link]
    comparisons: list[Link]
    chips: list[FilterChip]
    new_filter: int
    crumbs: list[Link]
    hidden_of_dates: list[tuple[str, str]]
    hidden_of_filters: list[tuple[str, str]]
    hidden_of_groups: list[tuple[str, str]]
    changed_options: int
    """The number of fields under Options that differ from their default."""


def toolbar(query: SpendQuery, dimensions: DimensionChoices, labels: Mapping[str, str]) -> Toolbar:
    """Return the toolbar. `labels` are labels of values that are ids."""
    params = query.to_params()
    return Toolbar(
        period=dict(PERIODS).get(query.period or "", CUSTOM_RANGE),
        comparison="" if query.compare_to == "none" else dict(COMPARISONS)[query.compare_to],
        periods=[_period_link(query, name, label) for name, label in PERIODS],
        comparisons=[_comparison_link(query, name, label) for name, label in COMPARISONS],
        chips=filter_chips(query, dimensions, labels),
        new_filter=len(query.filters),
        crumbs=_crumb_links(query, labels),
        hidden_of_dates=hidden_fields(params, DATE_FIELDS),
        hidden_of_filters=hidden_fields(params, ()),
        hidden_of_groups=[
            *hidden_fields(
                {name: params[name] for name in (*DATE_FIELDS, "compare_to") if name in params}, ()
            ),
            *hidden_fields(filter_params(params), ()),
        ],
        changed_options=sum(name in params for name in OPTIONS),
    )


def _period_link(query: SpendQuery, name: Any, label: str) -> Link:
    return Link(label, explorer_steps.url_of(explorer_steps.with_period(query, name)), query.period == name)


def _comparison_link(query: SpendQuery, name: Any, label: str) -> Link:
    url = explorer_steps.url_of(explorer_steps.compared_to(query, name))
    return Link(label, url, query.compare_to == name)


def filter_chips(
    query: UrlQuery,
    dimensions: DimensionChoices,
    labels: Mapping[str, str],
    params: Mapping[str, Sequence[str]] | None = None,
) -> list[FilterChip]:
    """Return the chips of a question's `filters`. `labels` are labels of values that are ids; `params` those of the
    page's URL, if it has more than the question."""
    titles = dict([*dimensions.plain, *dimensions.of_bill, *dimensions.tags])
    params = query.to_params() if params is None else params
    return [_chip(query, index, titles, labels, params) for index in range(len(query.filtered_dimensions()))]


def _chip(
    query: UrlQuery,
    index: int,
    titles: Mapping[str, str],
    labels: Mapping[str, str],
    params: Mapping[str, Sequence[str]],
) -> FilterChip:
    item: Filter = query.filters[index]  # type: ignore[attr-defined]
    options = [(value, labels.get(value, value)) for value in item.values]
    names = [name for _value, name in options[:MAX_CHIP_VALUES]]
    more = len(options) - len(names)
    own = (f"f{index}", f"f{index}op", f"f{index}v")
    wider_query = explorer_steps.without_filter(query, index)
    other_params = {name: values for name, values in params.items() if not _is_of_filter(name)}
    return FilterChip(
        index=index,
        title=titles.get(item.dimension, item.dimension),
        op=dict(OPS)[item.op],
        values=", ".join(names) + (f" +{more}" if more else ""),
        filter=item,
        options=options,
        remove_url="?" + urlencode({**other_params, **filter_params(wider_query.to_params())}, doseq=True),
        hidden=hidden_fields(params, own),
    )


def _crumb_links(query: SpendQuery, labels: Mapping[str, str]) -> list[Link]:
    way = explorer_steps.crumbs(query)
    return [
        Link(
            labels.get(crumb.value, crumb.value) or "All cost",
            explorer_steps.url_of(crumb.query),
            index == len(way) - 1,
        )
        for index, crumb in enumerate(way)
    ]


def _is_of_filter(name: str) -> bool:
    return name[:1] == "f" and name[1:2].isdigit()


def filter_params(params: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the parameters of the filters only."""
    return {name: values for name, values in params.items() if _is_of_filter(name)}


def hidden_fields(params: Mapping[str, Sequence[str]], own: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts of a question that a form keeps as hidden fields; `own` are its own fields."""
    return [(name, value) for name, values in params.items() if name not in own for value in values]
