"""Tools that explain a change of spend."""

from __future__ import annotations

from msgspec.structs import replace

from finops.costs.spend_query import DEFAULT_PERIOD
from finops.exchange_rates.display import current_display
from finops.insights.spend_change.queries import explain_spend_change as explain
from finops.insights.spend_change.schemas import SpendChangeAnswer, SpendChangeQuery
from finops.insights.spend_change_csv import spend_change_csv
from finops.lib.listing import CsvTable
from finops.lib.query_page import ALL_ROWS
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "spend-change/"


def _csv(call: ToolCall, query: SpendChangeQuery) -> CsvTable:
    def ask() -> SpendChangeAnswer:
        return explain(call.account, replace(query, limit=ALL_ROWS), deadline=call.deadline)

    return spend_change_csv(ask(), current_display(), ask=ask)


@tool(
    name="explainSpendChange",
    title="Explain a change of spend",
    access=ToolAccess.READ,
    has_receipt=True,
    has_view=True,
    converts=True,
    csv=_csv,
    description="""
        Why spend rose or fell between two periods: drivers that add up to the change, price vs. volume,
        related anomalies. For trends: querySpend.
    """,
    examples=[
        {},
        {"period": "last_month", "group_by": ["service", "region"], "limit": 5},
        {
            "start_date": "2026-02-01",
            "end_date": "2026-02-28",
            "previous_start_date": "2026-01-01",
            "previous_end_date": "2026-01-31",
            "filters": [{"dimension": "provider", "values": ["AWS"]}],
        },
    ],
)
def explain_spend_change(call: ToolCall, arguments: SpendChangeQuery) -> SpendChangeAnswer:
    # Without any parameter the page shows its default comparison.
    url = call.console_url(PAGE, arguments.to_params() or {"period": [DEFAULT_PERIOD]})

    def with_console_urls(answer: SpendChangeAnswer) -> SpendChangeAnswer:
        beside = [
            replace(each, console_url=call.console_url(each.console_url)) if each.console_url else each
            for each in answer.beside
        ]
        return replace(answer, console_url=url, beside=beside)

    answer = explain(
        call.account,
        arguments,
        deadline=call.deadline,
        fits=lambda candidate: fits(with_console_urls(candidate)),
    )
    return with_console_urls(answer)
