"""Steps from one question of the cost explorer to the next: narrower, wider, other days. Each step is a complete
question, so its link is the URL of that question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Self, TypeVar
from urllib.parse import urlencode

from msgspec.structs import replace

from finops.costs.dimension_names import plain_name
from finops.costs.spend_query import MAX_FILTERS, MAX_TOP, CompareTo, Filter, Period, SpendQuery
from finops.lib.periods import DateRange, Granularity
from finops.lib.url_query import UrlQuery

LADDER: Final = ("provider", "service", "usage_type", "resource")
"""The order of group dimensions of a drill-down. It ends at a resource."""

_SERVICE: Final = LADDER.index("service")
ZOOMED_TO_DAYS: Final[Mapping[str, int]] = {"week": 28, "month": 92}
"""The maximum of days that a range is shown by day, by the granularity in which it was selected."""

_BY_MONTH: Final = ("last_6_months", "last_12_months", "year_to_date")
_BY_DAY: Final = (
    "today",
    "yesterday",
    "last_7_days",
    "last_30_days",
    "last_week",
    "month_to_date",
    "last_month",
)


class FilteredQuery(UrlQuery, frozen=True, kw_only=True):
    """A question with filters on dimensions of cost."""

    filters: list[Filter] = []

    def with_complete_filters(self) -> Self:
        """Return the question without filters that have no values yet."""
        complete = [item for item in self.filters if item.values or item.op == "absent"]
        return replace(self, filters=complete)


Filtered = TypeVar("Filtered", bound=UrlQuery)


@dataclass(frozen=True)
class Crumb:
    """An earlier question of a drill-down. `dimension` and `value` are empty for the first."""

    dimension: str
    value: str
    query: SpendQuery


def url_of(query: UrlQuery) -> str:
    """The query string, with its question mark."""
    return "?" + urlencode(query.to_params(), doseq=True)


def pinned_values(query: SpendQuery) -> dict[str, str]:
    """Return the dimensions that the filters restrict to one value, in the order of the filters."""
    return _pins_of(query.filters)


def narrow(filters: Sequence[Filter], group: Mapping[str, str]) -> list[Filter]:
    """Return filters that select only this group. Each of its dimensions has one filter afterwards: the group passed
    the previous ones, so its value implies them."""
    names = set(map(plain_name, group))
    pinned, own = _pins_of(filters), [item for item in filters if plain_name(item.dimension) in names]
    if len(own) == len(group) and all(pinned.get(plain_name(name)) == value for name, value in group.items()):
        return list(filters)
    other_filters = [item for item in filters if plain_name(item.dimension) not in names]
    return [*other_filters, *(Filter(dimension=name, values=[value]) for name, value in group.items())]


def finer_groups(filters: Sequence[Filter], group: Mapping[str, str]) -> list[str]:
    """Return the first step of the ladder below all dimensions in filters or group; none below a resource."""
    dimensions = {*_pins_of(filters), *map(plain_name, group)}
    places = [LADDER.index(name) for name in dimensions if name in LADDER]
    below = max(places) + 1 if places else _SERVICE
    return [LADDER[below]] if below < len(LADDER) else []


def drill_down(query: SpendQuery, group: Mapping[str, str]) -> SpendQuery | None:
    """Return the question narrowed to a row's group and grouped by a finer dimension; without groups at a resource.

    None if the result would be the same question, or have more filters than a question may.
    """
    filters = narrow(query.filters, group)
    groups = finer_groups(filters, group)
    if len(filters) > MAX_FILTERS or (filters == query.filters and groups in ([], query.group_by)):
        return None
    granularity: Granularity = "day" if query.granularity == "none" else query.granularity
    return replace(query, filters=filters, group_by=groups, granularity=granularity)


def crumbs(query: SpendQuery) -> list[Crumb]:
    """Return the questions of a drill-down, widest first, up to this one; empty if no filter selects one value."""
    pins = [item for item in query.filters if _is_pin(item)]
    if not pins:
        return []
    other_filters = [item for item in query.filters if not _is_pin(item)]
    way = [Crumb("", "", replace(query, filters=other_filters, group_by=[pins[0].dimension]))]
    for index, pin in enumerate(pins):
        is_last = index == len(pins) - 1
        groups = query.group_by if is_last else [pins[index + 1].dimension]
        filters = [*other_filters, *pins[: index + 1]]
        way.append(Crumb(pin.dimension, pin.values[0], replace(query, filters=filters, group_by=groups)))
    return way


def without_filter(query: Filtered, index: int) -> Filtered:
    """The question, which has `filters`, without one of them."""
    filters: list[Filter] = query.filters  # type: ignore[attr-defined]
    return replace(query, filters=[item for place, item in enumerate(filters) if place != index])


def with_period(query: SpendQuery, period: Period) -> SpendQuery:
    """Return the question for a named period, long ones by month and short ones by day."""
    granularity = query.granularity
    if granularity in ("day", "week") and period in _BY_MONTH:
        granularity = "month"
    if granularity == "month" and period in _BY_DAY:
        granularity = "day"
    return replace(query, period=period, start_date=None, end_date=None, granularity=granularity)


def with_days(query: SpendQuery, start: date, end: date) -> SpendQuery:
    """Return the question for these days, by day if they are few weeks or months."""
    days = (end - start).days + 1
    is_few = days <= ZOOMED_TO_DAYS.get(query.granularity, 0)
    granularity: Granularity = "day" if is_few else query.granularity
    return replace(query, period=None, start_date=start, end_date=end, granularity=granularity)


def with_data(query: SpendQuery, requested: DateRange, data: DateRange) -> SpendQuery | None:
    """Return the question for as many days, the newest with data; None if the requested days have data."""
    if requested.start <= data.end and data.start <= requested.end:
        return None
    start = max(data.start, data.end - timedelta(days=requested.days - 1))
    return replace(query, period=None, start_date=start, end_date=data.end)


def compared_to(query: SpendQuery, compare_to: CompareTo) -> SpendQuery:
    """Return the question with another comparison; without one, rows are sorted by amount."""
    order_by = "amount" if compare_to == "none" else query.order_by
    return replace(query, compare_to=compare_to, order_by=order_by)


def with_all_groups(query: SpendQuery) -> SpendQuery | None:
    """Return the question with the maximum number of groups; None if it lists all already."""
    return replace(query, limit=MAX_TOP) if query.limit < MAX_TOP else None


def _is_pin(item: Filter) -> bool:
    return item.op == "in" and len(item.values) == 1


def _pins_of(filters: Sequence[Filter]) -> dict[str, str]:
    return {plain_name(item.dimension): item.values[0] for item in filters if _is_pin(item)}
