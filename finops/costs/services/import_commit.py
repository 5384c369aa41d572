"""The last step of an import: compute its changes, then commit it, hold it for review, or refuse it."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final, Protocol

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from finops.costs.focus.datasets import BillingPeriodRow, Commitment, InvoiceDetailRow
from finops.costs.focus.months import NOTHING, MonthInFiles, Sums
from finops.costs.focus.report import ImportReport, Review
from finops.costs.import_decision import Decision, month_of, name_of
from finops.costs.import_plan import ImportPlan, LiveMonth, Thresholds, plan_of
from finops.costs.models import (
    BillingPeriod,
    ClosedMonth,
    ContractCommitment,
    CostImport,
    ImportReviewSettings,
    InvoiceDetail,
)
from finops.costs.queries.closed_months import signed_amount
from finops.costs.services import claims
from finops.costs.services.closed_months import restate
from finops.costs.services.files import ImportedCopy, copies_of, lock_contents
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lake.storage.segment_totals import SegmentTotals, totals_of
from finops.lake.storage.segments import NewSegment
from finops.lib import clock
from finops.lib.money import exact_difference
from finops.lib.sentences import join_with_and
from finops.notifications.models import Notification
from finops.notifications.services import notify, page_path


class Bill(Protocol):
    """What was read of an import's files, in one piece or in parts."""

    @property
    def file_months(self) -> Mapping[date, MonthInFiles]: ...
    @property
    def report(self) -> ImportReport: ...
    @property
    def commitments(self) -> list[Commitment] | None: ...
    @property
    def invoice_details(self) -> Sequence[InvoiceDetailRow]: ...
    @property
    def billing_periods(self) -> Sequence[BillingPeriodRow]: ...


MOVED: Final = "The source changed after this import was reviewed. Review it again."

AUDITED_MONTHS: Final = 60
"""The maximum of changed months and currencies in an audit entry; the import's report has all."""


def commit_import(
    job: CostImport, bill: Bill, new_segments: Sequence[NewSegment], hashes: Sequence[str]
) -> bool:
    """Commit the written segments in one transaction, or hold the import for review. False when it is held.

    The source is locked from comparing to replacing, so that exactly what was compared is replaced.
    """
    segment_totals = _totals(
        job, bill, {}
    )  # before the lock, because reading files takes time and files never change
    with transaction.atomic():
        segments.lock_source(job.account, Kind.COST, job.source_id)
        totals = _totals(job, bill, segment_totals)
        live = _live_months(_touched_segments(job, bill), totals)
        decision = decision_of(job)
        plan = plan_of(bill.file_months, live, thresholds(), decision)
        lock_contents(job.account)
        names = [file["name"] for file in job.files]
        report = _report(bill.report, plan, job, copies_of(job, dict(zip(hashes, names, strict=True))))
        claims.fence.update(job, content_hashes=list(hashes))
        copy_ids = [review.import_id for review in report.reviews if review.import_id]
        if decision is not None and not decision.covers(plan.changes, copy_ids):
            report.reviews.insert(0, Review(kind="moved", reason=MOVED))
        if _may_commit(job, report, decision):
            _finish(job, bill, new_segments, plan, report)
            return True
        _hold(job, report)
        return False


def decision_of(job: CostImport) -> Decision | None:
    """Return the decision on the import, if there is one."""
    return msgspec.convert(job.decision, Decision, strict=False) if job.decision else None


def thresholds() -> Thresholds:
    """Return the changes from which an import needs review, for the account in scope."""
    review_settings = ImportReviewSettings.objects.first() or ImportReviewSettings()
    return Thresholds(
        fall=Decimal(review_settings.fall_percent) / 100,
        growth=Decimal(review_settings.growth_percent) / 100,
        least=Decimal(review_settings.least_amount),
    )


def as_json(struct: Any) -> Any:
    """Return the value for a JSON column: amounts as text, to the last digit."""
    return msgspec.to_builtins(struct, builtin_types=())


