"""Deletion of an account by its owner: everything in the database and the lake, after a grace period.

Until then the account works and says on each page when it ends; its owner can restore it. Owner and admins get a mail at
each step. Other apps add functions that remove their files to `account_files`, since nothing here imports them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, connection, transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, MCPKey, Membership, OAuthConnection
from accounts.services.deletion_record import (
    add_progress,
    begin_record,
    finish_record,
    request_record,
    unfinished_numbers,
)
from accounts.services.mails import mail_deletion, mail_deletion_cancellation, mail_deletion_schedule
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.registry import Registry
from finops.worker.broker import publish

GRACE: Final = timedelta(days=14)
DELETE_TASK: Final = "accounts.delete_account"
CHUNK_ROWS: Final = 10_000
"""Rows a transaction: under a second, so that no other writer waits long for a lock."""

log = logging.getLogger(__name__)

account_files: Registry[Callable[[Account], int]] = Registry("remover of files")
"""Functions that remove files of an account and return how many. They run before the rows are deleted, and may run twice.
"""


@transaction.atomic
def ask_for_deletion(*, account: Account, actor: Actor, name: str) -> datetime:
    """Schedule the account's deletion in 14 days; return the time. Raises UserError unless `name` is exactly the account's."""
    account = Account.objects.select_for_update().get(pk=account.pk)
    if name.strip() != account.name:
        raise UserError("Enter the exact name of the account.", field="name")
    if account.delete_after is None:
        account.delete_after = clock.now() + GRACE
        account.save(update_fields=["delete_after"])
        detail = {"delete_after": account.delete_after.isoformat()}
        audit.record(
            account=account, actor=actor, action="account.delete", target=account.name, detail=detail
        )
        mail_deletion_schedule(account=account, actor=actor, when=account.delete_after)
    return account.delete_after


@transaction.atomic
def restore_account(*, account: Account, actor: Actor) -> None:
    """Cancel the scheduled deletion of an account. Raises UserError when its deletion has begun."""
    account = Account.objects.select_for_update().get(pk=account.pk)
    if account.delete_after is None:
        return
    if account.delete_after <= clock.now():
        raise UserError("This account is being deleted.")
    account.delete_after = None
    account.save(update_fields=["delete_after"])
    audit.record(account=account, actor=actor, action="account.restore", target=account.name)
    mail_deletion_cancellation(account=account, actor=actor)


@transaction.atomic
def delete_now(*, account: Account, actor: Actor, name: str) -> None:
    """End the grace period: a worker begins at once, and the account cannot be restored. Raises UserError unless the
    deletion is scheduled and `name` is exactly the account's."""
    account = Account.objects.select_for_update().get(pk=account.pk)
    if name.strip() != account.name:
        raise UserError("Enter the exact name of the account.", field="name")
    if account.delete_after is None:
        raise UserError("Schedule the deletion first.")
    account.delete_after = min(account.delete_after, clock.now())
    account.save(update_fields=["delete_after"])
    audit.record(account=account, actor=actor, action="account.delete_now", target=account.name)
    request_record(account)
    transaction.on_commit(lambda: publish(DELETE_TASK, account.pk, expires=3_600))


def due_deletions() -> list[int]:
    """Accounts whose grace period is over, and those whose deletion was interrupted before its last count."""
    due = Account.objects.filter(delete_after__lte=clock.now()).values_list("pk", flat=True)
    return sorted({*due, *unfinished_numbers()})


def delete_account(*, account_id: int) -> bool:
    """Delete an account whose grace period is over, with every row and file, and return False when there is none. Its
    AccountDeletion has the progress, then the remaining counts.

    In chunks, each a transaction of its own; a killed run can be repeated, and two at once do no harm. Files that an import
    is writing at this moment are named by no row, and are removed by the lake's next sweeps.
    """
    account = Account.objects.filter(pk=account_id).first()
    if account is None:
        return account_id in unfinished_numbers() and _finish(account_id)
    if account.delete_after is None or account.delete_after > clock.now():
        return False
    begin_record(account, count_rows)
    with transaction.atomic():  # no access from now on
        mail_deletion(account=account)  # without recipients if an earlier run ended after this step
        Membership.objects.filter(account=account).delete()
        MCPKey.objects.unscoped().filter(account=account).delete()  # the account is being deleted
        OAuthConnection.objects.unscoped().filter(account=account).delete()  # with their tokens
    _remove_files(account)
    _delete_rows(account_id)
    with transaction.atomic():
        Account.objects.filter(
            pk=account_id
        ).delete()  # rows that no chunk could delete, and rows that refer to them
        rows = sum(
            _delete_chunk(table, account_id, limit=None) for table in _tables()
        )  # without foreign keys
    add_progress(account_id, rows=rows)
    _remove_files(account)
    return _finish(account_id)


def _remove_files(account: Account) -> None:
    add_progress(account.pk, files=sum(remove(account) for remove in account_files.values()))


def _finish(account_id: int) -> bool:
    record = finish_record(account_id, count_rows)
    log.warning(
        "account %s is deleted: %s rows and %s files", account_id, record.rows_deleted, record.files_deleted
    )
    if record.rows_left or record.files_left:
        log.error(
            "account %s is deleted, and is left: rows %s, files %s",
            account_id,
            record.rows_left,
            record.files_left,
        )
    return True


def count_rows(account_id: int) -> dict[str, int]:
    """Return the account's row count of each table, without empty ones: before a deletion the rows to delete, after it the
    proof that nothing is left. One statement, which counts every row."""
    counts = [
        f"SELECT '{table}', count(*) FROM {table} WHERE account_id = %(account)s"  # noqa: S608 a table's name from the catalogue
        for table in _tables()
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts), {"account": account_id})
        return {table: int(count) for table, count in cursor.fetchall() if count}


def _tables() -> list[str]:
    """Every table with rows of accounts, partitions separately, including tables without a model."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT c.oid::regclass::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
              AND a.attname = 'account_id' AND a.atttypid = 'bigint'::regtype AND NOT a.attisdropped
            ORDER BY 1
            """
        )
        return [row[0] for row in cursor.fetchall()]


def _delete_rows(account_id: int) -> None:
    """Delete rows table by table, referenced tables last: the order is found by trying, until nothing more can be deleted."""
    remaining_tables = _tables()
    while remaining_tables:
        blocked_tables = []
        for table in remaining_tables:
            try:
                while row_count := _delete_chunk(table, account_id, limit=CHUNK_ROWS):
                    add_progress(account_id, rows=row_count)
            except IntegrityError:
                blocked_tables.append(table)
        if len(blocked_tables) == len(remaining_tables):  # they refer to one another
            break
        remaining_tables = blocked_tables


def _delete_chunk(table: str, account_id: int, *, limit: int | None) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("  # noqa: S608 a table's name from the catalogue
            f"SELECT ctid FROM {table} WHERE account_id = %s LIMIT %s))",
            [account_id, limit],
        )
        row_count = cursor.rowcount
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        return int(row_count)
