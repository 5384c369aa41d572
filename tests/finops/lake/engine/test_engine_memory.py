"""The memory that queries leave in a process does not grow with the files read."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.lake.engine import duckdb as lake_duckdb
from finops.lake.storage.manifest import Manifest
from tests.cast import Cast
from tests.finops.lake.facts import JANUARY, line, store, total

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def lake(settings: Settings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path / "lake")


def bytes_of_duckdb() -> dict[str, int]:
    cursor = lake_duckdb.instance().connection.cursor()
    rows = cursor.execute("SELECT tag, memory_usage_bytes FROM duckdb_memory() WHERE memory_usage_bytes > 0")
    return dict(rows.fetchall())


def test_duckdb_keeps_nothing_of_files_that_it_has_read(cast: Cast) -> None:
    for amount in range(1, 6):
        store(cast.account, [line(JANUARY, amount)])
        assert total(cast.account) == amount

    assert bytes_of_duckdb() == {}


def manifest_of(account: Account) -> weakref.ref[Manifest]:
    sources = load_sources(account)
    assert load_sources(account) is sources
    return weakref.ref(sources.manifest)


def test_a_manifest_that_was_replaced_is_freed(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    before = manifest_of(cast.account)
    store(cast.account, [line(JANUARY, 2)])
    after = manifest_of(cast.account)
    gc.collect()

    assert before() is None
    assert after() is not None
