"""Compare cost lines with invoices. Pure: sums in, rows out; amounts are exact, and currencies are never mixed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, Literal, TypeVar

from finops.costs.invoice_answers import InvoiceLines, InvoicePart, InvoiceRow, InvoiceSum, Status
from finops.lib.money import currencies_by_amount, exact_difference, exact_sum

ROUNDING: Final = Decimal("0.01")
"""The difference below which it counts as rounding: invoices are in cents, lines in up to 18 decimal places."""

MAX_LINES: Final = 50
"""The maximum of line groups of an invoice; the rest are one group."""

VOIDED: Final = "Voided"


@dataclass(frozen=True)
class Key:
    """The key of an invoice. `period`: the first day of its billing period; an empty text means not given."""

    period: date
    issuer: str
    invoice: str
    billing_account: str
    currency: str


@dataclass(frozen=True)
class LineSum:
    """Billed cost of similar lines of an invoice. Detail, category and service are set only if requested."""

    key: Key
    amount: Decimal
    detail_id: str = ""
    charge_category: str = ""
    service: str = ""


@dataclass(frozen=True)
class DetailSum:
    """The amount of an invoice, or of one detail of it, in an Invoice Detail file."""

    key: Key
    amount: Decimal
    status: str = ""
    due_on: date | None = None
    detail_id: str = ""
    charge_category: str = ""
    description: str = ""


@dataclass(frozen=True)
class EnteredTotal:
    """The total of an invoice that a member entered."""

    key: Key
    amount: Decimal
    note: str = ""


@dataclass(frozen=True)
class InvoiceData:
    """The data of any number of invoices. `periods`: status by issuer and first day."""

    lines: Sequence[LineSum]
    details: Sequence[DetailSum]
    entered: Sequence[EnteredTotal]
    periods: Mapping[tuple[str, date], str]


Keyed = TypeVar("Keyed", LineSum, DetailSum, EnteredTotal)


def reconcile(data: InvoiceData, *, with_parts: bool = False) -> list[InvoiceRow]:
    """Return a row for each invoice, billing account and currency of a period, and one for lines without an invoice.

    Newest periods first, then rows that need a review, then the largest. Files without an issuer or billing account
    are matched with those that have one by period, invoice id and currency.
    """
    every: Sequence[LineSum | DetailSum | EnteredTotal] = [*data.lines, *data.details, *data.entered]
    same = _same_key([each.key for each in every])
    lines, details = _by_key(data.lines, same), _by_key(data.details, same)
    entered = {same(each.key): each for each in data.entered}
    rows = [
        _row(key, lines[key], details[key], entered.get(key), data.periods, with_parts)
        for key in {*lines, *details, *entered}
    ]
    return sorted(rows, key=_sort_key)


def totals_of(rows: Iterable[InvoiceRow]) -> list[InvoiceSum]:
    """Return totals by currency, the largest first; null where nothing was invoiced."""
    by_currency: dict[str, list[InvoiceRow]] = defaultdict(list)
    for row in rows:
        by_currency[row.currency].append(row)
    totals = {currency: _total(currency, some) for currency, some in by_currency.items()}
    return [
        totals[name]
        for name in currencies_by_amount({name: each.lines_amount for name, each in totals.items()})
    ]


def _total(currency: str, rows: Sequence[InvoiceRow]) -> InvoiceSum:
    compared = [row for row in rows if row.invoiced_amount is not None]
    compared_amount = exact_sum(row.lines_amount or Decimal(0) for row in compared)
    uncompared_amount = exact_sum(
        row.lines_amount or Decimal(0) for row in rows if row.invoiced_amount is None
    )
    invoiced = exact_sum(row.invoiced_amount or Decimal(0) for row in compared)
    return InvoiceSum(
        lines_amount=exact_sum([compared_amount, uncompared_amount]),
        compared_amount=compared_amount,
        uncompared_amount=uncompared_amount,
        invoiced_amount=invoiced if compared else None,
        difference=exact_difference(invoiced, compared_amount) if compared else None,
        currency=currency,
    )


def _same_key(keys: Sequence[Key]) -> Callable[[Key], Key]:
    """Fill in issuers and billing accounts that one side leaves empty from the other; if several match, all are
    merged. Lines without an invoice are unchanged."""
    buckets: dict[tuple[date, str, str], list[Key]] = defaultdict(list)
    for key in keys:
        buckets[key.period, key.invoice, key.currency].append(key)
    fill: dict[tuple[date, str, str], tuple[str | None, str | None]] = {
        place: (_common([each.issuer for each in some]), _common([each.billing_account for each in some]))
        for place, some in buckets.items()
    }

    def same(key: Key) -> Key:
        if not key.invoice:
            return key
        issuer, account = fill[key.period, key.invoice, key.currency]
        return replace(
            key,
            issuer=key.issuer if issuer is None else issuer,
            billing_account=key.billing_account if account is None else account,
        )

    return same


def _common(values: Sequence[str]) -> str | None:
    """Return the common key of all, or None to keep them separate."""
    named = set(values) - {""}
    if "" not in values:
        return None
    return named.pop() if len(named) == 1 else ""


def _by_key(each: Iterable[Keyed], same: Callable[[Key], Key]) -> dict[Key, list[Keyed]]:
    groups: dict[Key, list[Keyed]] = defaultdict(list)
    for row in each:
        groups[same(row.key)].append(row)
    return groups


def _row(
    key: Key,
    lines: Sequence[LineSum],
    details: Sequence[DetailSum],
    entered: EnteredTotal | None,
    periods: Mapping[tuple[str, date], str],
    with_parts: bool,
) -> InvoiceRow:
    counted = [each for each in details if each.status != VOIDED]
    lines_amount = exact_sum(each.amount for each in lines) if lines else None
    invoiced, by = _invoiced_amount(details, counted, entered)
    status = _status(key, lines_amount, invoiced)
    difference = None if invoiced is None else exact_difference(invoiced, lines_amount or Decimal(0))
    invoice_status = _invoice_status(details)
    period_status = periods.get((key.issuer, key.period), "")
    by_detail = any(each.detail_id for each in lines) and bool(details)
    return InvoiceRow(
        billing_period=key.period,
        issuer=key.issuer,
        invoice=key.invoice,
        billing_account=key.billing_account,
        status=status,
        lines_amount=lines_amount,
        invoiced_amount=invoiced,
        difference=difference,
        currency=key.currency,
        reason=_REASONS.get(status, "") or (_VOIDED_REASON if invoice_status == VOIDED else ""),
        invoiced_by=by,
        invoice_status=invoice_status,
        period_status=period_status,
        not_final=_not_final(invoice_status, period_status),
        due_on=max((each.due_on for each in counted if each.due_on), default=None),
        note=entered.note if entered else "",
        parts_by=("invoice_detail" if by_detail else "charge_category") if with_parts and details else "",
        parts=_parts(key.currency, lines, counted, by_detail=by_detail) if with_parts and details else [],
        lines=_lines(key.currency, lines) if with_parts else [],
    )


def _invoiced_amount(
    details: Sequence[DetailSum], counted: Sequence[DetailSum], entered: EnteredTotal | None
) -> tuple[Decimal | None, Literal["invoice_detail", "entered", ""]]:
    if details:
        return exact_sum(each.amount for each in counted), "invoice_detail"
    return (entered.amount, "entered") if entered else (None, "")


def _status(key: Key, lines: Decimal | None, invoiced: Decimal | None) -> Status:
    if invoiced is None:
        return "no_invoice_detail" if key.invoice else "not_invoiced"
    if lines is None:
        return "no_lines"
    difference = exact_difference(invoiced, lines)
    if not difference:
        return "matches"
    return "rounding" if difference.copy_abs() < ROUNDING else "differs"


_REASONS: Final[Mapping[str, str]] = {
    "no_invoice_detail": "No Invoice Detail imported and no total entered.",
    "not_invoiced": "Lines without InvoiceId: not invoiced yet, or the bill has no invoice IDs.",
    "no_lines": "No cost lines of this invoice in this billing period.",
    "rounding": "Below 0.01: rounding.",
}
_VOIDED_REASON: Final = "The invoice is voided; its details count as 0."


def _invoice_status(details: Sequence[DetailSum]) -> str:
    """Return open while any part is; voided when all parts are."""
    every = {each.status for each in details if each.status}
    return next((status for status in ("Open", "Issued", VOIDED) if status in every), min(every, default=""))


def _not_final(invoice_status: str, period_status: str) -> str:
    if invoice_status == "Open":
        return "The invoice is not issued yet."
    return "The issuer's billing period is open." if period_status == "Open" else ""


def _parts(
    currency: str, lines: Sequence[LineSum], details: Sequence[DetailSum], *, by_detail: bool
) -> list[InvoicePart]:
    """Return the difference in parts that add up to it, largest first: by detail where lines name one."""
    of_lines: dict[str, list[Decimal]] = defaultdict(list)
    of_details: dict[str, list[DetailSum]] = defaultdict(list)
    for line in lines:
        of_lines[line.detail_id if by_detail else line.charge_category].append(line.amount)
    for detail in details:
        of_details[detail.detail_id if by_detail else detail.charge_category].append(detail)
    parts = [
        _part(name, currency, of_lines.get(name), of_details.get(name)) for name in {*of_lines, *of_details}
    ]
    return sorted(parts, key=lambda part: (-part.difference.copy_abs(), part.part))


def _part(
    name: str, currency: str, lines: Sequence[Decimal] | None, details: Sequence[DetailSum] | None
) -> InvoicePart:
    of_lines = exact_sum(lines) if lines else None
    invoiced = exact_sum(each.amount for each in details) if details else None
    texts = dict.fromkeys(each.description for each in details or () if each.description)
    return InvoicePart(
        part=name or "(none)",
        description="; ".join(list(texts)[:5]),
        lines_amount=of_lines,
        invoiced_amount=invoiced,
        difference=exact_difference(invoiced or Decimal(0), of_lines or Decimal(0)),
        currency=currency,
    )


def _lines(currency: str, lines: Sequence[LineSum]) -> list[InvoiceLines]:
    """Return the lines by charge category and service, largest first; the smallest of many form one group."""
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for line in lines:
        groups[line.charge_category, line.service].append(line.amount)
    amounts = {key: exact_sum(some) for key, some in groups.items()}
    ranked = sorted(amounts, key=lambda key: (-amounts[key].copy_abs(), key))
    if len(ranked) > MAX_LINES:
        other_key = "", f"{len(ranked) - MAX_LINES + 1} other groups"
        amounts[other_key] = exact_sum(amounts[key] for key in ranked[MAX_LINES - 1 :])
        ranked = [*ranked[: MAX_LINES - 1], other_key]
    return [
        InvoiceLines(charge_category=key[0], service=key[1], lines_amount=amounts[key], currency=currency)
        for key in ranked
    ]


_URGENCY: Final[Mapping[Status, int]] = {
    "differs": 0,
    "no_lines": 1,
    "rounding": 2,
    "no_invoice_detail": 3,
    "not_invoiced": 4,
    "matches": 5,
}


def _sort_key(row: InvoiceRow) -> tuple[int, int, str, Decimal, str, str, str]:
    size = row.lines_amount if row.difference is None else row.difference
    return (
        -row.billing_period.toordinal(),
        _URGENCY[row.status],
        row.currency,
        -(size or Decimal(0)).copy_abs(),
        row.issuer,
        row.invoice,
        row.billing_account,
    )
