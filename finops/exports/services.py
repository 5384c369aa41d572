"""Exports of accounts: requested by an operator, written by a worker, kept for a week unless the account has another limit."""

from __future__ import annotations

import json
import logging
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import older_than_retention
from accounts.models import Account
from accounts.scoping import account_scope
from finops.configuration.services import export_configuration
from finops.costs.models import CostSource
from finops.exports.models import AccountExport
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.storage import storage
from finops.lake.usage.flush import flush_usage
from finops.lib import clock, disk
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.worker.broker import publish
from ingestion.models import UsageSource

RUN_TASK: Final = "exports.run"
EXPORT_DAYS: Final = "ACCOUNT_EXPORT_DAYS"
MAX_ATTEMPTS: Final = 3
ExportStatus = AccountExport.ExportStatus

log = logging.getLogger(__name__)


class _Cancellation(Exception):
    """The export that is being written was canceled."""


@transaction.atomic
def request_export(*, account: Account, actor: Actor) -> AccountExport:
    """Queue an export. Raises UserError while another one of the account is unfinished, LowDisk when disk space is low."""
    disk.check_disk()
    Account.objects.select_for_update(no_key=True).get(pk=account.pk)
    with account_scope(account):
        if AccountExport.objects.filter(status__in=[ExportStatus.QUEUED, ExportStatus.RUNNING]).exists():
            raise UserError("An export of this account is queued or running already.")
        export = AccountExport.objects.create(account=account, actor_label=actor.label[:254])
    audit.record(account=account, actor=actor, action="account.export", target=account.name)
    transaction.on_commit(lambda: publish(RUN_TASK, account.pk, export.pk, expires=3_600))
    return export


@transaction.atomic
def cancel_export(*, export: AccountExport, actor: Actor) -> None:
    """Cancel an export: a queued one now, a running one before its next file. Raises UserError once it has ended."""
    with account_scope(export.account):
        row = AccountExport.objects.select_for_update().get(pk=export.pk)
        if not row.is_unfinished:
            raise UserError(f"This export is {row.get_status_display().lower()} and cannot be canceled.")
        row.status, row.finished_at = ExportStatus.CANCELED, clock.now()
        row.save(update_fields=["status", "finished_at"])
    audit.record(
        account=export.account, actor=actor, action="account.export_cancel", target=export.account.name
    )


@transaction.atomic
def record_download(*, export: AccountExport, actor: Actor) -> Path:
    """Return the file and record its download in the account's audit log. Raises UserError for an export that is not done
    or has expired."""
    path = path_of(export)
    if export.status != ExportStatus.DONE or not path.is_file():
        raise UserError("This export is not available. Request another one.")
    detail = {"bytes": export.bytes}
    audit.record(
        account=export.account,
        actor=actor,
        action="account.export_download",
        target=export.account.name,
        detail=detail,
    )
    return path


def path_of(export: AccountExport) -> Path:
    return _folder() / f"{export.public_id}.zip"


def unfinished_exports() -> list[tuple[int, int]]:
    """Account and id of exports for a worker to check."""
    # Unscoped: the queue serves every account.
    rows = AccountExport.objects.unscoped().filter(status__in=[ExportStatus.QUEUED, ExportStatus.RUNNING])
    return list(rows.order_by("pk").values_list("account_id", "pk"))


def run_export(export_id: int) -> bool:
    """Write the export, or continue one whose process died; return False when it has ended, runs elsewhere, or disk space
    is low. An error is stored in its row."""
    if disk.low_disk():
        return False
    with advisory_lock(f"account export {export_id}") as has_lock:
        # Unscoped: a worker names the row itself.
        rows = AccountExport.objects.unscoped().select_related("account")
        export = rows.filter(pk=export_id, status__in=[ExportStatus.QUEUED, ExportStatus.RUNNING]).first()
        if not has_lock or export is None:
            return False
        export.status, export.attempts, export.files_done = ExportStatus.RUNNING, export.attempts + 1, 0
        if not _save_while_active(export, "status", "attempts", "files_done"):
            return False
        _attempt(export)
    return True


