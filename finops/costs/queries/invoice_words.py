"""The texts of an answer about invoices. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from finops.costs.invoice_answers import InvoiceQuery, InvoiceRow
from finops.lib.money import currencies_by_amount, exact_sum
from finops.lib.sentences import join_with_and, money, quote

NAMED = 3


def summary_of(account: str, months: Sequence[str], rows: Sequence[InvoiceRow], problems: str) -> str:
    """Return the summary: differences with their amounts first, then the amount that could not be compared."""
    if not rows:
        when = f" of {_span(months)}" if months else ""
        return f"{quote(account)} has no cost lines and no invoices{when}{problems}."
    counts = Counter(row.status for row in rows)
    parts = [_differences_clause([row for row in rows if row.status in ("differs", "no_lines")])]
    if counts["matches"]:
        parts.append(
            f"{_invoices(counts['matches'])} {'matches' if counts['matches'] == 1 else 'match'} exactly"
        )
    if counts["rounding"]:
        parts.append(f"{_invoices(counts['rounding'])} within rounding (below 0.01)")
    parts.append(_amounts(rows, "no_invoice_detail", "on invoices without Invoice Detail or entered total"))
    parts.append(_amounts(rows, "not_invoiced", "on no invoice"))
    text = "; ".join(part for part in parts if part)
    return f"{quote(account)}, billing {_months(months)}: {text}{problems}.{_not_final(rows)}"


def _differences_clause(rows: Sequence[InvoiceRow]) -> str:
    if not rows:
        return ""
    ranked = sorted(rows, key=lambda row: -(row.difference or Decimal(0)).copy_abs())
    named = [_difference(row) for row in ranked[:NAMED]]
    more = f" and {len(ranked) - NAMED} more" if len(ranked) > NAMED else ""
    verb = "differs" if len(rows) == 1 else "differ"
    return f"{_invoices(len(rows))} {verb} from the lines: {', '.join(named)}{more}"


def _difference(row: InvoiceRow) -> str:
    amount = row.difference or Decimal(0)
    more = "more" if amount > 0 else "less"
    lines = ", no lines" if row.status == "no_lines" else ""
    return f"{quote(row.invoice) if row.invoice else 'no id'} was invoiced {money(abs(amount), row.currency)} {more} ({row.billing_period:%Y-%m}{lines})"


def _amounts(rows: Sequence[InvoiceRow], status: str, words: str) -> str:
    by_currency: dict[str, Decimal] = {}
    for row in rows:
        if row.status == status:
            by_currency[row.currency] = exact_sum(
                [by_currency.get(row.currency, Decimal(0)), row.lines_amount or Decimal(0)]
            )
    texts = [money(by_currency[currency], currency) for currency in currencies_by_amount(by_currency)]
    return f"{join_with_and(texts)} {words}" if texts else ""


def _not_final(rows: Sequence[InvoiceRow]) -> str:
    open_ = [row for row in rows if row.not_final]
    if not open_:
        return ""
    return f" {_invoices(len(open_)).capitalize()} preliminary: the invoice or its billing period is open."


def _invoices(count: int) -> str:
    return "1 invoice" if count == 1 else f"{count} invoices"


def _months(months: Sequence[str]) -> str:
    return f"month {months[0]}" if len(months) == 1 else f"months {_span(months)}"


def _span(months: Sequence[str]) -> str:
    return months[0] if len(months) == 1 else f"{min(months)} to {max(months)}"


def warnings_of(rows: Sequence[InvoiceRow]) -> list[str]:
    """Return warnings on rows that are easy to misread."""
    voided = [row.invoice for row in rows if row.invoice_status == "Voided"]
    return (
        [f"Voided, so 0 was invoiced: {join_with_and([quote(each) for each in voided[:NAMED]])}."]
        if voided
        else []
    )


def duplicate_invoice_warnings(invoices: Sequence[str]) -> list[str]:
    """Return warnings on sources that have the details of the same invoice."""
    if not invoices:
        return []
    named = join_with_and(
        [quote(each) for each in invoices[:NAMED]]
        + ([f"{len(invoices) - NAMED} more"] if len(invoices) > NAMED else [])
    )
    return [f"Two sources have Invoice Detail of {named}; the one imported last is counted."]


def truncated_of(rows: int, limit: int) -> str:
    if rows <= limit:
        return ""
    return f"{limit} of {rows} invoices listed; totals include all. Use one month, or a higher limit."


def hint_of(query: InvoiceQuery, rows: Sequence[InvoiceRow]) -> str:
    """Return a hint for the next step."""
    differing = next((row for row in rows if row.status == "differs"), None)
    if differing is not None and not query.invoice:
        return f"Use invoice={differing.invoice!r} for the parts of its difference."
    if rows and all(row.invoiced_amount is None for row in rows):
        return "To compare, import Invoice Detail (FOCUS 1.4) or enter totals on the Invoices page."
    return ""
