"""The short form of `make chaos`, without its times: a fault of each group, with nothing lost and everything well after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos.faults import SHORT
from tests.chaos.run import run_in
from tests.chaos.services import running
from tests.database_template import migrate_console

SECONDS = 2.0
TENANTS = 3
ROOM = 512 * 1024**2

pytestmark = [pytest.mark.xdist_group("chaos"), pytest.mark.long]


def test_beside_a_fault_of_each_group_nothing_is_lost_and_no_answer_is_500(django_db_setup: None) -> None:
    faults = [replace(fault, seconds=SECONDS) for fault in SHORT]
    with running(
        seed=14, processes=1, disk_bytes=ROOM, prepare=migrate_console, LOW_DISK_BYTES=str(ROOM // 8)
    ) as stack:
        report = run_in(stack, faults, tenants=TENANTS, rest=0.0, warm_up=SECONDS, between=0.0)

    assert report.wrong == []
    assert len(report.spans) + len(report.omitted) == len(faults)
    for book in report.books.values():
        assert book["acknowledged"] > 0
