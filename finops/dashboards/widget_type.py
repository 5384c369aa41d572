"""The interface of a widget type. Each type is a module of `widgets/` with one subclass of `WidgetType`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from accounts.models import Account
from finops.costs.explorer_steps import FilteredQuery
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend import resolve_query
from finops.costs.spend_query import (
    DEFAULT_PERIOD,
    MAX_FILTERS,
    BasisName,
    CostFilter,
    Period,
    SpendQuery,
    Splits,
)

Bucket = Literal["day", "week", "month"]
ListLength = Annotated[int, Meta(ge=1, le=25)]
Dimension = Annotated[str, Meta(min_length=1, max_length=200)]
Dimensions = Annotated[list[Dimension], Meta(max_length=1)]
OneDimension = Annotated[list[Dimension], Meta(min_length=1, max_length=1)]
Filters = Annotated[list[CostFilter], Meta(max_length=MAX_FILTERS)]
Name = Annotated[str, Meta(max_length=255)]
Choices = Sequence[tuple[Any, str]]


def by_service() -> list[str]:
    """The default of groups that are not the total."""
    return ["service"]


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The settings of a widget; all have defaults but those that say what it is of. Their JSON schemas go to assistants
    (`listWidgetTypes`), so they are terse."""


class DatedConfig(Config, frozen=True, kw_only=True):
    """`period` counts where the board has no days of its own."""

    period: Period = DEFAULT_PERIOD


class CostConfig(DatedConfig, frozen=True, kw_only=True):
    """Of cost; the board's filters narrow it further."""

    filters: Filters = []
    basis: BasisName | None = None


C = TypeVar("C", bound=Config)
Cost = TypeVar("Cost", bound=CostConfig)


class BoardQuery(FilteredQuery, frozen=True, kw_only=True):
    """The state in a board's URL: days and filters for all its widgets. Without days, each widget has its own."""

    start_date: date | None = None
    end_date: date | None = None
    period: Period | None = None

    @property
    def has_days(self) -> bool:
        return bool(self.period or self.start_date or self.end_date)


@dataclass(frozen=True)
class WidgetContext(Generic[C]):
    """A widget's settings, and the days and filters of its board. `deadline` is a `time.monotonic()` time."""

    account: Account
    config: C
    board: BoardQuery = field(default_factory=BoardQuery)
    deadline: float | None = None

    @property
    def days(self) -> dict[str, Any]:
        """Return the board's days if it has any, else the widget's own period, as fields of a query."""
        board = self.board
        if board.has_days:
            return {"period": board.period, "start_date": board.start_date, "end_date": board.end_date}
        return {"period": getattr(self.config, "period", None)}

    @property
    def filters(self) -> list[CostFilter]:
        """Return the widget's and the board's filters, which must all match."""
        own: list[CostFilter] = getattr(self.config, "filters", [])
        of_board = [
            CostFilter(dimension=item.dimension, op=item.op, values=item.values)
            for item in self.board.filters
        ]
        return [*own, *of_board]

    def spend_query(self, **fields: Any) -> SpendQuery:
        """Return the question about spend with the widget's days, filters, basis and splits; `fields`: other fields."""
        basis: BasisName | None = getattr(self.config, "basis", None)
        splits: Splits = getattr(self.config, "splits", "before")
        return SpendQuery(filters=list(self.filters), basis=basis, splits=splits, **self.days, **fields)


@dataclass(frozen=True)
class CheckContext:
    """Data that the checks of one board share. `plans_ahead`: a usage metric may be named before it has usage."""

    account: Account
    plans_ahead: bool = False

    @cached_property
    def sources(self) -> Sources:
        return load_sources(self.account)

    def check_spend(self, query: SpendQuery) -> None:
        """Check the settings of a question about spend. Raises UserError for a dimension, a filter or a basis that
        the account does not have."""
        resolve_query(self.account, query, self.sources)


@dataclass(frozen=True)
class Setting:
    """A setting as a form field. `kind`: select, dimension, dimensions, checks, number, text or textarea; `first`:
    the label of the empty choice; `may_be_empty`: an empty text is a value, while other empty fields count as not
    filled in."""

    name: str
    label: str
    kind: str = "text"
    choices: Choices | Callable[[], Choices] = ()
    first: str = ""
    help: str = ""
    may_be_empty: bool = False
    value: Any = ""

    @property
    def group_fields(self) -> list[tuple[int, str]]:
        """Return the two fields of `dimensions`."""
        return list(enumerate([*(self.value or ["service"]), "", ""][:2], start=1))


def word_choices(values: Iterable[str]) -> Choices:
    """Return the values of a Literal with their labels."""
    return [(value, value.replace("_", " ").capitalize()) for value in values]


def name_choices(values: Iterable[str]) -> Choices:
    """Return names that users gave, unchanged."""
    return [(value, value) for value in values]


class WidgetType(ABC, Generic[C]):
    """A type of widget. Its template is `dashboards/widgets/<name>.html`. `order` is its place in the catalogue;
    width in columns and height in rows are its default size; `page` is the name of the page that shows the same in
    detail; `settings` are the fields of its form that `setting_fields.COMMON` does not have. A type without
    `has_data` runs no query, so a board's days and filters do not apply to it; one with `has_markers` shows change
    events on its chart."""

    name: str
    title: str
    description: str
    config: type[C]
    order: int
    width: int
    height: int
    page: str = ""
    settings: tuple[Setting, ...] = ()
    has_data: bool = True
    has_markers: bool = False

    @property
    def template(self) -> str:
        return f"dashboards/widgets/{self.name}.html"

    @property
    def takes_days(self) -> bool:
        return issubclass(self.config, DatedConfig)

    @property
    def takes_filters(self) -> bool:
        return "filters" in self.config.__struct_fields__

    def read_config(self, settings: Mapping[str, Any]) -> C:
        """Return stored settings, which were validated when they were stored."""
        return msgspec.convert(settings, self.config, strict=False)

    def check(self, config: C, context: CheckContext) -> None:
        """Check the names in the settings. Raises UserError for names that the account does not have. No lake query."""

    @abstractmethod
    def read(self, context: WidgetContext[C]) -> dict[str, Any]:
        """Return the template's context, whose `params` are those of the page with the same question. Accuracy, cost
        and UserError as of the query that it calls."""


class SpendWidget(WidgetType[Cost]):
    """A widget with a question of the cost explorer."""

    page = "cost_explorer"

    @abstractmethod
    def query(self, context: WidgetContext[Cost]) -> SpendQuery: ...

    def check(self, config: Cost, context: CheckContext) -> None:
        context.check_spend(self.query(WidgetContext(context.account, config)))

    def read(self, context: WidgetContext[Cost]) -> dict[str, Any]:
        query = self.query(context)
        answer = query_spend(context.account, query, deadline=context.deadline)
        return {"answer": answer, "params": query.to_params()}
