"""The database that a run of tests has migrated: which servers share it."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests import database_template
from tests.database_template import dump_file, execute, restored, template
from tests.postgres import RUN_DIR


@pytest.mark.django_db
def test_a_server_of_the_tests_copies_what_the_run_has_migrated() -> None:
    assert template() == f"migrated_{Path(os.environ[RUN_DIR]).name}"


def test_a_server_of_a_benchmark_which_is_no_run_migrates_a_database_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(RUN_DIR)
    assert template() is None


@pytest.mark.django_db
def test_the_next_run_restores_what_this_one_has_migrated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if dump_file() is None:
        return  # nothing is dumped from a server that is not ours
    monkeypatch.setenv(RUN_DIR, str(tmp_path))
    name = restored()
    try:
        assert name == template() == f"migrated_{tmp_path.name}"
        with psycopg.connect(os.environ["DATABASE_URL"], dbname=name) as other:
            assert other.execute(_CONTENT).fetchall() == _applied_migrations()
    finally:
        execute(os.environ["DATABASE_URL"], f'DROP DATABASE IF EXISTS "{name}"')


@pytest.mark.django_db
def test_a_damaged_dump_is_removed_and_the_run_migrates_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / "migrated-damaged.sql"
    damaged.write_text("CREATE TABLE half (")
    monkeypatch.setenv(RUN_DIR, str(tmp_path))
    monkeypatch.setattr(database_template, "dump_file", lambda: damaged)

    assert restored() is None
    assert template() is None
    assert not damaged.exists()


_CONTENT = """
    SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT app, name, '', '' FROM django_migrations ORDER BY 1, 2
"""


def _applied_migrations() -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(_CONTENT)
        rows: list[tuple[str, ...]] = cursor.fetchall()
    return rows
