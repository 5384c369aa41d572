"""What the worker does for costs. Nothing depends on a message: the database says which imports are due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostImport
from finops.costs.services.imports import RUN_TASK


@shared_task(name=RUN_TASK)
def run_cost_import(account_id: int, import_id: int) -> None:
    """Do one import of an account; one that is another account's, done, or run elsewhere is left alone."""
    account = Account.objects.get(pk=account_id)
    with account_scope(account):
        is_theirs = CostImport.objects.filter(pk=import_id).exists()
    if is_theirs:
        services.run_import(import_id, in_child=True)


@shared_task(name="costs.run_due_imports")
def run_due_imports() -> None:
    """Every 15 seconds: imports whose message was lost, or whose process died, become a task each."""
    for account_id, import_id in services.due_imports():
        run_cost_import.apply_async([account_id, import_id], expires=15)


@shared_task(name="costs.find_due_overlaps")
def find_due_overlaps() -> None:
    """Every minute: what finished imports have left to look for in other sources."""
    services.find_due_overlaps()


@shared_task(name="costs.remove_forgotten_uploads")
def remove_forgotten_uploads() -> None:
    """Daily: imports that nobody decided about for a month, and uploads that no import will read any more."""
    services.discard_forgotten_imports()
    services.remove_forgotten_uploads()


@shared_task(name="costs.refresh_completeness")
def refresh_completeness() -> None:
    """Every minute: how complete the days of sources are, where an import could not say it itself."""
    services.refresh_if_due()
