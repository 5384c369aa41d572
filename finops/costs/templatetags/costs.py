"""Template filters and tags for answers about cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from json import dumps
from urllib.parse import urlencode

from django import template

from finops.costs import charts, explorer_steps
from finops.costs.answers import AppliedCostView, PartAmount, SpendRow
from finops.costs.models import CostImport
from finops.costs.queries.spend_lake import COST_COLUMNS, UNITS
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib import chart_markers
from finops.lib.chart_markers import Marker
from finops.lib.formats import dates, numbers
from finops.lib.periods import month_end

register = template.Library()


@register.filter
def row_name(row: SpendRow) -> str:
    return charts.row_name(row)


@register.filter
def kind_counts(markers: Sequence[Marker]) -> list[tuple[str, int]]:
    return chart_markers.kind_counts(markers)


@register.filter
def newest_markers(markers: Sequence[Marker]) -> Sequence[Marker]:
    """The newest events, as many as a list has."""
    return markers[: chart_markers.MAX_LISTED]


@register.filter
def marker_count(markers: Sequence[Marker]) -> str:
    """Return how many matching events the list has: `42`, `newest 100 of 280`, `newest 100 of more than 2,000`."""
    count = len(markers)
    if count <= chart_markers.MAX_LISTED:
        return numbers.number(count)
    more = "more than " if count > chart_markers.MAX_MARKERS else ""
    total = numbers.number(min(count, chart_markers.MAX_MARKERS))
    return f"newest {chart_markers.MAX_LISTED} of {more}{total}"


@register.filter
def undrawn_markers(markers: Sequence[Marker]) -> str:
    """Return a sentence if the charts do not show all matching events, else nothing."""
    if len(markers) <= chart_markers.MAX_MARKERS:
        return ""
    newest = f"{numbers.number(chart_markers.MAX_MARKERS)} of more matching change events"
    return f"Charts show the newest {newest}. Choose fewer days to see older ones."


@register.filter
def with_amounts(parts: Sequence[PartAmount]) -> list[PartAmount]:
    return [part for part in parts if part.amount]


@register.filter
def words(name: str) -> str:
    """`one_time_fees` → `one time fees`."""
    return name.replace("_", " ")


@register.filter
def progress_value(share: Decimal) -> int:
    """The length of a bar for a share, 0 to 100, without its sign: `bar_css` gives the direction."""
    return min(100, round(abs(share) * 100))


@register.filter
def bar_css(share: Decimal | None) -> str:
    """The CSS class of a bar: negative values start at the other end, in another colour."""
    return (
        "progress progress-sm progress-negative"
        if share is not None and share < 0
        else "progress progress-sm"
    )


@register.filter
def as_query(params: Mapping[str, Sequence[str]]) -> str:
    """URL parameters as a query string with its question mark."""
    return "?" + urlencode(params, doseq=True)


@register.filter
def finer_query(query: SpendQuery, row: SpendRow) -> str:
    """The query string of the question narrowed to a row's group; empty without a finer step."""
    narrowed = explorer_steps.drill_down(query, row.group)
    return explorer_steps.url_of(narrowed) if narrowed else ""


@register.filter
def drill_down(params: Mapping[str, Sequence[str]], row: SpendRow) -> str:
    """The same for pages that link to the cost explorer, by URL parameters; the question itself if none is finer."""
    return finer_query(SpendQuery.from_params(params), row) or as_query(params)


@register.filter
def as_csv_query(params: Mapping[str, Sequence[str]]) -> str:
    return as_query({**params, "format": ["csv"]})


@register.filter
def group_cells(row: SpendRow) -> list[tuple[str, str]]:
    """(value, display name) for each dimension of the group."""
    return [(value, row.labels.get(name) or value) for name, value in row.group.items()]


@register.filter
def measure_title(view: AppliedCostView) -> str:
    """The heading of the column of sums."""
    return "Spend" if view.basis in COST_COLUMNS else view.measure.capitalize()


@register.filter
def unit_title(view: AppliedCostView) -> str:
    """The heading of the column with the sums' unit."""
    return "Unit" if view.basis in UNITS else "Currency"


@register.filter
def span_of(months: Sequence[str]) -> str:
    """Format months: `May`, `May – Jul`; months that are not consecutive have their number."""
    if not months:
        return "—"
    ordered = sorted(months)
    first, last = (date.fromisoformat(f"{month}-01") for month in (ordered[0], ordered[-1]))
    gaps = (last.year - first.year) * 12 + last.month - first.month + 1 != len(ordered)
    return dates.month_range(first, last) + (f" ({len(ordered)} months)" if gaps else "")


@register.filter
def seconds(job: CostImport) -> str:
    if job.started_at is None or job.finished_at is None:
        return "—"
    return f"{(job.finished_at - job.started_at).total_seconds():,.1f}"


@register.filter
def explorer_query(job: CostImport) -> str:
    """The cost explorer's question about an import: its source and months, by service."""
    first, last = (date.fromisoformat(f"{month}-01") for month in (min(job.months), max(job.months)))
    query = SpendQuery(
        start_date=first,
        end_date=month_end(last),
        granularity="month" if first != last else "day",
        group_by=["service"],
        filters=[Filter(dimension="source", values=[job.source.name])],
    )
    return as_query(query.to_params())


@register.filter
def json(value: object) -> str:
    """JSON for a data attribute, because htmx removes script elements from its responses."""
    return dumps(value, separators=(",", ":"))
