"""Accounts that many tests only read, created once for a module: creating rows and files is often most of a test's
time.

A fixture of module scope creates the account inside `module_account`. Each test's transaction is nested in that one, so a
test's writes are removed before the next test, and the account after the last. Tests of real transactions cannot share
such an account.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from django.db import transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from finops.lib import clock


@contextmanager
def module_account(blocker: DjangoDbBlocker, var: Path, now: datetime) -> Iterator[None]:
    """Context manager for rows and files of several tests, each of which has a nested transaction; removed at the
    end."""
    with (
        override_settings(VAR_DIR=var, LAKE_URL=str(var / "lake")),
        clock.frozen(now),
        blocker.unblock(),
        transaction.atomic(),
    ):
        yield
        transaction.set_rollback(True)
