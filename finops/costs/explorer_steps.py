"""From one question of the cost explorer to the next: narrower, wider, other days. Each step is a whole question, so
that its link is its URL."""

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
"""What a drill-down groups by, one after the other. It ends at a resource."""

_SERVICE: Final = LADDER.index("service")
ZOOMED_TO_DAYS: Final[Mapping[str, int]] = {"week": 28, "month": 92}
"""Up to how many days a range is shown by day, by the granularity that it was chosen in."""

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
        """A filter that has no value yet asks nothing."""
        complete = [item for item in self.filters if item.values or item.op == "absent"]
        return replace(self, filters=complete)


Filtered = TypeVar("Filtered", bound=UrlQuery)


@dataclass(frozen=True)
class Crumb:
    """A question that a drill-down came through. `dimension` and `value` are empty for where it began."""

    dimension: str
    value: str
    query: SpendQuery


def url_of(query: UrlQuery) -> str:
    """The query string, with its question mark."""
    return "?" + urlencode(query.to_params(), doseq=True)


def pinned_values(query: SpendQuery) -> dict[str, str]:
    """The dimensions of which the filters leave one value, in the order of the filters."""
    return _pins_of(query.filters)


def narrow(filters: Sequence[Filter], group: Mapping[str, str]) -> list[Filter]:
    """The filters that leave a group alone. A dimension of it has one filter afterwards: the group passed the others, so
    its value says all that they said."""
    names = set(map(plain_name, group))
    pinned, own = _pins_of(filters), [item for item in filters if plain_name(item.dimension) in names]
    if len(own) == len(group) and all(pinned.get(plain_name(name)) == value for name, value in group.items()):
        return list(filters)
    kept = [item for item in filters if plain_name(item.dimension) not in names]
    return [*kept, *(Filter(dimension=name, values=[value]) for name, value in group.items())]


def finer_groups(filters: Sequence[Filter], group: Mapping[str, str]) -> list[str]:
    """The first step of the ladder below every one that filters or group have chosen; none below a resource."""
    chosen = {*_pins_of(filters), *map(plain_name, group)}
    places = [LADDER.index(name) for name in chosen if name in LADDER]
    below = max(places) + 1 if places else _SERVICE
    return [LADDER[below]] if below < len(LADDER) else []


def drill_down(query: SpendQuery, group: Mapping[str, str]) -> SpendQuery | None:
    """The question narrowed to a row's group and grouped by what is finer; without groups once a resource is chosen.

    None where that would ask the same again, or have more filters than a question may.
    """
    filters = narrow(query.filters, group)
    groups = finer_groups(filters, group)
    if len(filters) > MAX_FILTERS or (filters == query.filters and groups in ([], query.group_by)):
        return None
    granularity: Granularity = "day" if query.granularity == "none" else query.granularity
    return replace(query, filters=filters, group_by=groups, granularity=granularity)


def crumbs(query: SpendQuery) -> list[Crumb]:
    """The way of a drill-down, from the widest question to this one; empty where no filter leaves one value."""
    pins = [item for item in query.filters if _is_pin(item)]
    if not pins:
        return []
    others = [item for item in query.filters if not _is_pin(item)]
    way = [Crumb("", "", replace(query, filters=others, group_by=[pins[0].dimension]))]
    for index, pin in enumerate(pins):
        is_last = index == len(pins) - 1
        groups = query.group_by if is_last else [pins[index + 1].dimension]
        filters = [*others, *pins[: index + 1]]
        way.append(Crumb(pin.dimension, pin.values[0], replace(query, filters=filters, group_by=groups)))
    return way


def without_filter(query: Filtered, index: int) -> Filtered:
    """The question, which has `filters`, without one of them."""
    filters: list[Filter] = query.filters  # type: ignore[attr-defined]
    return replace(query, filters=[item for place, item in enumerate(filters) if place != index])


def with_period(query: SpendQuery, period: Period) -> SpendQuery:
    """Over a named period, long ones by month and short ones by day."""
    granularity = query.granularity
    if granularity in ("day", "week") and period in _BY_MONTH:
        granularity = "month"
    if granularity == "month" and period in _BY_DAY:
        granularity = "day"
    return replace(query, period=period, start_date=None, end_date=None, granularity=granularity)


def with_days(query: SpendQuery, start: date, end: date) -> SpendQuery:
    """Over these days, by day where they are few weeks or months."""
    days = (end - start).days + 1
    is_few = days <= ZOOMED_TO_DAYS.get(query.granularity, 0)
    granularity: Granularity = "day" if is_few else query.granularity
    return replace(query, period=None, start_date=start, end_date=end, granularity=granularity)


def with_data(query: SpendQuery, asked: DateRange, data: DateRange) -> SpendQuery | None:
    """Over as many days as were asked, the newest that have data; None where the asked days have some."""
    if asked.start <= data.end and data.start <= asked.end:
        return None
    start = max(data.start, data.end - timedelta(days=asked.days - 1))
    return replace(query, period=None, start_date=start, end_date=data.end)


def compared_to(query: SpendQuery, compare_to: CompareTo) -> SpendQuery:
    """Against other days; without any, rows stand by amount."""
    order_by = "amount" if compare_to == "none" else query.order_by
    return replace(query, compare_to=compare_to, order_by=order_by)


def with_all_groups(query: SpendQuery) -> SpendQuery | None:
    """With as many groups as a question may list; None where it lists them already."""
    return replace(query, top=MAX_TOP) if query.top < MAX_TOP else None


def _is_pin(item: Filter) -> bool:
    return item.op == "in" and len(item.values) == 1


def _pins_of(filters: Sequence[Filter]) -> dict[str, str]:
    return {plain_name(item.dimension): item.values[0] for item in filters if _is_pin(item)}
