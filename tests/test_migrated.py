"""Who shares the database that a run of tests has migrated, and who has none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.migrated import template
from tests.postgres import RUN_DIR


@pytest.mark.django_db
def test_a_server_of_the_tests_copies_what_the_run_has_migrated() -> None:
    assert template() == f"migrated_{Path(os.environ[RUN_DIR]).name}"


def test_a_server_of_a_benchmark_which_is_no_run_migrates_a_database_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(RUN_DIR)
    assert template() is None
