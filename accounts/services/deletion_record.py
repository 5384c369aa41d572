"""The record of an account's deletion: its progress, then the proof that nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db.models import F

from accounts.models import Account, AccountDeletion, AuditEntry
from finops.lib import clock
from finops.lib.registry import Registry

RETENTION: Final = timedelta(days=365)

remaining_files: Registry[Callable[[int], int]] = Registry("count of files")
"""Functions that count the files of an account, by its id, whether or not rows name them."""


def request_record(account: Account) -> AccountDeletion:
    """Return the record of the account's deletion, which an earlier run may have created."""
    record = AccountDeletion.objects.filter(account_number=account.pk).first()
    if record is not None:
        return record
    # Unscoped: the account is a parameter.
    entries = AuditEntry.objects.unscoped().filter(account=account, action__startswith="account.delete")
    label = entries.order_by("-pk").values_list("actor_label", flat=True).first()
    defaults = {"name": account.name, "actor_label": label or ""}
    return AccountDeletion.objects.get_or_create(account_number=account.pk, defaults=defaults)[0]


def begin_record(account: Account, count_rows: Callable[[int], dict[str, int]]) -> None:
    """Count every row of the account, in the first run only."""
    record = request_record(account)
    if not record.rows_before:
        record.rows_before = count_rows(account.pk)
        record.rows_total = sum(record.rows_before.values())
        record.save(update_fields=["rows_before", "rows_total"])


def add_progress(account_number: int, *, rows: int = 0, files: int = 0) -> None:
    """Add to the progress. One statement."""
    AccountDeletion.objects.filter(account_number=account_number).update(
        rows_deleted=F("rows_deleted") + rows, files_deleted=F("files_deleted") + files
    )


def finish_record(account_number: int, count_rows: Callable[[int], dict[str, int]]) -> AccountDeletion:
    """Count the remaining rows and files, after the account's deletion."""
    record = AccountDeletion.objects.get(account_number=account_number)
    record.rows_left = count_rows(account_number)
    record.files_left = sum(count(account_number) for count in remaining_files.values())
    # Some rows were deleted by cascades, which are not counted.
    record.rows_deleted = max(record.rows_deleted, record.rows_total - sum(record.rows_left.values()))
    record.finished_at = clock.now()
    record.save(update_fields=["rows_left", "files_left", "rows_deleted", "finished_at"])
    return record


def unfinished_numbers() -> list[int]:
    """Ids of accounts whose deletion began and has no proof yet: a run was interrupted."""
    return list(AccountDeletion.objects.filter(finished_at=None).values_list("account_number", flat=True))


def remove_old_records() -> int:
    """Delete records older than a year, and return how many."""
    count, _by_model = AccountDeletion.objects.filter(finished_at__lt=clock.now() - RETENTION).delete()
    return count
