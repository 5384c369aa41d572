"""The short form of `make sync-faults`: what takes most down, each once, at a random moment of a sync."""

from __future__ import annotations

import pytest

from tests.chaos.syncs import run
from tests.database_template import migrate_console
from tests.long import also_long

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.slow]


@pytest.mark.parametrize("faults", [["worker", "database"], *also_long(["fetch", "broker"])], ids=" ".join)
def test_months_are_whole_and_nothing_is_doubled_whatever_is_killed_during_syncs(
    faults: list[str],
    django_db_setup: None,
) -> None:
    report = run(faults, seed=16, prepare=migrate_console)

    assert report.wrong == []
    assert report.rounds == len(faults)
