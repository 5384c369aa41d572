"""A page with a question about cost: the choices of its form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar, Final, Generic, TypeVar

from django.urls import reverse

from accounts.page_access import AccountRequest
from finops.costs.dimensions import registry
from finops.costs.queries.cost_view import ALL, CHARGE_CATEGORIES
from finops.costs.spend_query import MAX_GROUPS
from finops.costs.views.choices import (
    BASES,
    COMPARISONS,
    GRANULARITIES,
    OPS,
    PERIODS,
    SPLITS,
    TOPS,
    DimensionChoices,
    dimension_choices,
)
from finops.costs.views.filter_row import filter_row, value_labels
from finops.exchange_rates.csv_columns import CsvRow, OriginalAmounts, original_amounts
from finops.exchange_rates.pages import display_of_page
from finops.lake import queries as lake_queries
from finops.lib.query_page import QueryPage
from finops.lib.url_query import UrlQuery

COST_OPTIONS: Final = ("basis", "charge_categories", "limit")
"""Fields that every page with Options has there."""

Query = TypeVar("Query", bound=UrlQuery)
Answer = TypeVar("Answer")


class CostQueryPage(QueryPage[AccountRequest, Query, Answer], Generic[Query, Answer]):
    """A page whose form has filters on dimensions of cost. Subclasses declare what differs from the cost explorer."""

    max_groups: ClassVar[int] = MAX_GROUPS
    options: ClassVar[tuple[str, ...]] = ()
    """URL parameters of the fields behind the button Options. Empty: the page has no such button."""
    listed: ClassVar[str] = "Groups listed"
    """The label of the field `limit`."""
    own_choices: ClassVar[Mapping[str, Any]] = {}
    filters_title: ClassVar[str] = "Filters"
    add_filter: ClassVar[str] = "Add filter"
    _dimensions: DimensionChoices | None = None

    def groups(self, query: Query) -> list[str]:
        """Return the dimensions that the form shows as groups."""
        return query.to_params().get("group_by", [])

    def dimensions(self, query: Query) -> DimensionChoices:
        """The dimensions to group and filter by. One query per page."""
        if self._dimensions is None:
            selected = [*self.groups(query), *query.filtered_dimensions()]
            keys = lake_queries.tag_keys(self.request.account)
            self._dimensions = dimension_choices(registry.kinds(), keys, selected)
        return self._dimensions

    def filter_row(self, query: Query, params: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return the row of filters. Costs as `value_labels`."""
        dimensions = self.dimensions(query)
        labels = value_labels(self.request.account, getattr(query, "filters", []), query)
        return {
            "filter_row": filter_row(query, dimensions, labels, params),
            "changed_options": self.changed_options(params),
            "filters_title": self.filters_title,
            "add_filter": self.add_filter,
            "dimensions": dimensions,
            "ops": OPS,
            "values_url": reverse("dimension_values", args=[self.request.account.slug]),
        }

    def changed_options(self, params: Mapping[str, list[str]]) -> int | None:
        """Return how many fields behind Options differ from the page's first query; None without such fields."""
        first = self.first_query.to_params()
        return sum(params.get(name) != first.get(name) for name in self.options) if self.options else None

    def choices(self, query: Query) -> dict[str, Any]:
        account, params, groups = self.request.account, query.to_params(), self.groups(query)
        categories = params.get("charge_categories", [])
        return {
            "values_url": reverse("dimension_values", args=[account.slug]),
            "dimensions": self.dimensions(query),
            "group_fields": list(enumerate([*groups, *[""] * MAX_GROUPS][: self.max_groups], start=1)),
            "periods": PERIODS,
            "granularities": GRANULARITIES,
            "bases": BASES,
            "comparisons": COMPARISONS,
            "splits": SPLITS,
            "categories": CHARGE_CATEGORIES,
            "ticked": CHARGE_CATEGORIES if ALL in categories else categories,
            "ops": OPS,
            "tops": TOPS,
            "listed": self.listed,
            **self.own_choices,
        }

    def original_amounts(
        self,
        query: Query,
        answer: Answer,
        figures: Sequence[str],
        rows: Callable[[Answer], Iterable[CsvRow]],
        days: tuple[date, date],
    ) -> OriginalAmounts:
        """Return CSV columns of original amounts. Raises UserError. Cost: `finops.exchange_rates.csv_columns`."""
        return original_amounts(
            display_of_page(self.request), days, figures, answer, ask=lambda: self.all_rows(query), rows=rows
        )
