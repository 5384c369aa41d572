"""A disk that is really full: a small one of memory, where this user may mount one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from finops.embedded import development_cluster, prepare
from finops.embedded.watch import ServerWatch
from finops.supervisor import Backoff
from tests.waiting import wait_until


@pytest.fixture
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="finops-full-"))
    options = ["-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("needs the right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@pytest.mark.xdist_group("embedded")
def test_a_database_that_a_full_disk_ended_is_back_when_there_is_room_again(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    var = small_disk / "var"
    cluster = development_cluster(var)
    prepare(cluster, var)
    cluster.create()
    cluster.start()
    said: list[str] = []
    watch = ServerWatch(cluster, said.append)
    monkeypatch.setattr(Backoff, "wait", lambda self, lasted: 0.1)

    def looks(word: str) -> bool:
        watch.look()
        return any(word in line for line in said)

    try:
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute("CREATE TABLE pushed (number int)")
            connection.execute("INSERT INTO pushed SELECT generate_series(1, 1000)")
        ballast = small_disk / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while file.write(bytes(1 << 16)):
                file.flush()
        # The log needs a new file, and gets none: PANIC.
        with suppress(psycopg.Error), psycopg.connect(cluster.url(), autocommit=True) as connection:
            for _ in range(40):
                connection.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
        wait_until(lambda: looks("ended with code"))
        ballast.unlink()
        wait_until(lambda: looks("PostgreSQL answers again"))
        with psycopg.connect(cluster.url()) as connection:
            row = connection.execute("SELECT count(*) FROM pushed WHERE number > 0").fetchone()
        assert row == (1000,)
    finally:
        cluster.stop()
        shutil.rmtree(cluster.socket, ignore_errors=True)
