"""A page that asks a question about cost: what the fields of its form offer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar, Generic, TypeVar

from django.urls import reverse

from accounts.doors import AccountRequest
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
    dimension_choices,
)
from finops.exchange_rates.csv_columns import CsvRow, OriginalAmounts, original_amounts
from finops.exchange_rates.pages import display_of_page
from finops.lake import queries as lake_queries
from finops.lib.query_page import QueryPage
from finops.lib.url_query import UrlQuery

Query = TypeVar("Query", bound=UrlQuery)
Answer = TypeVar("Answer")


class CostQueryPage(QueryPage[AccountRequest, Query, Answer], Generic[Query, Answer]):
    """The form has filters on dimensions of cost. A subclass declares what else it offers than the cost explorer."""

    max_groups: ClassVar[int] = MAX_GROUPS
    folded_fields: ClassVar[tuple[str, ...]] = ("basis", "charge_categories", "top")
    """Fields that the form hides while they have their default."""
    own_choices: ClassVar[Mapping[str, Any]] = {}

    def groups(self, query: Query) -> list[str]:
        """The dimensions that the form shows as grouped by."""
        return query.to_params().get("group_by", [])

    def choices(self, query: Query) -> dict[str, Any]:
        account, params, groups = self.request.account, query.to_params(), self.groups(query)
        categories = params.get("charge_categories", [])
        selected = [*groups, *query.filtered_dimensions()]
        return {
            "values_url": reverse("dimension_values", args=[account.slug]),
            "dimensions": dimension_choices(registry.kinds(), lake_queries.tag_keys(account), selected),
            "group_fields": list(enumerate([*groups, *[""] * MAX_GROUPS][: self.max_groups], start=1)),
            "periods": PERIODS,
            "granularities": GRANULARITIES,
            "bases": BASES,
            "comparisons": COMPARISONS,
            "splits": SPLITS,
            "categories": CHARGE_CATEGORIES,
            "ticked": CHARGE_CATEGORIES if ALL in categories else categories,
            "more": any(name in params for name in self.folded_fields),
            "ops": OPS,
            "tops": TOPS,
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
        """What a CSV has beside the converted amounts of `answer`. Raises UserError. Cost: `finops.exchange_rates.csv_columns`."""
        return original_amounts(
            display_of_page(self.request), days, figures, answer, ask=lambda: self.all_rows(query), rows=rows
        )