def _attempt(export: AccountExport) -> None:
    try:
        if export.attempts > MAX_ATTEMPTS:
            raise UserError("The export was interrupted three times.")
        with account_scope(export.account):
            _write(export)
    except _Cancellation:
        log.info("export %s was canceled", export.pk)
    except UserError as error:
        _end(export, ExportStatus.FAILED, error.message)
    except FileNotFoundError:
        _end(export, ExportStatus.FAILED, "Data changed while it was exported. Request another export.")
    except Exception:
        _end(export, ExportStatus.FAILED, "The export failed. The server's log has the reason.")
        log.exception("export %s failed", export.pk)
    else:
        _end(export, ExportStatus.DONE)


def _end(export: AccountExport, status: AccountExport.ExportStatus, error: str = "") -> None:
    export.status, export.error, export.finished_at = status, error, clock.now()
    fields = ("status", "error", "finished_at", "bytes", "files_done", "files_total")
    if not _save_while_active(export, *fields):
        path_of(export).unlink(missing_ok=True)


def _save_while_active(export: AccountExport, *fields: str) -> bool:
    """Save the row; return False without saving once the export was canceled."""
    # Unscoped: the row is named.
    rows = AccountExport.objects.unscoped().filter(pk=export.pk).exclude(status=ExportStatus.CANCELED)
    return rows.update(**{field: getattr(export, field) for field in fields}) == 1


def _write(export: AccountExport) -> None:
    flush_usage(export.account)
    segments = list(LakeSegment.objects.filter(retired_at=None).order_by("kind", "source_id", "month", "pk"))
    export.files_total = len(segments)
    partial = path_of(export).with_suffix(".partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("configuration.yaml", export_configuration(export.account))
            files = _write_segments(export, archive, segments)
            archive.writestr("manifest.json", json.dumps(_manifest(export, files), indent=2))
        export.bytes = partial.stat().st_size
        partial.rename(path_of(export))
    finally:
        partial.unlink(missing_ok=True)


def _write_segments(
    export: AccountExport, archive: zipfile.ZipFile, segments: Sequence[LakeSegment]
) -> list[dict[str, str | int]]:
    from finops.exports.focus_file import write_focus_file  # pyarrow, where an export runs

    files: list[dict[str, str | int]] = []
    for segment in segments:
        disk.check_disk()
        name = f"{segment.kind}/{segment.source_id}/{segment.month:%Y-%m}-{segment.pk}.parquet"
        with storage().original(segment.path) as path, tempfile.TemporaryDirectory(dir=_folder()) as folder:
            if segment.kind == Kind.COST:
                focus = Path(folder, "focus.parquet")
                rows = write_focus_file(path, focus)
                archive.write(focus, name)
            else:
                rows = segment.rows
                archive.write(path, name)
        files.append({"name": name, "rows": rows})
        export.files_done += 1
        if not _save_while_active(export, "files_done", "files_total"):
            raise _Cancellation
    return files


def _manifest(export: AccountExport, files: list[dict[str, str | int]]) -> dict[str, object]:
    return {
        "account": export.account.name,
        "exported_at": clock.now().isoformat(timespec="seconds"),
        "cost_sources": dict(CostSource.objects.values_list("pk", "name")),
        "usage_sources": dict(UsageSource.objects.values_list("pk", "name")),
        "files": files,
    }


def delete_old_exports() -> int:
    """Delete exports beyond their account's retention with their files, and return how many."""
    # Unscoped: the sweep serves every account.
    rows = AccountExport.objects.unscoped().filter(older_than_retention(EXPORT_DAYS, "finished_at"))
    for export in rows:
        path_of(export).unlink(missing_ok=True)
    return rows.delete()[0]


def remove_of_account(account: Account) -> int:
    """Delete the export files of an account that is being deleted, and return how many."""
    # Unscoped: the account is being deleted by a task.
    paths = [path_of(export) for export in AccountExport.objects.unscoped().filter(account=account)]
    stored = [path for path in paths if path.exists()]
    for path in stored:
        path.unlink(missing_ok=True)
    return len(stored)


def _folder() -> Path:
    folder = Path(settings.VAR_DIR) / "exports"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
