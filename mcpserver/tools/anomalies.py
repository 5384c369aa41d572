"""Tools for cost anomalies."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights.anomalies import queries
from finops.insights.anomalies.schemas import AnomaliesAnswer, AnomaliesQuery
from finops.lib.sentences import truncate
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

PAGE = "anomalies/"
MAX_TEXT = 300


@tool(
    name="listAnomalies",
    title="List anomalies",
    access=ToolAccess.READ,
    has_view=True,
    converts=True,
    description="""
        Unusual spend vs. forecast of a service, team or cost tag, most severe first: impact so far and at
        month end, expected range, root causes.
    """,
    examples=[{}, {"status": "all", "minimum_impact": 10, "currency": "USD", "limit": 5}],
)
def list_anomalies(call: ToolCall, arguments: AnomaliesQuery) -> AnomaliesAnswer:
    url = call.console_url(PAGE, {"state": arguments.status, **arguments.scope_params})

    def make_answer(limit: int) -> AnomaliesAnswer:
        answer = queries.list_anomalies(call.account, replace(arguments, limit=limit), deadline=call.deadline)
        return _truncate_answer(replace(answer, console_url=url))

    return page_that_fits(make_answer, arguments.limit)


def _truncate_answer(answer: AnomaliesAnswer) -> AnomaliesAnswer:
    """Truncate the names of an answer, since bills may have names of any length."""
    rows = [
        replace(
            row,
            value=truncate(row.value, MAX_TEXT),
            name=truncate(row.name, MAX_TEXT),
            title=truncate(row.title, MAX_TEXT),
            also_seen_as=[truncate(each, MAX_TEXT) for each in row.also_seen_as],
            note=truncate(row.note, MAX_TEXT),
            root_causes=[
                replace(cause, value=truncate(cause.value, MAX_TEXT), name=truncate(cause.name, MAX_TEXT))
                for cause in row.root_causes
            ],
        )
        for row in answer.anomalies
    ]
    return replace(answer, anomalies=rows)