def _may_commit(job: CostImport, report: ImportReport, decision: Decision | None) -> bool:
    if job.origin == CostImport.Origin.SYNC or not report.reviews:
        return True
    return decision is not None and all(review.kind != "moved" for review in report.reviews)


def _touched_segments(job: CostImport, bill: Bill) -> list[LakeSegment]:
    """Return the segments that the import may replace; without any, the newest, which has the billing account."""
    live = segments.live_of_source(job.account, Kind.COST, job.source_id)
    decision = decision_of(job)
    months = {
        *bill.file_months,
        *([month_of(decision.sync_month)] if decision and decision.sync_month else []),
    }
    carried = {each.month for each in live if each.carried_by in months}
    touched = [each for each in live if each.month in months or each.month in carried]
    return touched or live[-1:]


def _totals(job: CostImport, bill: Bill, totals: dict[str, SegmentTotals]) -> dict[str, SegmentTotals]:
    unread = (each for each in _touched_segments(job, bill) if each.path not in totals)
    return totals | totals_of(job.account, unread)


def _live_months(live: Sequence[LakeSegment], totals: Mapping[str, SegmentTotals]) -> list[LiveMonth]:
    """Return the months of these segments; one that was imported in parts has several."""
    months: dict[tuple[date, date | None], list[SegmentTotals | None]] = defaultdict(list)
    for segment in live:
        months[segment.month, segment.carried_by].append(totals.get(segment.path))
    return [_live_month(month, carried_by, each) for (month, carried_by), each in months.items()]


def _live_month(month: date, carried_by: date | None, parts: Sequence[SegmentTotals | None]) -> LiveMonth:
    sums: dict[str, Sums] = {}
    days: set[date] = set()
    providers: set[str] = set()
    for part in parts:
        if part is None:
            return LiveMonth(month, carried_by, None)
        for currency, amounts in part.sums.items():
            sums[currency] = sums.get(currency, NOTHING).plus(Sums(*amounts))
        days |= part.days
        providers |= part.providers
    return LiveMonth(month, carried_by, sums, days, providers)


def _report(
    report: ImportReport, plan: ImportPlan, job: CostImport, copies: Sequence[ImportedCopy]
) -> ImportReport:
    carried = {name_of(month): name_of(by) for month, by in plan.parts.carried.items()}
    return msgspec.structs.replace(
        report,
        months=[
            msgspec.structs.replace(month, carried_by=carried.get(month.month, "")) for month in report.months
        ],
        changes=plan.changes,
        reviews=[*(copy.review for copy in copies if copy.source_id != job.source_id), *plan.reviews],
        notes=[
            *_restatement_notes(plan),
            *(copy.note for copy in copies if copy.source_id == job.source_id),
            *plan.notes,
        ],
    )


def _restatement_notes(plan: ImportPlan) -> list[str]:
    """Return notes that the import restates closed months."""
    changes: dict[str, list[str]] = defaultdict(list)
    for each in plan.changes:
        if (each.billed_before, each.effective_before) != (each.billed_after, each.effective_after):
            changes[each.month].append(
                signed_amount(exact_difference(each.billed_after, each.billed_before), each.currency)
            )
    closed = ClosedMonth.objects.filter(month__in=[month_of(name) for name in changes]).order_by("month")
    return [
        (
            f"{row} is closed and keeps its figures; this import restates it by "
            f"{join_with_and(changes[str(row)])} billed."
        )
        for row in closed
    ]


def _finish(
    job: CostImport,
    bill: Bill,
    new_segments: Sequence[NewSegment],
    plan: ImportPlan,
    report: ImportReport,
) -> None:
    """Commit everything or nothing."""
    months = sorted(plan.parts.whole)
    claims.fence.update(
        job,
        status=CostImport.Status.DONE,
        stage="",
        bytes_done=job.bytes_total,
        rows=report.rows,
        months=[name_of(month) for month in months],
        report=as_json(report),
        error="",
        finished_at=clock.now(),
        parts=None,
    )
    carried = plan.parts.carried
    segments.swap_segments(
        account=job.account,
        kind=Kind.COST,
        source_id=job.source_id,
        months=months,
        new=[dataclasses.replace(each, carried_by=carried.get(each.month)) for each in new_segments],
    )
    replace_other_datasets(job, bill)
    restate(job.source, plan.changes)
    _audit(job, "cost_import.finish", report, months)


