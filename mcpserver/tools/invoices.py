"""Tools that compare invoices with the sum of cost lines."""

from __future__ import annotations

from msgspec.structs import replace

from finops.costs.invoice_answers import InvoiceAnswer, InvoiceQuery
from finops.costs.queries.invoices import invoice_reconciliation
from mcpserver.context import ToolCall
from mcpserver.registry import ToolAccess, tool
from mcpserver.results import fits

PAGE = "invoices/"


@tool(
    name="getInvoiceReconciliation",
    title="Reconcile invoices",
    access=ToolAccess.READ,
    description="By invoice and billing month: total of lines (billed), invoiced amount, difference.",
    examples=[{}, {"limit": 5}],
)
def get_invoice_reconciliation(call: ToolCall, arguments: InvoiceQuery) -> InvoiceAnswer:
    url = call.console_url(PAGE, {"month": arguments.month} if arguments.month else None)
    answer = invoice_reconciliation(
        call.account,
        arguments,
        deadline=call.deadline,
        fits=lambda candidate: fits(replace(candidate, console_url=url)),
    )
    return replace(answer, console_url=url)
