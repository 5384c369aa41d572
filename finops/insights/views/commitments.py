"""Commitments: the query of the tool `getCommitmentUtilization`, its state in the URL, its answer as charts, table, CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.costs.views.query_page import CostQueryPage
from finops.exchange_rates.csv_columns import CsvRow
from finops.insights.charts import marked_commitment_charts
from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentAnswer, CommitmentQuery, CommitmentRow
from finops.lib.listing import Column, CsvTable

COLUMNS: list[Column[CommitmentRow]] = [
    Column("commitment", "Commitment", lambda row: row.commitment),
    Column("name", "Name", lambda row: row.name),
    Column("type", "Type", lambda row: row.type),
    Column("provider", "Provider", lambda row: row.provider),
    Column("currency", "Currency", lambda row: row.currency),
    Column("committed_cost", "Committed", lambda row: row.committed_cost),
    Column("used_cost", "Used", lambda row: row.used_cost),
    Column("unused_cost", "Unused", lambda row: row.unused_cost),
    Column("utilization", "Utilization", lambda row: row.utilization),
    Column("utilization_reason", "Reason", lambda row: row.utilization_reason),
    Column("on_demand_cost", "On demand", lambda row: row.on_demand_cost),
    Column("net_savings", "Net savings", lambda row: row.net_savings),
    Column("commitment_savings_rate", "Savings rate of commitment", lambda row: row.commitment_savings_rate),
    Column("purchased_amount", "Purchases billed", lambda row: row.purchased_amount),
    Column("expires_on", "Ends on", lambda row: row.expires_on),
    Column("expires_reason", "Source", lambda row: row.expires_reason),
    Column("starts_on", "Term from", lambda row: row.starts_on),
    Column("scope", "Scope", lambda row: row.scope),
]

AMOUNTS: Final = {
    "committed_cost": "committed",
    "used_cost": "used",
    "unused_cost": "unused",
    "on_demand_cost": "on demand",
    "net_savings": "net savings",
    "purchased_amount": "purchases billed",
}
"""Those that a CSV has in the currencies of the bills too, with their names there."""


class CommitmentsPage(CostQueryPage[CommitmentQuery, CommitmentAnswer]):
    """The question of the page Commitments."""

    template = "insights/commitments.html"
    result_template = "insights/_commitments_result.html"
    first_query = CommitmentQuery(period="last_30_days", granularity="day")
    own_choices = {"rows_by": [("commitment", "Commitment"), ("type", "Type")]}

    def answer(self, query: CommitmentQuery) -> CommitmentAnswer:
        return commitment_utilization(self.request.account, query)

    def result(self, query: CommitmentQuery, answer: CommitmentAnswer) -> dict[str, Any]:
        charts, markers = marked_commitment_charts(answer, query)
        return {"charts": charts, "markers": markers}

    def csv(self, query: CommitmentQuery) -> HttpResponseBase:
        answer: CommitmentAnswer = self.all_rows(query)
        days = answer.period.start_date, answer.period.end_date
        original = self.original_amounts(query, answer, list(AMOUNTS.values()), _amounts, days)
        header = [*(column.label for column in COLUMNS), *original.header]
        rows = (
            [*(column.value(row) for column in COLUMNS), *original.cells(row.commitment, row.currency)]
            for row in answer.rows
        )
        note_after = COLUMNS[-1].label
        return CsvTable("commitments", header, rows, answer.summary, note_after).response()


def _amounts(answer: CommitmentAnswer) -> Iterator[CsvRow]:
    for row in answer.rows:
        yield row.commitment, row.currency, [getattr(row, name) for name in AMOUNTS]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return CommitmentsPage(request).response()
