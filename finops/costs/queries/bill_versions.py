"""The changes of a billing month by its newest import: lines added, removed and changed, and sums that add up."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa
from msgspec import Meta

from accounts.models import Account
from finops.costs.models import CostSource
from finops.costs.queries.closed_months import signed_amount
from finops.costs.queries.invoices import parse_month
from finops.lake.storage.month_versions import compare_lines, months_with_versions, versions_of
from finops.lib.answers import AccountAnswer, AccountRef
from finops.lib.money import exact_difference, exact_sum
from finops.lib.sentences import join_with_and, quote

Status = Literal["added", "gone", "changed"]


class BillVersionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    month: Annotated[str, Meta(description="Billing month, such as 2026-05. Default: newest restated.")] = ""
    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class VersionSum(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of all statuses of a currency add up to its change."""

    status: Status
    currency: str
    lines_before: int
    lines_after: int
    billed_change: Decimal
    amortized_change: Decimal


class VersionTotal(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    billed_before: Decimal
    billed_after: Decimal
    billed_change: Decimal
    amortized_before: Decimal
    amortized_after: Decimal
    amortized_change: Decimal


# Lines that are equal except for amounts.
class VersionLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    __doc__ = None
    status: Status
    charge_date: date
    service: str
    account: str
    usage_type: str
    resource: str
    charge_category: str
    currency: str
    lines_before: int
    lines_after: int
    billed_before: Decimal
    billed_after: Decimal
    amortized_before: Decimal
    amortized_after: Decimal


class ComparedSource(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    replaced_on: date


class BillVersionsAnswer(AccountAnswer, frozen=True, kw_only=True):
    warnings: list[str]
    hint: str
    console_url: str = ""
    month: str
    sources: list[ComparedSource]
    totals: list[VersionTotal]
    parts: list[VersionSum]
    lines: list[VersionLine]
    truncated: str = ""


def compare_bill_versions(account: Account, query: BillVersionsQuery) -> BillVersionsAnswer:
    """Compare each source's month after its newest import with what that import replaced. One lake query over the
    month's files. Raises UserError for an invalid month."""
    months = [parse_month(query.month)] if query.month else months_with_versions(account)[:1]
    versions, other_sources = versions_of(account, months[0]) if months else ([], set())
    if not versions:
        return _nothing(account, f"{months[0]:%Y-%m}" if months else "")
    month = months[0]
    sums, largest = compare_lines(account, versions, most=query.limit + 1)
    lines = version_lines(largest)
    rows = sums.to_pylist()
    names = dict(CostSource.objects.values_list("pk", "name"))
    totals = [_total(currency, rows) for currency in sorted({row["currency"] for row in rows})]
    parts = [_part(row) for row in rows if row["status"] != "same"]
    uncompared = sorted(names.get(source, str(source)) for source in other_sources)
    return BillVersionsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(month, totals, parts, uncompared),
        warnings=[
            f"Not compared, as no replaced version is stored: {join_with_and([quote(name) for name in uncompared])}."
        ]
        if uncompared
        else [],
        hint="Lines without an id are compared by day, account, service, SKU, resource and charge; tags are not.",
        month=f"{month:%Y-%m}",
        sources=[
            ComparedSource(
                source=names.get(each.source_id, str(each.source_id)), replaced_on=each.replaced_at.date()
            )
            for each in versions
        ],
        totals=totals,
        parts=sorted(parts, key=lambda each: (each.currency, each.status)),
        lines=lines[: query.limit],
        truncated=f"Only the {query.limit:,} largest changes are listed." if len(lines) > query.limit else "",
    )


def _nothing(account: Account, month: str) -> BillVersionsAnswer:
    return BillVersionsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=f"No replaced version of {month or 'any month'} is stored: not imported again in the last 14 days.",
        warnings=[],
        hint="Replaced versions are stored for 14 days, the newest of each month and source.",
        month=month,
        sources=[],
        totals=[],
        parts=[],
        lines=[],
    )


def _total(currency: str, rows: list[dict[str, Any]]) -> VersionTotal:
    own = [row for row in rows if row["currency"] == currency]
    billed = [exact_sum(row[f"billed_{side}"] for row in own) for side in ("before", "after")]
    amortized = [exact_sum(row[f"effective_{side}"] for row in own) for side in ("before", "after")]
    return VersionTotal(
        currency=currency,
        billed_before=billed[0],
        billed_after=billed[1],
        billed_change=exact_difference(billed[1], billed[0]),
        amortized_before=amortized[0],
        amortized_after=amortized[1],
        amortized_change=exact_difference(amortized[1], amortized[0]),
    )


def _part(row: dict[str, Any]) -> VersionSum:
    return VersionSum(
        status=row["status"],
        currency=row["currency"],
        lines_before=row["lines_before"],
        lines_after=row["lines_after"],
        billed_change=exact_difference(row["billed_after"], row["billed_before"]),
        amortized_change=exact_difference(row["effective_after"], row["effective_before"]),
    )


def version_lines(largest: pa.Table) -> list[VersionLine]:
    """Return the second table of `compare_lines`."""
    return [_line(row) for row in largest.to_pylist()]


def _line(row: dict[str, Any]) -> VersionLine:
    return VersionLine(
        status=row["status"],
        charge_date=row["charge_date"],
        service=row["service"] or "",
        account=row["account_id"] or "",
        usage_type=row["usage_type"] or "",
        resource=row["resource_id"] or "",
        charge_category=row["charge_category"] or "",
        currency=row["currency"],
        lines_before=row["lines_before"],
        lines_after=row["lines_after"],
        billed_before=row["billed_cost_before"],
        billed_after=row["billed_cost_after"],
        amortized_before=row["effective_cost_before"],
        amortized_after=row["effective_cost_after"],
    )


def _summary(month: date, totals: list[VersionTotal], parts: list[VersionSum], alone: list[str]) -> str:
    left_out = f", without {len(alone)} source{'s' if len(alone) > 1 else ''} imported once" if alone else ""
    changes = [f"{signed_amount(each.billed_change, each.currency)} billed" for each in totals]
    added, removed, changed = (
        sum(
            each.lines_after if status != "gone" else each.lines_before
            for each in parts
            if each.status == status
        )
        for status in ("added", "gone", "changed")
    )
    return (
        f"The newest import of {month:%Y-%m} changed it by {join_with_and(changes)}{left_out}: {added} {'line' if added == 1 else 'lines'} added, "
        f"{removed} gone, {changed} changed."
    )
