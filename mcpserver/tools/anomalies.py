"""What costs something else than expected."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights import queries
from finops.insights.anomalies_query import AnomaliesQuery
from finops.insights.answers import AnomaliesAnswer
from finops.lib.spoken import cut
from mcpserver.context import ToolCall
from mcpserver.registry import Access, tool
from mcpserver.results import page_that_fits

PAGE = "anomalies/"
MAX_TEXT = 300


@tool(
    name="listAnomalies",
    title="List anomalies",
    access=Access.READ,
    description="""
        Days that cost more or less than expected, of a service, team or cost tag, most severe first: impact so far and
        at month end, band, root causes. What moved between two periods: explainSpendChange. Example: {"state": "open"}
    """,
    examples=[{}, {"state": "all", "min_impact": 10, "currency": "USD", "limit": 5}],
)
def list_anomalies(call: ToolCall, arguments: AnomaliesQuery) -> AnomaliesAnswer:
    url = call.console_url(PAGE, {"state": arguments.state, **arguments.scope_values})

    def made(limit: int) -> AnomaliesAnswer:
        answer = queries.list_anomalies(call.account, replace(arguments, limit=limit), deadline=call.deadline)
        return _short(replace(answer, console_url=url))

    return page_that_fits(made, arguments.limit)


def _short(answer: AnomaliesAnswer) -> AnomaliesAnswer:
    """Bills may name things at any length."""
    rows = [
        replace(
            row,
            value=cut(row.value, MAX_TEXT),
            name=cut(row.name, MAX_TEXT),
            note=cut(row.note, MAX_TEXT),
            root_causes=[
                replace(cause, value=cut(cause.value, MAX_TEXT), name=cut(cause.name, MAX_TEXT))
                for cause in row.root_causes
            ],
        )
        for row in answer.anomalies
    ]
    return replace(answer, anomalies=rows)
