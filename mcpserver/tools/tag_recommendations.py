"""Tools for problems with the tags of the bills."""

from __future__ import annotations

from msgspec.structs import replace

from finops.insights.tag_recommendations.queries import tag_recommendations
from finops.insights.tag_recommendations.schemas import TagRecommendationsAnswer, TagRecommendationsQuery
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "cost-tags/recommendations/"


@tool(
    name="listTagRecommendations",
    title="List tag recommendations",
    access=ToolAccess.READ,
    converts=True,
    description="\n        Tag keys by coverage; duplicate keys and values; rules for untagged cost, "
    "as drafts with their coverage.\n    ",
    examples=[{}, {"kinds": ["untagged_cost"], "limit": 5}],
)
def list_tag_recommendations(call: ToolCall, arguments: TagRecommendationsQuery) -> TagRecommendationsAnswer:
    # The page filters by one kind; the answer may have several.
    kind = arguments.kinds[0] if len(arguments.kinds) == 1 else ""
    url = call.console_url(PAGE, {"kind": kind})

    def with_console_urls(answer: TagRecommendationsAnswer) -> TagRecommendationsAnswer:
        rows = [
            replace(row, console_url=call.console_url(f"{PAGE}draft/", {"id": row.id}))
            for row in answer.recommendations
        ]
        return replace(answer, recommendations=rows, console_url=url)

    answer = tag_recommendations(
        call.account,
        arguments,
        deadline=call.deadline,
        fits=lambda candidate: fits(with_console_urls(candidate)),
    )
    return with_console_urls(answer)
