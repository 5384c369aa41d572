"""Close months: their sums are frozen; changes by later imports are recorded separately."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.focus.report import MonthChange
from finops.costs.models import ClosedMonth, ClosedMonthSum, CostSource
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segment_totals import totals_of
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from finops.lib.periods import month_end


@transaction.atomic
def close_month(*, account: Account, actor: Actor, month: date, note: str = "") -> ClosedMonth:
    """Freeze the sums of a billing month's lines (given its first day), by source and currency, in both bases.

    Later imports continue, but never change these sums. Raises UserError for a month that is not over, has no lines,
    or is already closed. Cost: the month's files are read (0.1 s per million lines), and imports into its sources
    wait meanwhile.
    """
    name = f"{month:%Y-%m}"
    if month_end(month) >= clock.today():
        raise UserError(f"{name} has not ended and cannot be closed.", field="month", value=name)
    with account_scope(account):
        if ClosedMonth.objects.filter(month=month).exists():
            raise UserError(f"{name} is already closed.", field="month", value=name)
        sums = _sums(account, month)
        if not sums:
            raise UserError(f"{name} has no cost lines to close.", field="month", value=name)
        row = ClosedMonth(
            account=account,
            month=month,
            closed_at=clock.now(),
            closed_by=actor.user,
            closed_by_label=actor.label[:254],
            note=note.strip(),
        )
        row.full_clean()
        row.save(force_insert=True)
        for each in sums:
            each.closed_month = row
        ClosedMonthSum.objects.bulk_create(sums)
    _record(row, actor, "month.close", sums)
    return row


@transaction.atomic
def reopen_month(*, closed: ClosedMonth, actor: Actor) -> None:
    """Reopen a closed month; the audit log keeps its frozen and restated sums."""
    with account_scope(closed.account):
        _record(closed, actor, "month.reopen", list(closed.sums.all()))
        closed.delete()


def restate(source: CostSource, changes: Iterable[MonthChange]) -> None:
    """Record an import's new sums for the source's closed months. Call in the import's transaction with the account
    in scope: one query when no month is closed."""
    closed = {f"{row.month:%Y-%m}": row for row in ClosedMonth.objects.all()}
    for change in changes:
        row = closed.get(change.month)
        before = change.billed_before, change.effective_before
        if row is None or before == (change.billed_after, change.effective_after):
            continue
        ClosedMonthSum.objects.update_or_create(
            closed_month=row,
            source_id=source.pk,
            currency=change.currency,
            defaults={
                "account": source.account,
                "source_name": source.name,
                "billed_now": change.billed_after,
                "effective_now": change.effective_after,
                "restated_at": clock.now(),
            },
        )


def restate_removed_source(source: CostSource) -> None:
    """Do the same for a source that is deleted with its lines."""
    ClosedMonthSum.objects.filter(source_id=source.pk).update(
        billed_now=0, effective_now=0, restated_at=clock.now()
    )


def _sums(account: Account, month: date) -> list[ClosedMonthSum]:
    names = dict(CostSource.objects.values_list("pk", "name"))
    for source_id in sorted(names):
        segments.lock_source(account, Kind.COST, source_id)
    live = list(LakeSegment.objects.filter(kind=Kind.COST, month=month, retired_at__isnull=True))
    totals = totals_of(account, live)
    if len(totals) < len(live):
        raise UserError(
            f"A file of {month:%Y-%m} cannot be read just now, so the month cannot be closed. Try again in a minute."
        )
    sums: dict[tuple[int, str], ClosedMonthSum] = {}
    for segment in live:
        for currency, (_rows, billed, effective) in totals[segment.path].sums.items():
            key = segment.source_id, currency
            row = sums.setdefault(
                key,
                ClosedMonthSum(
                    account=account,
                    source_id=segment.source_id,
                    source_name=names.get(segment.source_id, ""),
                    currency=currency,
                ),
            )
            row.billed_cost = row.billed_now = exact_sum([row.billed_cost, billed])
            row.effective_cost = row.effective_now = exact_sum([row.effective_cost, effective])
    return list(sums.values())


def _record(row: ClosedMonth, actor: Actor, action: str, sums: Iterable[ClosedMonthSum]) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=action,
        target=str(row),
        detail={
            "note": row.note,
            "sums": [
                {
                    "source": each.source_name,
                    "currency": each.currency,
                    "billed": str(each.billed_cost),
                    "effective": str(each.effective_cost),
                    "billed_now": str(each.billed_now),
                    "effective_now": str(each.effective_now),
                }
                for each in sums
            ],
        },
    )
