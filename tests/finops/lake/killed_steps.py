"""Flush, merge and void for workers that are killed at one of their steps (`tests.killed_workers`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any
from uuid import UUID

from accounts.models import Account
from finops.lake.usage.compaction import tidy_usage
from finops.lake.usage.flush import flush_usage
from finops.lake.usage.usage_removal import void_batch
from tests.finops.lake.steps import watching


def run_operation(at: Callable[[str], None], operation: str, account_id: int, *arguments: Any) -> None:
    """Call `at` before and after each step of "flush", "merge" or "void"."""
    with watching(at):
        OPERATIONS[operation](Account.objects.get(pk=account_id), *arguments)


def _void(account: Account, batch: str) -> None:
    void_batch(account=account, source_id=1, batch=UUID(batch), first_day=date.min, last_day=date.max)


OPERATIONS: dict[str, Callable[..., object]] = {"flush": flush_usage, "merge": tidy_usage, "void": _void}
