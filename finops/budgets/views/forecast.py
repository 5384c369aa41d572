"""The page Forecast: the query of the tool `forecastSpend` in the URL, its answer as charts, table and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.budgets.forecast_answers import ForecastAnswer, ForecastRow
from finops.budgets.forecast_charts import ForecastChart, charts_of, marked_charts_of
from finops.budgets.forecast_query import MAX_GROUPS, ForecastQuery
from finops.budgets.queries import ForecastFigures, forecast_figures
from finops.costs.views.choices import default_basis
from finops.costs.views.query_page import COST_OPTIONS, CostQueryPage
from finops.exchange_rates.csv_columns import CsvRow, OriginalAmounts
from finops.lib.listing import CsvTable


class ForecastPage(CostQueryPage[ForecastQuery, ForecastFigures]):
    """The question of the page Forecast."""

    template = "budgets/forecast.html"
    result_template = "budgets/_forecast_result.html"
    first_query = ForecastQuery(group_by=["service"])
    max_groups = MAX_GROUPS
    options = ("splits", *COST_OPTIONS)
    own_choices = {
        "periods": [
            ("month", "This month"),
            ("quarter", "This quarter"),
            ("year", "This year"),
            ("next_days", "Next days"),
        ],
        "tops": [(count, f"Top {count}") for count in (5, 10, 25)],
    }

    def complete(self, query: ForecastQuery) -> ForecastQuery:
        """Clear the granularity: the charts choose days or months themselves, whatever the URL says."""
        return structs.replace(query, granularity="none")

    def answer(self, query: ForecastQuery) -> ForecastFigures:
        return forecast_figures(self.request.account, query)

    def result(self, query: ForecastQuery, answer: ForecastFigures) -> dict[str, Any]:
        charts, markers = marked_charts_of(answer, query)
        return {"answer": answer.answer, "charts": charts, "markers": markers}

    def context(self, query: ForecastQuery, answer: ForecastFigures | None) -> dict[str, Any]:
        return {"default_basis": default_basis(query.basis, answer.answer.view if answer else None)}

    def csv(self, query: ForecastQuery) -> HttpResponseBase:
        figures: ForecastFigures = self.all_rows(query)
        period = figures.answer.period
        names = GROUP_FIGURES if figures.answer.group_by else TOTAL_FIGURES
        days = figures.span.previous.start, period.end_date
        return _csv(figures, self.original_amounts(query, figures, names, _amounts, days))


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return ForecastPage(request).response()


AMOUNTS = ["currency", "spent", "remaining", "expected", "from", "to", "reason"]
EARLIER = ["previous period", "change", "change ratio", "earlier forecast error"]
GROUP_FIGURES: Final = ("spent", "previous period")
TOTAL_FIGURES: Final = ("spent",)


def _csv(figures: ForecastFigures, original: OriginalAmounts) -> HttpResponseBase:
    """Return a row for every group; without groups, the totals by day or month. Exact amounts."""
    answer = figures.answer
    name = f"forecast-{answer.period.start_date}-{answer.period.end_date}"
    if answer.group_by:
        header = [*answer.group_by, "name", *AMOUNTS, *EARLIER, *original.header]
        rows, note_after = _group_rows(answer, original), "reason"
    else:
        header = ["day or month", "currency", "spent", "expected", "from", "to", *original.header]
        rows, note_after = _total_rows(charts_of(figures), original), "to"
    return CsvTable(name, header, rows, note=answer.summary, note_after=note_after).response()


def _amounts(figures: ForecastFigures) -> Iterator[CsvRow]:
    if figures.answer.group_by:
        for row in figures.answer.rows:
            yield (
                _row_key(row),
                row.currency,
                [row.actual, row.change.previous_amount if row.change else None],
            )
        return
    for chart in charts_of(figures):
        for point in chart.points:
            yield point.label, chart.currency, [point.spent]


def _row_key(row: ForecastRow) -> tuple[Any, ...]:
    return (*row.group.values(), bool(row.other_groups))


def _group_rows(answer: ForecastAnswer, original: OriginalAmounts) -> Iterator[list[Any]]:
    for row in answer.rows:
        (dimension, value), change, tested = next(iter(row.group.items())), row.change, row.back_test
        yield [
            value,
            row.labels.get(dimension, value),
            row.currency,
            row.actual,
            row.remaining,
            row.expected,
            row.lower,
            row.upper,
            row.reason,
            *([change.previous_amount, change.change, change.ratio] if change else [None] * 3),
            tested.error_share if tested else None,
            *original.cells(_row_key(row), row.currency),
        ]


def _total_rows(charts: list[ForecastChart], original: OriginalAmounts) -> Iterator[list[Any]]:
    for chart in charts:
        for point in chart.points:
            band = point.expected
            expected = [band.mean, band.lower, band.upper] if band else [None] * 3
            beside = original.cells(point.label, chart.currency)
            yield [point.label, chart.currency, point.spent, *expected, *beside]
