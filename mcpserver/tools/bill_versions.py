"""Tools for the changes of a month's newest import."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from finops.costs.bill_versions_csv import MOST_LINES, bill_versions_csv
from finops.costs.queries.bill_versions import BillVersionsAnswer, BillVersionsQuery, compare_bill_versions
from finops.lib.errors import UserError
from finops.lib.listing import CsvTable
from finops.lib.time_limit import limit_time
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import page_that_fits

TOO_LONG: Final = "compareBillVersions timed out. Compare a smaller month."


def _csv(call: ToolCall, query: BillVersionsQuery) -> CsvTable:
    with limit_time(call.remaining_seconds, TOO_LONG):
        answer = compare_bill_versions(call.account, replace(query, limit=MOST_LINES))
    if answer.truncated:
        raise UserError(
            f"More than {MOST_LINES:,} lines changed. Read the largest: open the page of the answer."
        )
    return bill_versions_csv(answer)


@tool(
    name="compareBillVersions",
    title="Compare bill versions",
    access=ToolAccess.READ,
    csv=_csv,
    description="What the provider restated: lines added, gone, changed by the newest import of a billing month.",
    examples=[{}],
)
def compare_versions(call: ToolCall, arguments: BillVersionsQuery) -> BillVersionsAnswer:
    url = call.console_url("connections/bill-versions/", {"month": arguments.month})

    def make_answer(limit: int) -> BillVersionsAnswer:
        return replace(compare_bill_versions(call.account, replace(arguments, limit=limit)), console_url=url)

    with limit_time(call.remaining_seconds, TOO_LONG):
        return page_that_fits(make_answer, arguments.limit)
