"""The filters of a widget's form as chips, as in the cost explorer. A change reloads the form's page."""

from __future__ import annotations

from typing import Literal

from accounts.models import Account
from finops.costs.explorer_steps import FilteredQuery
from finops.costs.spend_query import Filter
from finops.costs.views.choices import DimensionChoices
from finops.costs.views.filter_row import FilterRow, filter_row, value_labels
from finops.dashboards.widget_type import Config


class WidgetFilters(FilteredQuery, frozen=True, kw_only=True):
    """The state in the URL of a widget's form. `draft`: the filters come from the URL, not from the settings."""

    type: str = ""
    draft: Literal["", "1"] = ""


def filters_of(config: Config | None) -> list[Filter]:
    """Return the filters of a widget's settings."""
    filters: list[Filter] = list(getattr(config, "filters", []))
    return filters


def widget_filter_row(account: Account, query: WidgetFilters, dimensions: DimensionChoices) -> FilterRow:
    """Return the row of filters. Costs as `value_labels`."""
    of_url = WidgetFilters(type=query.type, draft="1", filters=query.filters)
    return filter_row(of_url, dimensions, value_labels(account, query.filters))
