"""Tools for the utilization and coverage of commitments."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights.commitments.queries import commitment_utilization
from finops.insights.commitments.schemas import CommitmentAnswer, CommitmentQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "commitments/"


@tool(
    name="getCommitmentUtilization",
    title="Get commitment utilization",
    access=ToolAccess.READ,
    has_receipt=True,
    converts=True,
    description="""
        Reserved instances and savings plans: utilization, coverage, waste, effective savings rate, expiry, by commitment
        or type and over time. Amortized.
    """,
    examples=[{}, {"period": "last_3_months", "group_by": ["type"], "granularity": "month"}],
)
def get_commitment_utilization(call: ToolCall, arguments: CommitmentQuery) -> CommitmentAnswer:
    url = call.console_url(PAGE, arguments.to_params())

    answer = commitment_utilization(
        call.account,
        arguments,
        deadline=call.deadline,
        fits=lambda candidate: fits(replace(candidate, console_url=url)),
    )
    return replace(answer, console_url=url)
