"""Tools for shared-cost splits."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from finops.allocation.queries.splits import list_splits
from finops.allocation.splits.schemas import SplitsAnswer
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "shared-costs/"


class ListSharedCostSplitsArguments(msgspec.Struct, kw_only=True):
    search: Annotated[str, Meta(description="Part of a name, dimension, source or target.")] = ""


@tool(
    name="listSharedCostSplits",
    title="List shared-cost splits",
    access=ToolAccess.READ,
    converts=True,
    description="""
        Shared-cost splits: source, targets, method and amount moved in the last complete month. Cost after
        splits: "splits": "after" in querySpend.
    """,
    examples=[{}],
)
def list_shared_cost_splits(call: ToolCall, arguments: ListSharedCostSplitsArguments) -> SplitsAnswer:
    answer = list_splits(call.account, search=arguments.search, deadline=call.deadline)
    return _fit_to_size(replace(answer, console_url=call.console_url(PAGE)))


def _fit_to_size(answer: SplitsAnswer) -> SplitsAnswer:
    """Reduce targets, then splits, until the answer fits the limit."""
    targets, count = 20, len(answer.splits)
    shown = answer
    while not fits(shown) and count:
        targets, count = (targets // 2, count) if targets > 1 else (targets, count // 2)
        shown = replace(
            answer,
            splits=[
                replace(
                    split,
                    targets=split.targets[:targets],
                    other_targets=split.other_targets + max(0, len(split.targets) - targets),
                )
                for split in answer.splits[:count]
            ],
            truncated=(
                f"{count} of {len(answer.splits)} splits with up to {targets} targets each. "
                "Narrow with search."
            ),
        )
    return shown
