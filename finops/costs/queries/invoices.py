"""Cost lines compared with invoices: the one query behind the page Invoices and getInvoiceReconciliation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec
from django.db.models import Max, Sum

from accounts.models import Account
from finops.costs.answers import AccountRef
from finops.costs.invoice_answers import InvoiceAnswer, InvoiceQuery, InvoiceRow
from finops.costs.models import BillingPeriod, InvoiceDetail, InvoiceTotal
from finops.costs.queries import invoice_words as words
from finops.costs.queries.closed_months import restatement_sentences
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.costs.reconciliation import (
    DetailSum,
    EnteredTotal,
    InvoiceData,
    Key,
    LineSum,
    reconcile,
    totals_of,
)
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.answers import largest_that_fits
from finops.lib.errors import UserError
from finops.lib.periods import month_end, month_from_text

NEWEST_MONTHS: Final = 3
NO_LIMIT: Final = 1_000_000

Fits = Callable[[InvoiceAnswer], bool]


def invoice_reconciliation(
    account: Account,
    query: InvoiceQuery,
    *,
    deadline: float | None = None,
    fits: Fits | None = None,
) -> InvoiceAnswer:
    """Return each invoice of the requested billing months: the sum of its lines, the invoiced amount, the difference.

    Amounts are billed cost in the billing currency, of all charges, whatever the cost view. Raises UserError for an
    invalid month, or an invoice that no row names. Cost: one lake query over the segments of these months (cached
    while they do not change), four small ones of PostgreSQL.
    """
    return _reconciliation(
        account, query, load_sources(account), _read_records(query.invoice or None), deadline, fits
    )


def _reconciliation(
    account: Account,
    query: InvoiceQuery,
    sources: Sources,
    records: _InvoiceRecords,
    deadline: float | None = None,
    fits: Fits | None = None,
) -> InvoiceAnswer:
    invoice = query.invoice or None
    months = _months(query, sources, records)
    rows = _rows(account, sources, records, months, invoice, deadline)
    if query.invoice and not rows:
        raise UserError(
            "No cost lines or Invoice Detail of invoice "
            f"{query.invoice!r}{(f' in {query.month}' if query.month else '')}. Remove invoice to "
            "list all.",
            field="invoice",
            value=query.invoice,
        )

    notes = source_notes(account, sources)
    warnings = [*notes.warnings, *records.warnings, *restatement_sentences(sources)]

    problems = words.incomplete_months_clause(rows, sources.coverage) + notes.clause

    def answer_of(limit: int) -> InvoiceAnswer:
        return _answer(account, query, months, rows, limit, warnings, problems)

    return largest_that_fits(answer_of, query.limit, fits)


def every_invoice(account: Account, month: str = "") -> tuple[InvoiceAnswer, list[str]]:
    """Return all invoices of a month, or of the newest ones, and the billing months with lines or invoices, newest
    first: for the page and its CSV."""
    sources, records = load_sources(account), _read_records(None)
    answer = _reconciliation(account, InvoiceQuery(month=month, limit=NO_LIMIT), sources, records)
    return answer, [f"{month_start:%Y-%m}" for month_start in _months_with_data(sources, records)]


def one_invoice(account: Account, key: Key) -> InvoiceRow | None:
    """Return an invoice of a billing period with its parts, or the period's lines without an invoice; may be None."""
    sources, records = load_sources(account), _read_records(key.invoice)
    rows = _rows(account, sources, records, [_month_of(key.period)], key.invoice, None)
    return next((row for row in rows if key_of(row) == key), None)


def key_of(row: InvoiceRow) -> Key:
    return Key(row.billing_period, row.issuer, row.invoice, row.billing_account, row.currency)


def _rows(
    account: Account,
    sources: Sources,
    records: _InvoiceRecords,
    months: Sequence[date],
    invoice: str | None,
    deadline: float | None,
) -> list[InvoiceRow]:
    data = InvoiceData(
        lines=_lines(account, sources, months, invoice, deadline),
        details=[each for each in records.details if _month_of(each.key.period) in months],
        entered=[each for each in records.entered if _month_of(each.key.period) in months],
        periods=records.periods,
    )
    return reconcile(data, with_parts=invoice is not None)


@dataclass(frozen=True)
class _InvoiceRecords:
    """Invoiced amounts from files and members."""

    details: Sequence[DetailSum]
    entered: Sequence[EnteredTotal]
    periods: dict[tuple[str, date], str]
    warnings: Sequence[str]


def _read_records(invoice: str | None) -> _InvoiceRecords:
    """Read the records of one invoice by detail, or of all (None)."""
    details, warnings = _details(invoice)
    totals = InvoiceTotal.objects.all()
    if invoice is not None:
        totals = totals.filter(invoice_id=invoice)
    entered = [EnteredTotal(_key(row), row.amount, row.note) for row in totals]
    periods = {
        (row.issuer, row.billing_period): row.status
        for row in BillingPeriod.objects.order_by("source_id", "pk")
    }
    return _InvoiceRecords(details, entered, periods, warnings)


_INVOICE = ("billing_period", "issuer", "invoice_id", "billing_account_id", "currency")
_DETAIL = ("detail_id", "charge_category", "description")


