"""A widget of unexpected cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta

from finops.costs.queries.spend import query_days
from finops.costs.spend_query import SpendQuery
from finops.dashboards.widget_type import (
    CheckContext,
    Config,
    ListLength,
    Name,
    Setting,
    WidgetContext,
    WidgetType,
    word_choices,
)
from finops.insights.anomalies.queries import list_anomalies
from finops.insights.anomalies.schemas import STATES, AnomaliesQuery, StateName
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError


class AnomaliesConfig(Config, frozen=True, kw_only=True):
    __doc__ = None
    status: StateName = "open"
    search: Annotated[Name, Meta(description="Part of a service, source or cause.")] = ""
    minimum_impact: Annotated[Decimal | None, Meta(description="In currency.")] = None
    currency: Annotated[str, Meta(description="Needed with minimum_impact.", max_length=3)] = ""
    limit: ListLength = 5


class AnomaliesWidget(WidgetType[AnomaliesConfig]):
    name = "anomalies"
    title = "Anomalies"
    description = "Unusual spend, most severe first."
    config = AnomaliesConfig
    order, width, height = 70, 4, 4
    page = "anomalies"
    settings = (
        Setting("status", "State", "select", word_choices(STATES)),
        Setting("search", "Search", may_be_empty=True),
        Setting("minimum_impact", "Minimum impact", "number"),
        Setting("currency", "Currency of the impact", may_be_empty=True),
    )

    @property
    def takes_days(self) -> bool:
        return True

    def check(self, config: AnomaliesConfig, context: CheckContext) -> None:
        """Check the settings. Raises UserError for a minimum impact without its currency, and for an invalid currency
        code."""
        if config.minimum_impact is not None and not config.currency:
            raise UserError("currency: set the currency of minimum_impact, such as USD.", field="currency")
        if config.currency:
            currency_code(config.currency)

    def read(self, context: WidgetContext[AnomaliesConfig]) -> dict[str, Any]:
        """Return anomalies with days in the board's days; all anomalies if the board has none."""
        config, board = context.config, context.board
        days: dict[str, Any] = {}
        if board.has_days:
            spend = SpendQuery(period=board.period, start_date=board.start_date, end_date=board.end_date)
            days_range = query_days(context.account, spend)
            days = {"start_date": days_range.start, "end_date": days_range.end}
        query = AnomaliesQuery(
            status=config.status,
            search=config.search,
            minimum_impact=config.minimum_impact,
            currency=config.currency,
            limit=config.limit,
            **days,
        )
        return {"answer": list_anomalies(context.account, query), "state": config.status}
