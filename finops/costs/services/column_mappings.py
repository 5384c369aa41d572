"""Save the column mapping of a source, and run the imports that waited for it."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.scoping import account_scope, lock_account
from finops.costs.focus.report import COLUMNS_REVIEW
from finops.costs.mapping.document import MappingDocument, as_json, problems
from finops.costs.models import ColumnMapping, CostImport, CostSource
from finops.costs.services.imports import ask_worker
from finops.lib import clock


@transaction.atomic
def save_column_mapping(*, source: CostSource, document: MappingDocument, actor: Actor) -> ColumnMapping:
    """Set how the columns of the source's files become FOCUS, from the next import on. Replaces the earlier mapping,
    and imports the uploads that waited for it.

    Raises ValidationError that names each invalid field of the document, and what to do.
    """
    if wrong := problems(document):
        raise ValidationError({problem.field: problem.text for problem in reversed(wrong)})
    lock_account(source.account)
    with account_scope(source.account):
        row = ColumnMapping.objects.filter(source=source).first()
        before = row.content if row else None
        row = row or ColumnMapping(account=source.account, source=source)
        row.content, row.changed_at = as_json(document), clock.now()
        row.changed_by, row.changed_by_label = actor.user, actor.label[:254]
        row.full_clean()
        row.save()
        _audit(source, actor, "column_mapping.save", {"from": before, "to": row.content})
        _run_waiting_imports(source)
    return row


@transaction.atomic
def remove_column_mapping(*, source: CostSource, actor: Actor) -> None:
    """Delete the mapping: from now on only FOCUS and native formats are read. Does nothing without a mapping."""
    lock_account(source.account)
    with account_scope(source.account):
        row = ColumnMapping.objects.filter(source=source).first()
        if row is not None:
            row.delete()
            _audit(source, actor, "column_mapping.remove", {"from": row.content})


def _run_waiting_imports(source: CostSource) -> None:
    """Queue imports that waited for the mapping. The count of their attempts starts again: no process runs them."""
    for job in waiting_for_mapping(source):
        job.status, job.report, job.attempts = CostImport.Status.QUEUED, {}, 0
        job.bytes_done = job.rows = 0
        job.cancel_requested_at = None
        job.save(update_fields=["status", "report", "attempts", "bytes_done", "rows", "cancel_requested_at"])
        transaction.on_commit(lambda job=job: ask_worker(job))  # type: ignore[misc]


def waiting_for_mapping(source: CostSource) -> list[CostImport]:
    """Return the source's uploads that wait with their files for a mapping, oldest first. The account is in scope."""
    rows = CostImport.objects.select_related("account", "source").filter(
        source=source,
        status=CostImport.Status.WAITING,
        report__reviews__contains=[{"kind": COLUMNS_REVIEW}],
    )
    return list(rows.order_by("pk"))


def _audit(source: CostSource, actor: Actor, action: str, detail: dict[str, object]) -> None:
    audit.record(account=source.account, actor=actor, action=action, target=source.name, detail=detail)
