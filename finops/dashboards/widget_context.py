"""What a widget asks: its settings, and the days and filters of the board that it stands on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any, Generic, TypeVar

from accounts.models import Account
from finops.costs.spend_query import CostFilter, Period, SpendQuery
from finops.dashboards.board_query import BoardQuery
from finops.dashboards.configs import Config, CostConfig, DatedConfig

C = TypeVar("C", bound=Config)
Dated = TypeVar("Dated", bound=DatedConfig)


@dataclass(frozen=True)
class WidgetContext(Generic[C]):
    """`deadline` is a `time.monotonic()` moment."""

    account: Account
    config: C
    board: BoardQuery = field(default_factory=BoardQuery)
    deadline: float | None = None


@dataclass(frozen=True)
class Days:
    """A named period, or two dates."""

    period: Period | None
    start_date: date | None
    end_date: date | None

    def as_fields(self) -> dict[str, Any]:
        return {"period": self.period, "start_date": self.start_date, "end_date": self.end_date}


def days_of(context: WidgetContext[Dated]) -> Days:
    """The board's where it has any, else the widget's own."""
    board = context.board
    if board.has_days:
        return Days(board.period, board.start_date, board.end_date)
    return Days(context.config.period, None, None)


def filters_of(context: WidgetContext[Any]) -> list[CostFilter]:
    """The widget's and the board's, joined by and."""
    of_board = [
        CostFilter(dimension=item.dimension, op=item.op, values=item.values) for item in context.board.filters
    ]
    return [*context.config.filters, *of_board]


def spend_of(context: WidgetContext[Any], **rest: Any) -> SpendQuery:
    """The question about spend that a widget of cost asks; `rest` are its other fields."""
    config: CostConfig = context.config
    return SpendQuery(
        filters=list(filters_of(context)),
        basis=config.basis,
        splits=getattr(config, "splits", "before"),
        **days_of(context).as_fields(),
        **rest,
    )
