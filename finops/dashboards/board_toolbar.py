"""The toolbar above a board: days for all its widgets, and filters as chips, as in the cost explorer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from finops.costs import explorer_steps
from finops.costs.views.choices import PERIODS, DimensionChoices
from finops.costs.views.explorer_toolbar import (
    CUSTOM_RANGE,
    DATE_FIELDS,
    FilterChip,
    Link,
    filter_chips,
    hidden_fields,
)
from finops.dashboards.widget_type import BoardQuery

OWN_DAYS = "Period of each widget"


@dataclass(frozen=True)
class BoardToolbar:
    """A toolbar like that of the cost explorer, without a comparison."""

    period: str
    periods: list[Link]
    chips: list[FilterChip]
    new_filter: int
    hidden_of_dates: list[tuple[str, str]]
    hidden_of_filters: list[tuple[str, str]]
    comparison: str = ""
    comparisons: list[Link] = field(default_factory=list)


def board_toolbar(query: BoardQuery, dimensions: DimensionChoices, labels: Mapping[str, str]) -> BoardToolbar:
    """Return the toolbar. `labels` are labels of values that are ids."""
    params = query.to_params()
    without_days = replace(query, period=None, start_date=None, end_date=None)
    own = Link(OWN_DAYS, explorer_steps.url_of(without_days), not query.has_days)
    presets = [
        Link(label, explorer_steps.url_of(replace(without_days, period=name)), query.period == name)
        for name, label in PERIODS
    ]
    return BoardToolbar(
        period=dict(PERIODS).get(query.period or "", CUSTOM_RANGE if query.has_days else OWN_DAYS),
        periods=[own, *presets],
        chips=filter_chips(query, dimensions, labels),
        new_filter=len(query.filters),
        hidden_of_dates=hidden_fields(params, DATE_FIELDS),
        hidden_of_filters=hidden_fields(params, ()),
    )
