"""The page AI spend: its question in the URL, its answer as tiles, trend, tables and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.ai_spend.ai_spend_query import DEFAULT_TOP, AiSpendQuery
from finops.ai_spend.answers import AiSpendAnswer, AiSpendRow
from finops.ai_spend.charts import marked_trends
from finops.ai_spend.queries import review_ai_spend
from finops.costs.views.query_page import COST_OPTIONS, CostQueryPage
from finops.exchange_rates.csv_columns import CsvRow
from finops.lib.choices import GRANULARITIES
from finops.lib.listing import CsvTable
from ingestion.models import UsageMetric
from ingestion.queries import metrics_of

GROUPS: Final = [
    ("model_and_token_type", "Model and token type"),
    ("model", "Model"),
    ("token_type", "Token type"),
    ("vendor", "Vendor"),
    ("person", "Person"),
    ("key", "Key"),
    ("feature", "Feature"),
    ("customer", "Customer"),
    ("team", "Team"),
]
BUCKETS: Final = [choice for choice in GRANULARITIES if choice[0] != "none"]
FIGURES: Final = (
    *("currency", "billed", "billed tokens", "billed per 1000 tokens"),
    *("usage tokens", "estimated from usage", "reason"),
)


class AiSpendPage(CostQueryPage[AiSpendQuery, AiSpendAnswer]):
    """The question of the page AI spend."""

    template = "ai_spend/ai_spend.html"
    result_template = "ai_spend/_ai_spend_result.html"
    first_query = AiSpendQuery(period="last_30_days")
    options = ("token_metric", "session_metric", "seat_metric", *COST_OPTIONS)
    listed = "Rows listed"
    own_choices = {
        "groups": GROUPS,
        "buckets": BUCKETS,
        "tops": [(count, f"Top {count}") for count in (10, DEFAULT_TOP, 50, 100)],
    }

    def __init__(self, request: AccountRequest) -> None:
        super().__init__(request)
        self.metrics = metrics_of(request.account)

    def groups(self, query: AiSpendQuery) -> list[str]:
        """No dimensions: the groups of AI spend are not those of cost."""
        return []

    def answer(self, query: AiSpendQuery) -> AiSpendAnswer:
        return review_ai_spend(self.request.account, query, metrics=self.metrics)

    def result(self, query: AiSpendQuery, answer: AiSpendAnswer) -> dict[str, Any]:
        tables, markers = marked_trends(answer, query)
        estimates = {estimate.currency: estimate for estimate in answer.estimates}
        return {
            "markers": markers,
            "parts": [
                (total, estimates.get(total.currency), tables[total.currency]) for total in answer.totals
            ],
            "estimates_alone": [
                each
                for each in answer.estimates
                if each.currency not in {total.currency for total in answer.totals}
            ],
        }

    def choices(self, query: AiSpendQuery) -> dict[str, Any]:
        return super().choices(query) | {
            "token_metrics": _names(self.metrics, query.token_metric, ("sum",)),
            "session_metrics": _names(self.metrics, query.session_metric, ("sum",)),
            "seat_metrics": _names(self.metrics, query.seat_metric, ("average_of_days", "last", "max")),
        }

    def csv(self, query: AiSpendQuery) -> HttpResponseBase:
        """Every group, exact figures."""
        answer: AiSpendAnswer = self.all_rows(query)
        days = answer.period.start_date, answer.period.end_date
        original = self.original_amounts(query, answer, ("billed",), _amounts, days)
        header = [*(name.lower() for name in answer.group_by), *FIGURES, *original.header]
        cells = (
            [*row.group, *_figures(row), *original.cells(tuple(row.group), row.currency)]
            for row in answer.rows
        )
        name = f"ai-spend-{days[0]}-{days[1]}"
        return CsvTable(name, header, cells, answer.summary, FIGURES[-1]).response()


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return AiSpendPage(request).response()


def _names(
    metrics: list[UsageMetric], metric_name: str, aggregations: tuple[str, ...]
) -> list[tuple[str, str]]:
    names = {metric.name: str(metric) for metric in metrics if metric.aggregation in aggregations}
    if metric_name:
        names.setdefault(metric_name, metric_name)
    return list(names.items())


def _figures(row: AiSpendRow) -> list[Any]:
    billed = [row.currency, row.billed, row.billed_tokens, row.per_1000_tokens]
    return [*billed, row.usage_tokens, row.estimated, row.reason]


def _amounts(answer: AiSpendAnswer) -> Iterator[CsvRow]:
    for row in answer.rows:
        yield tuple(row.group), row.currency, [row.billed]
