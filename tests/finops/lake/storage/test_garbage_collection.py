"""Files that count no more, and files that never counted: how long they stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage import garbage_collection, segments
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.facts import JANUARY, line, manifest_rows, store, swap, total, write

pytestmark = pytest.mark.django_db


def exists(segment: LakeSegment | segments.NewSegment) -> bool:
    return Path(storage().local(segment.path, segment.checksum)).exists()


def age(segment: LakeSegment | segments.NewSegment, hours: float) -> None:
    """Make the file that old; the sweep goes by the storage's own times."""
    then = time.time() - hours * 3600
    os.utime(storage().local(segment.path, segment.checksum), (then, then))


def test_a_retired_file_stays_an_hour_and_then_goes(cast: Cast) -> None:
    for cost in (1, 3, 2):
        store(cast.account, [line(JANUARY, cost)])
    old, previous, live = manifest_rows(cast.account)
    with clock.frozen(datetime.now(UTC) + timedelta(minutes=59)):
        assert garbage_collection.sweep().retired == 0
    assert exists(old)
    with clock.frozen(datetime.now(UTC) + timedelta(minutes=61)):
        assert garbage_collection.sweep().retired == 1
    assert not exists(old)
    assert manifest_rows(cast.account) == [previous, live]
    assert total(cast.account) == 2


def test_the_previous_version_of_a_month_stays_for_14_days(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(JANUARY, 2)])
    old, live = manifest_rows(cast.account)
    with clock.frozen(datetime.now(UTC) + timedelta(days=13)):
        assert garbage_collection.sweep().retired == 0
    assert exists(old)
    with clock.frozen(datetime.now(UTC) + timedelta(days=15)):
        assert garbage_collection.sweep().retired == 1
    assert manifest_rows(cast.account) == [live]


def test_a_deleted_source_has_no_previous_version(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(JANUARY, 2)])
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=1)
    with clock.frozen(datetime.now(UTC) + timedelta(hours=2)):
        assert garbage_collection.sweep().retired == 2
    assert manifest_rows(cast.account) == []


def test_a_sweep_interrupted_between_file_and_row_is_finished_by_the_next(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [])
    (segment,) = manifest_rows(cast.account)
    storage().delete(segment.path)
    with clock.frozen(datetime.now(UTC) + timedelta(hours=2)):
        garbage_collection.sweep()
    assert manifest_rows(cast.account) == []


def test_an_orphan_goes_after_a_day_and_a_named_file_never(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    orphan = write(cast.account, [line(JANUARY, 2)])
    age(manifest_rows(cast.account)[0], 1_000)
    age(orphan, 23)
    garbage_collection.sweep()
    assert exists(orphan)
    age(orphan, 25)
    garbage_collection.sweep()
    assert not exists(orphan)
    assert total(cast.account) == 1


def test_the_files_of_a_deleted_account_become_orphans(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    (segment,) = manifest_rows(cast.account)
    segment.delete()
    age(segment, 25)
    garbage_collection.sweep()
    assert not exists(segment)


def test_discarded_files_go_at_once_unless_a_row_names_them(cast: Cast) -> None:
    current, dropped = (write(cast.account, [line(JANUARY, cost)]) for cost in (1, 2))
    swap(cast.account, current)
    segments.discard([current, dropped])
    assert (exists(current), exists(dropped)) == (True, False)


KILLED_WRITER = """
import os, sys, time
import django
django.setup()
from accounts.models import Account
from tests.finops.lake.facts import JANUARY, line, write
segment = write(Account(pk=int(sys.argv[1])), [line(JANUARY, 2)])
print(segment.path, flush=True)
{until_killed}
"""
BETWEEN_WRITE_AND_SWAP = "time.sleep(600)"
IN_THE_MIDDLE_OF_A_FILE = """
from finops.lake.storage.storage import storage
half = storage().new_file()
half.write_bytes(b"PAR1 half a segment")
print(half.name, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("until_killed", [BETWEEN_WRITE_AND_SWAP, IN_THE_MIDDLE_OF_A_FILE])
def test_a_kill_before_the_swap_leaves_only_an_orphan_that_the_sweep_removes(
    cast: Cast, until_killed: str
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    before = {file.path for file in storage().files()}
    _run_and_kill(
        KILLED_WRITER.format(until_killed=until_killed), str(cast.account.pk), until_killed.count("print") + 1
    )
    orphans = {file.path for file in storage().files()} - before
    assert len(orphans) == until_killed.count("print") + 1
    assert total(cast.account) == 1
    then = time.time() - 25 * 3600
    for path in orphans:
        os.utime(Path(django_settings.LAKE_URL, path), (then, then))
    assert garbage_collection.sweep().orphans >= len(orphans)
    assert orphans.isdisjoint(file.path for file in storage().files())
    assert total(cast.account) == 1


def _run_and_kill(program: str, argument: str, lines: int) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "finops.settings",
        "LAKE_URL": django_settings.LAKE_URL,
    }
    with subprocess.Popen(
        [sys.executable, "-c", program, argument],
        stdout=subprocess.PIPE,
        env=environment,
        cwd=django_settings.BASE_DIR,
        text=True,
    ) as child:
        assert child.stdout is not None
        for _ in range(lines):
            assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
