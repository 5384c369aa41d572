"""The texts of an answer about invoices. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from finops.costs.coverage import Coverage, complete_data_words
from finops.costs.invoice_answers import InvoiceQuery, InvoiceRow
from finops.lib.answers import group_by
from finops.lib.money import currencies_by_amount, exact_sum
from finops.lib.periods import month_end
from finops.lib.sentences import join_first, join_with_and, money, quote

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
    named = join_first([_difference(row) for row in ranked], NAMED)
    verb = "differs" if len(rows) == 1 else "differ"
    return f"{_invoices(len(rows))} {verb} from the lines: {named}"


def _difference(row: InvoiceRow) -> str:
    amount = row.difference or Decimal(0)
    more = "more" if amount > 0 else "less"
    lines = ", no lines" if row.status == "no_lines" else ""
    return f"{quote(row.invoice) if row.invoice else 'no id'} was invoiced {money(abs(amount), row.currency)} {more} ({row.billing_period:%Y-%m}{lines})"


def _amounts(rows: Sequence[InvoiceRow], status: str, words: str) -> str:
    texts = _sums([row for row in rows if row.status == status])
    return f"{join_with_and(texts)} {words}" if texts else ""


def _sums(rows: Sequence[InvoiceRow]) -> list[str]:
    """Return the sum of the lines in each currency, largest first."""
    sums = {
        currency: exact_sum(row.lines_amount or Decimal(0) for row in own_rows)
        for currency, own_rows in group_by(rows, lambda row: row.currency).items()
    }
    return [money(sums[currency], currency) for currency in currencies_by_amount(sums)]


def incomplete_months_clause(rows: Sequence[InvoiceRow], coverage: Coverage) -> str:
    """Return a clause on the lines of months whose last days have no complete cost data; not of closed periods."""
    through = coverage.complete_through or date.min
    running = [
        row for row in rows if row.period_status != "Closed" and through < month_end(row.billing_period)
    ]
    if not running:
        return ""
    months = sorted({f"{row.billing_period:%Y-%m}" for row in running})
    verb = "is" if len(months) == 1 else "are"
    return f"; {_span(months)} {verb} incomplete, with lines of {join_with_and(_sums(running))}: {complete_data_words(coverage)}"


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
    """Return up to three months by name, which need not follow each other; more by the first and the last."""
    ordered = sorted(months)
    return join_with_and(ordered) if len(ordered) <= NAMED else f"{ordered[0]} to {ordered[-1]}"


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
    named = join_first([quote(each) for each in invoices], NAMED)
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
