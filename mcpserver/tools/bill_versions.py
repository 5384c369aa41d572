"""What the newest import of a month changed."""

from __future__ import annotations

from msgspec.structs import replace

from finops.costs.queries.bill_versions import BillVersionsAnswer, BillVersionsQuery, compare_bill_versions
from finops.lib.time_limit import limit_time
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits


@tool(
    name="compareBillVersions",
    title="Compare bill versions",
    access=ToolAccess.READ,
    description="What the provider restated: lines added, gone, changed by the newest import of a billing month.",
    examples=[{}],
)
def compare_versions(call: ToolCall, arguments: BillVersionsQuery) -> BillVersionsAnswer:
    url = call.console_url("connections/bill-versions/", {"month": arguments.month})

    def make_answer(limit: int) -> BillVersionsAnswer:
        return replace(compare_bill_versions(call.account, replace(arguments, limit=limit)), console_url=url)

    with limit_time(call.remaining_seconds, "compareBillVersions timed out. Compare a smaller month."):
        return page_that_fits(make_answer, arguments.limit)
