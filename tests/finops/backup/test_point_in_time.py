"""Point-in-time recovery as docs/operations.md describes it: a base backup, archived WAL, and the lake's files of a backup."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from finops.embedded import Cluster, throwaway_cluster
from tests.finops.backup.machine import KEYS, run
from tests.finops.backup.test_restore import EVENTS, Sender, wait_for_more
from tests.servers import LiveServer, serve_again
from tests.waiting import wait_until

pytestmark = pytest.mark.long

HERE = "tests.finops.backup.machine"


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a path short enough for sockets, which the server's user may enter."""
    with tempfile.TemporaryDirectory(prefix="finops-pitr-", dir="/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@contextmanager
def running(cluster: Cluster) -> Iterator[Cluster]:
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def archiving_cluster(folder: Path) -> Cluster:
    cluster = throwaway_cluster(folder)
    cluster.durable = True
    cluster.create()
    cluster.own_dir(folder / "wal")
    with (cluster.data / "postgresql.conf").open("a") as settings:
        settings.write(
            "archive_mode = on\n"
            f"archive_command = 'test ! -f {folder}/wal/%f && cp %p {folder}/wal/%f'\n"
            "archive_timeout = 60\n"
        )
    return cluster


def take_base_backup(cluster: Cluster, folder: Path) -> Path:
    base = folder / "base"
    cluster.own_dir(base)
    arguments = ["-Ft", "-z", "-X", "none", "-c", "fast", "-d", cluster.url("postgres")]
    cluster._run("pg_basebackup", "-D", str(base), *arguments)
    return base / "base.tar.gz"


def recovered_cluster(cluster: Cluster, base: Path, moment: datetime, folder: Path) -> Cluster:
    """The base backup unpacked, told to replay the archive up to the moment."""
    other = replace(
        cluster, home=folder / "pg2", socket=folder / "pg2" / "socket", log=folder / "pg2.log", process=None
    )
    other.own_dir(other.home)
    with tarfile.open(base) as content:
        content.extractall(other.data, filter="data")
    with (other.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(
            "archive_mode = off\n"
            f"restore_command = 'cp {folder}/wal/%f %p'\n"
            f"recovery_target_time = '{moment.isoformat()}'\n"
            "recovery_target_action = promote\n"
        )
    (other.data / "recovery.signal").touch()
    for path in (other.data, *other.data.rglob("*")):
        other._chown(path)
    other.data.chmod(0o700)
    return other


def is_recovering(cluster: Cluster) -> bool:
    with psycopg.connect(cluster.url()) as connection:
        return bool(connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,))


def archive_all(cluster: Cluster, folder: Path) -> None:
    """What was written so far is in the archive."""
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        (name,) = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone() or ("",)
    wait_until((folder / "wal" / str(name)).exists)


def test_a_database_recovered_to_a_moment_has_each_push_before_it_once_and_none_half(folder: Path) -> None:
    target = folder / "target"
    cluster = archiving_cluster(folder)
    var = folder / "var"
    var.mkdir(mode=0o700)
    environment = {
        **os.environ,
        **KEYS,
        "DJANGO_SETTINGS_MODULE": "tests.live_settings",
        "DATABASE_URL": cluster.url(),
        "VAR_DIR": str(var),
        "DATABASE_POOL": "10",
        "USAGE_RATE_LIMIT_PER_MINUTE": "1000000",
    }
    machine = LiveServer("", environment, folder / "log")
    with running(cluster):
        machine.manage("migrate", "--verbosity=0")
        with serve_again(machine) as server:
            key = server.run("tests.ingestion.test_push_live:usage_key")
            senders = [Sender(f"s{number}", int(server.url.rpartition(":")[2]), key) for number in range(3)]
            threads = [threading.Thread(target=sender.work) for sender in senders]
            for thread in threads:
                thread.start()
            try:
                base = take_base_backup(cluster, folder)
                wait_for_more(senders)
                server.run(f"{HERE}:flush", "push-live")
                assert run(server, "backup", str(target))[0] == 0
                wait_for_more(senders)
                moment = datetime.now(UTC)
                wait_for_more(senders)
                for _ in range(8):
                    server.run(f"{HERE}:housekeeping", "push-live")
                    wait_for_more(senders)
            finally:
                for sender in senders:
                    sender.stopped.set()
                for thread in threads:
                    thread.join()
        archive_all(cluster, folder)
    shutil.rmtree(cluster.data)

    recovered = recovered_cluster(cluster, base, moment, folder)
    with running(recovered):
        wait_until(lambda: not is_recovering(recovered))
        again = LiveServer("", {**environment, "DATABASE_URL": recovered.url()}, folder / "log")
        code, output = run(again, "check_lake")
        assert (code, "is missing" in output) == (1, True), output
        code, output = run(again, "check_lake", "--repair", "--from", str(target))
        assert code == 0, output
        with serve_again(again) as server:
            counts = server.run(f"{HERE}:event_counts", "push-live")
            sender = Sender("after", int(server.url.rpartition(":")[2]), key)
            thread = threading.Thread(target=sender.work)
            thread.start()
            wait_for_more([sender])
            sender.stopped.set()
            thread.join()
            later = server.run(f"{HERE}:event_counts", "push-live")

    answers = {batch: at for sender in senders for batch, at in sender.answered.items()}
    before = {batch for batch, at in answers.items() if at < moment.timestamp()}
    stored = {batch: {counts.get(f"{batch}/{place}") for place in range(EVENTS)} for batch in answers}
    assert 0 < len(before) < len(answers)
    assert {batch for batch in before if stored[batch] != {"1.000"}} == set()
    assert {batch for batch, values in stored.items() if len(values) != 1} == set()
    assert len(counts) < len(answers) * EVENTS
    assert later["after/0/0"] == "1.000"
