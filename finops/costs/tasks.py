"""Tasks of costs. No task depends on a broker message: the database decides which imports are due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport
from finops.costs.services import import_parts, part_attempts
from finops.costs.services.imports import RUN_TASK


@shared_task(name=RUN_TASK)
def run_cost_import(account_id: int, import_id: int) -> None:
    """Run one import of an account. Does nothing if it belongs to another account, is done, or runs elsewhere."""
    account = Account.objects.get(pk=account_id)
    with account_scope(account):
        is_of_account = CostImport.objects.filter(pk=import_id).exists()
    if is_of_account:
        services.run_import(import_id, in_child=True)


@shared_task(name="costs.run_due_imports")
def run_due_imports() -> None:
    """Every 15 seconds: start a task for each import whose message was lost, or whose process died."""
    for account_id, import_id in services.due_imports():
        run_cost_import.apply_async([account_id, import_id], expires=15)
    for account_id, import_id, open_parts in import_parts.due_parts():
        import_parts.ask_for_help(account_id, import_id, open_parts)


@shared_task(name=import_parts.PART_TASK)
def run_import_part(account_id: int, import_id: int) -> None:
    """Read one part of an account's large import, and ask for the next, so that tenants take turns. Does nothing if it
    belongs to another account, is done, or all its parts are read elsewhere."""
    with account_scope(Account.objects.get(pk=account_id)):
        is_of_account = CostImport.objects.filter(pk=import_id).exists()
    if is_of_account and part_attempts.help_import(import_id):
        import_parts.ask_for_help(account_id, import_id, 1)


@shared_task(name="costs.find_due_overlaps")
def find_due_overlaps() -> None:
    """Every minute: detect overlaps that finished imports did not detect."""
    services.find_due_overlaps()


@shared_task(name="costs.remove_forgotten_uploads")
def remove_forgotten_uploads() -> None:
    """Daily: discard imports without a decision for a month, and remove uploads that no import needs."""
    services.discard_forgotten_imports()
    services.remove_forgotten_uploads()


@shared_task(name="costs.refresh_completeness")
def refresh_completeness() -> None:
    """Every minute: compute the completeness of sources whose import did not compute it."""
    services.refresh_if_due()
