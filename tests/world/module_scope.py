"""Worlds that many tests only read, made once a module: of a test's seconds, making its rows and files is often the most.

A fixture of module scope makes one inside `lasting`; each test's own transaction is nested in that one, so that what a
test writes is gone before the next, and the world after the last. Tests of real transactions cannot share one.
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
def module_world(blocker: DjangoDbBlocker, var: Path, now: datetime) -> Iterator[None]:
    """Rows and files that many tests see, each in a transaction of its own inside; gone at the end."""
    with (
        override_settings(VAR_DIR=var, LAKE_URL=str(var / "lake")),
        clock.frozen(now),
        blocker.unblock(),
        transaction.atomic(),
    ):
        yield
        transaction.set_rollback(True)