def _hold(job: CostImport, report: ImportReport) -> None:
    """Commit nothing: an upload waits for a decision, a command is refused."""
    why = " ".join(review.reason for review in report.reviews)
    waits = job.origin == CostImport.Origin.UPLOAD
    claims.fence.update(
        job,
        status=CostImport.Status.WAITING if waits else CostImport.Status.FAILED,
        stage="",
        bytes_done=job.bytes_total,
        rows=report.rows,
        report=as_json(report),
        decision={},
        error="" if waits else f"Nothing was imported: review needed. {why}",
        finished_at=None if waits else clock.now(),
        parts=None,
    )
    _audit(job, "cost_import.wait" if waits else "cost_import.refuse", report, [])
    if job.origin != CostImport.Origin.SYNC:
        verb = "needs review" if waits else "failed"
        notify(
            account=job.account,
            kind=Notification.Kind.IMPORT,
            title=f"Import of {job.file_name} into {job.source.name} {verb}",
            text=why,
            path=page_path(job.account, "cost_import", import_id=job.pk),
            key=f"{job.pk}/{verb}",
        )


def _audit(job: CostImport, action: str, report: ImportReport, months: Sequence[date]) -> None:
    audit.record(
        account=job.account,
        actor=Actor(label=job.actor_label, user=job.actor_user),
        action=action,
        target=f"{job.source.name}: {job.file_name}",
        detail={
            "rows": report.rows,
            "months": [name_of(month) for month in months],
            "changes": [as_json(change) for change in report.changes[:AUDITED_MONTHS]],
            "reviews": [review.reason for review in report.reviews[:AUDITED_MONTHS]],
        },
    )


BATCH: Final = 1_000


def replace_other_datasets(job: CostImport, bill: Bill) -> None:
    """Replace the source's rows: all its commitments; its details of the same issuer, invoice and billing period; its
    billing periods of the same issuer and start. Call in the import's transaction."""
    if bill.commitments is not None:
        ContractCommitment.objects.filter(source=job.source).delete()
        _create(job, ContractCommitment, bill.commitments)
    _replace_details(job, bill)
    _replace_periods(job, bill)


def _replace_details(job: CostImport, bill: Bill) -> None:
    invoices: dict[tuple[str, date], set[str]] = defaultdict(set)
    for row in bill.invoice_details:
        invoices[row.issuer, row.billing_period].add(row.invoice_id)
    for (issuer, period), names in invoices.items():
        InvoiceDetail.objects.filter(
            source=job.source, issuer=issuer, billing_period=period, invoice_id__in=names
        ).delete()
    _create(job, InvoiceDetail, bill.invoice_details)


def _replace_periods(job: CostImport, bill: Bill) -> None:
    """Replace billing periods. If a file has several rows of one, the last counts: each is a later state."""
    newest = {(row.issuer, row.billing_period): row for row in sorted(bill.billing_periods, key=_age)}
    starts: dict[str, set[date]] = defaultdict(set)
    for issuer, period in newest:
        starts[issuer].add(period)
    for issuer, periods in starts.items():
        BillingPeriod.objects.filter(source=job.source, issuer=issuer, billing_period__in=periods).delete()
    _create(job, BillingPeriod, list(newest.values()))


def _age(row: Any) -> tuple[bool, Any]:
    return row.updated_at is not None, row.updated_at or row.period_start


def _create(job: CostImport, model: Any, rows: Any) -> None:
    instances = (model(account=job.account, source=job.source, **msgspec.structs.asdict(row)) for row in rows)
    model.objects.bulk_create(instances, batch_size=BATCH)
