"""The filters of a widget's form as chips, as in the cost explorer. A change of theirs is asked of the form's page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from accounts.models import Account
from finops.costs.explorer_steps import FilteredQuery
from finops.costs.spend_query import Filter
from finops.costs.views.choices import DimensionChoices
from finops.costs.views.explorer_toolbar import FilterChip, filter_chips, hidden_fields
from finops.dashboards.board_toolbar import labels_of_board
from finops.dashboards.widget_type import BoardQuery, Config


class WidgetFilters(FilteredQuery, frozen=True, kw_only=True):
    """What the URL of a widget's form says. `draft`: the filters are the URL's, and not those of the settings."""

    type: str = ""
    draft: Literal["", "1"] = ""


@dataclass(frozen=True)
class WidgetToolbar:
    """As that of the cost explorer. `form_fields` are those of the filters in the form that is saved."""

    chips: list[FilterChip]
    new_filter: int
    hidden_of_filters: list[tuple[str, str]]
    form_fields: list[tuple[str, str]]


def filters_of(config: Config | None) -> list[Filter]:
    """Those of a widget's settings."""
    filters: list[Filter] = list(getattr(config, "filters", []))
    return filters


def widget_toolbar(account: Account, query: WidgetFilters, dimensions: DimensionChoices) -> WidgetToolbar:
    """As costly as `labels_of_board`."""
    of_url = WidgetFilters(type=query.type, draft="1", filters=query.filters)
    labels = labels_of_board(account, BoardQuery(filters=query.filters))
    return WidgetToolbar(
        chips=filter_chips(of_url, dimensions, labels),
        new_filter=len(query.filters),
        hidden_of_filters=hidden_fields(of_url.to_params(), ()),
        form_fields=hidden_fields(WidgetFilters(filters=query.filters).to_params(), ()),
    )