def _details(invoice: str | None) -> tuple[list[DetailSum], list[str]]:
    """Return details by invoice, or of one by detail. An invoice from two sources counts once, from the newer."""
    rows = (
        InvoiceDetail.objects.all() if invoice is None else InvoiceDetail.objects.filter(invoice_id=invoice)
    )
    keys = (*_INVOICE, "source_id", "status", *(() if invoice is None else _DETAIL))
    sums = list(
        rows.order_by().values(*keys).annotate(amount=Sum("billed_cost"), due=Max("due_at"), newest=Max("pk"))
    )
    newest: dict[tuple[Any, ...], tuple[int, int]] = {}
    duplicate_ids: set[str] = set()
    for row in sums:
        place = tuple(row[name] for name in _INVOICE)
        before = newest.get(place)
        if before and before[1] != row["source_id"]:
            duplicate_ids.add(row["invoice_id"])
        newest[place] = max(before or (0, 0), (row["newest"], row["source_id"]))
    details = [
        DetailSum(
            key=Key(*(row[name] for name in _INVOICE)),
            amount=row["amount"],
            status=row["status"],
            due_on=row["due"].date() if row["due"] else None,
            **{name: row[name] for name in _DETAIL if name in row},
        )
        for row in sums
        if newest[tuple(row[name] for name in _INVOICE)][1] == row["source_id"]
    ]
    return details, words.duplicate_invoice_warnings(sorted(duplicate_ids))


def _key(row: InvoiceTotal) -> Key:
    return Key(row.billing_period, row.issuer, row.invoice_id, row.billing_account_id, row.currency)


def _months(query: InvoiceQuery, sources: Sources, records: _InvoiceRecords) -> list[date]:
    if query.month:
        return [parse_month(query.month)]
    months = _months_with_data(sources, records)
    return months if query.invoice else months[:NEWEST_MONTHS]


_DAY = re.compile(r"\d{4}-\d\d-\d\d(T\S+)?")


def parse_month(month: str) -> date:
    """Return the first day of `2026-05`, or of the month of a day or time. Raises UserError for any other text."""
    try:
        return month_from_text(month[:7] if _DAY.fullmatch(month) else month)
    except ValueError as error:
        raise UserError(
            f"month must be a billing month such as 2026-05, not {month!r}.", field="month", value=month
        ) from error


def _months_with_data(sources: Sources, records: _InvoiceRecords) -> list[date]:
    of_lines = {segment.month for segment in sources.manifest.segments}
    of_details = {_month_of(each.key.period) for each in records.details}
    of_totals = {_month_of(each.key.period) for each in records.entered}
    return sorted({*of_lines, *of_details, *of_totals}, reverse=True)


def _month_of(period: date) -> date:
    return period.replace(day=1)


_LINE = {
    "billing_period": "billing_period",
    "issuer": "invoice_issuer",
    "invoice_id": "invoice_id",
    "billing_account_id": "billing_account_id",
}
_LINE_PARTS = {"detail_id": "invoice_detail_id", "charge_category": "charge_category", "service": "service"}


@dataclass(frozen=True)
class InvoiceBuild:
    """Billed cost by invoice of the billing periods that start from `start` to `end`, or of one `invoice` ("": lines
    without one) by kind of line. Equal for equal questions, so that the lake compiles each once."""

    start: date
    end: date
    invoice: str | None

    def __call__(self, table: Any) -> Any:
        lines = table.filter(table.billing_period.between(self.start, self.end))
        if self.invoice is not None:
            named = lines.invoice_id == self.invoice
            lines = lines.filter(named if self.invoice else lines.invoice_id.isnull())
        columns = {**_LINE, **({} if self.invoice is None else _LINE_PARTS)}
        # Columns are named: SELECT * would read all columns and prevent the use of rollups.
        keyed = lines.select(
            **{name: lines[column] for name, column in columns.items()},
            currency=lines.currency.coalesce(NO_CURRENCY),
            amount=lines.billed_cost,
        )
        return keyed.group_by([*columns, "currency"]).aggregate(amount=keyed.amount.sum())


def _lines(
    account: Account, sources: Sources, months: Sequence[date], invoice: str | None, deadline: float | None
) -> list[LineSum]:
    inside = [segment for segment in sources.manifest.segments if segment.month in months]
    if not inside:
        return []
    table = engine.run(
        account,
        Kind.COST,
        min(segment.first_day for segment in inside),
        max(segment.last_day for segment in inside),
        InvoiceBuild(min(months), month_end(max(months)), invoice),
        allow_rollups=True,
        manifest=sources.manifest,
        deadline=deadline,
        in_own_currency=True,
    )
    rows = [row for row in table.to_pylist() if _month_of(row["billing_period"]) in months]
    return [_line(row) for row in rows]


def _line(row: dict[str, Any]) -> LineSum:
    return LineSum(
        key=Key(row["billing_period"], *(row[name] or "" for name in _INVOICE[1:])),
        amount=row["amount"] or Decimal(0),
        **{name: row[name] or "" for name in _LINE_PARTS if name in row},
    )


def _answer(
    account: Account,
    query: InvoiceQuery,
    months: Sequence[date],
    rows: Sequence[InvoiceRow],
    limit: int,
    warnings: Sequence[str],
    problems: str,
) -> InvoiceAnswer:
    names = [f"{month:%Y-%m}" for month in months]
    answer = InvoiceAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=words.summary_of(account.name, names, rows, problems),
        months=names,
        totals=totals_of(rows),
        invoices=list(rows[:limit]),
        truncated=words.truncated_of(len(rows), limit),
        warnings=[*warnings, *words.warnings_of(rows)],
    )
    return msgspec.structs.replace(answer, hint=words.hint_of(query, rows))
