"""Tools for savings recommendations."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsAnswer, SavingsQuery
from finops.lib.sentences import truncate
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

PAGE = "savings/"
MAX_TEXT = 300
EVIDENCE = 3


@tool(
    name="listSavingsRecommendations",
    title="List savings",
    access=ToolAccess.READ,
    converts=True,
    description="""
        Potential monthly savings proven by cost lines, largest first, with formula, effort, risk, resources
        and realized savings.
    """,
    examples=[{}, {"status": "all", "rule": "unused_commitment", "limit": 5}],
)
def list_savings_recommendations(call: ToolCall, arguments: SavingsQuery) -> SavingsAnswer:
    rule = {"rule": arguments.rule} if arguments.rule else {}
    url = call.console_url(PAGE, {"status": arguments.status, **rule, **arguments.scope_params})

    def make_answer(limit: int) -> SavingsAnswer:
        answer = list_savings(
            call.account, replace(arguments, limit=limit), deadline=call.deadline, evidence=EVIDENCE
        )
        return _truncate_answer(replace(answer, console_url=url))

    return page_that_fits(make_answer, arguments.limit)


def _truncate_answer(answer: SavingsAnswer) -> SavingsAnswer:
    """Truncate the names of an answer, since bills may have names of any length."""
    rows = [
        replace(
            row,
            title=truncate(row.title, MAX_TEXT),
            note=truncate(row.note, MAX_TEXT),
            account=truncate(row.account, MAX_TEXT),
            evidence=[
                replace(
                    each,
                    resource=truncate(each.resource, MAX_TEXT),
                    name=truncate(each.name, MAX_TEXT),
                    usage_type=truncate(each.usage_type, MAX_TEXT),
                )
                for each in row.evidence
            ],
        )
        for row in answer.recommendations
    ]
    return replace(answer, recommendations=rows)
