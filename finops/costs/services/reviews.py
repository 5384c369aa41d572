"""Decisions on imports that need review, and the thresholds for reviews."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.focus.report import COLUMNS_REVIEW, ImportReport
from finops.costs.import_decision import ADD, REPLACE, Decision, reviewed_sums
from finops.costs.models import CostImport, ImportReviewSettings
from finops.costs.services import claims, files
from finops.costs.services.import_commit import as_json
from finops.costs.services.imports import ask_next, ask_worker
from finops.lib import clock
from finops.lib.errors import UserError

WAITING_RETENTION: Final = timedelta(days=30)
"""The age at which an import without a decision is discarded, with its files."""


@transaction.atomic
def confirm_import(*, job: CostImport, actor: Actor, choices: Mapping[str, str] | None = None) -> None:
    """Confirm an import that waits for review: queue it again, to be read again.

    `choices` are `replace` or `add` (as corrections) by month (2026-09), where the review offers both; by default the
    review's own. If the source's sums changed since the review, it waits again. UserError when it does not wait, or
    for a choice that the review does not offer.
    """
    import_row = _lock_import(job)
    report = msgspec.convert(import_row.report, ImportReport, strict=False)
    if any(review.kind == COLUMNS_REVIEW for review in report.reviews):
        raise UserError("Map the columns of the files first.")
    months = {review.month: review.action for review in report.reviews if review.may_choose}
    for month, choice in (choices or {}).items():
        if month not in months or choice not in (ADD, REPLACE):
            raise UserError(f"{month} cannot be imported as {choice!r}.", field="choices", value=choice)
        months[month] = choice
    decision = Decision(
        months=months,
        seen=reviewed_sums(report.changes),
        copies=[review.import_id for review in report.reviews if review.import_id],
        attempts=import_row.attempts,
    )
    import_row.status = CostImport.Status.QUEUED
    import_row.decision = as_json(decision)
    import_row.bytes_done = import_row.rows = 0
    import_row.cancel_requested_at = None
    import_row.save(update_fields=["status", "decision", "bytes_done", "rows", "cancel_requested_at"])
    _audit(import_row, actor, "cost_import.confirm", {"months": months})
    transaction.on_commit(lambda: ask_worker(import_row))


@transaction.atomic
def discard_import(*, job: CostImport, actor: Actor) -> None:
    """Discard an import that waits for review or its turn, with its files. UserError when it runs or has ended."""
    import_row = _lock_import(job, CostImport.Status.QUEUED)
    import_row.status = CostImport.Status.DISCARDED
    import_row.finished_at = clock.now()
    import_row.save(update_fields=["status", "finished_at"])
    _audit(import_row, actor, "cost_import.discard", {})
    transaction.on_commit(lambda: files.remove(import_row.files))


@transaction.atomic
def cancel_import(*, job: CostImport, actor: Actor) -> CostImport:
    """Cancel an import: a waiting one ends now, a running one between two batches; the source's data is unchanged.
    Idempotent. UserError when it has ended or waits for review."""
    row = (
        CostImport.objects.select_for_update(of=("self",)).select_related("source", "account").get(pk=job.pk)
    )
    if row.status not in (CostImport.Status.QUEUED, CostImport.Status.RUNNING):
        raise UserError(
            f"This import is {CostImport.Status(row.status).label.lower()} and can no longer be canceled."
        )
    if row.cancel_requested_at is not None:
        return row
    row.cancel_requested_at = clock.now()
    if row.status == CostImport.Status.QUEUED:
        row.status, row.finished_at = CostImport.Status.CANCELED, row.cancel_requested_at
        transaction.on_commit(lambda: files.remove(row.files))
        transaction.on_commit(lambda: ask_next(row))
    row.save(update_fields=["status", "finished_at", "cancel_requested_at"])
    _audit(row, actor, "cost_import.cancel", {"stage": row.stage})
    return row


def discard_forgotten_imports() -> int:
    """Discard imports that waited a month for a decision, and return their number."""
    count = 0
    for job in claims.waiting_imports():
        if job.created_at < clock.now() - WAITING_RETENTION:
            with account_scope(job.account):
                discard_import(job=job, actor=Actor(label="Not reviewed for 30 days"))
            count += 1
    return count


def _lock_import(job: CostImport, *statuses: CostImport.Status) -> CostImport:
    row = (
        CostImport.objects.select_for_update(of=("self",)).select_related("source", "account").get(pk=job.pk)
    )
    if row.status not in (CostImport.Status.WAITING, *statuses):
        raise UserError(
            f"This import no longer needs review: it is {CostImport.Status(row.status).label.lower()}."
        )
    return row


def _audit(job: CostImport, actor: Actor, action: str, detail: dict[str, Any]) -> None:
    audit.record(
        account=job.account,
        actor=actor,
        action=action,
        target=f"{job.source.name}: {job.file_name}",
        detail=detail,
    )


@transaction.atomic
def change_import_review(
    *, account: Account, actor: Actor, fall_percent: int, growth_percent: int, least_amount: Decimal
) -> ImportReviewSettings:
    """Set the changes of a month from which imports need review. Raises ValidationError for values out of range."""
    row, _created = ImportReviewSettings.objects.select_for_update().get_or_create(account=account)
    before = _audit_snapshot(row)
    row.fall_percent, row.growth_percent, row.least_amount = fall_percent, growth_percent, least_amount
    row.full_clean(exclude=["account"])
    row.save()
    audit.record(
        account=account,
        actor=actor,
        action="import_review.change",
        target="import review",
        detail={"from": before, "to": _audit_snapshot(row)},
    )
    return row


def _audit_snapshot(row: ImportReviewSettings) -> dict[str, str]:
    return {name: str(getattr(row, name)) for name in ("fall_percent", "growth_percent", "least_amount")}
