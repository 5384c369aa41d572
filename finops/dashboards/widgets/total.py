"""A widget of the total in each currency, with its trend and its change."""

from __future__ import annotations

from finops.costs.queries.spend import query_days
from finops.costs.spend_query import CompareTo, SpendQuery, Splits
from finops.dashboards.widget_type import CostConfig, SpendWidget, WidgetContext
from finops.lib.periods import Granularity

MAX_SPARK_DAYS = 92


class TotalConfig(CostConfig, frozen=True, kw_only=True):
    __doc__ = None
    compare_to: CompareTo = "previous_period"
    splits: Splits = "before"


class TotalWidget(SpendWidget[TotalConfig]):
    name = "total"
    title = "Total with change"
    description = "Total with trend and change."
    config = TotalConfig
    order, width, height = 30, 3, 3

    def query(self, context: WidgetContext[TotalConfig]) -> SpendQuery:
        """Return the question with a series for its trend: by day, or by month if there are too many days."""
        compare_to = context.config.compare_to
        days = query_days(context.account, context.spend_query(compare_to=compare_to)).days
        granularity: Granularity = "day" if days <= MAX_SPARK_DAYS else "month"
        return context.spend_query(compare_to=compare_to, granularity=granularity)
