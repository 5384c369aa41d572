from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from finops.embedded import Cluster, EmbeddedError, Owner, development_cluster, prepare
from finops.embedded.paths import SOCKET_DIR_LIMIT, may_enter, short_socket_dir, unprivileged_owner
from finops.embedded.watch import ServerWatch
from finops.processes import machine_memory
from finops.supervisor import Backoff
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def var_dir() -> Iterator[Path]:
    """A fresh folder that any user may pass through: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="finops-emb-"))
    folder.chmod(0o755)
    yield folder / "var"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def new_cluster(var_dir: Path) -> Iterator[Cluster]:
    cluster = development_cluster(var_dir)
    prepare(cluster, var_dir)
    cluster.create()
    yield cluster
    cluster.remove()


@pytest.fixture
def cluster(new_cluster: Cluster) -> Iterator[Cluster]:
    new_cluster.start()
    yield new_cluster
    new_cluster.stop()


def value_of(cluster: Cluster, question: str) -> object:
    with psycopg.connect(cluster.url()) as connection:
        row = connection.execute(question.encode()).fetchone()
    return row[0] if row else None


def kill(cluster: Cluster) -> None:
    assert cluster.process is not None
    cluster.process.kill()
    cluster.process.wait()


@pytest.mark.xdist_group("embedded")
class TestServer:
    def test_the_url_leads_to_postgresql_18_with_utf8_and_utc(self, cluster: Cluster) -> None:
        assert str(value_of(cluster, "SHOW server_version")).startswith("18.")
        assert value_of(cluster, "SHOW server_encoding") == "UTF8"
        assert value_of(cluster, "SHOW timezone") == "UTC"
        assert value_of(cluster, "SELECT current_database()") == "finops"

    def test_buffers_and_log_are_as_large_as_the_machine_allows(self, cluster: Cluster) -> None:
        buffers = value_of(
            cluster, "SELECT setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers'"
        )
        wal = value_of(cluster, "SELECT setting::bigint << 20 FROM pg_settings WHERE name = 'max_wal_size'")
        assert isinstance(buffers, int)
        assert isinstance(wal, int)
        assert buffers == min(2 << 30, max(128 << 20, machine_memory() // 16 // 8192 * 8192))
        assert 1 << 30 <= wal <= max(1 << 30, shutil.disk_usage(cluster.home).total // 20)

    def test_a_wrong_password_is_refused(self, cluster: Cluster) -> None:
        url = cluster.url().replace(cluster.password, "wrong")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url)

    def test_only_its_own_user_reaches_the_socket_and_no_port_is_open(self, cluster: Cluster) -> None:
        assert stat.S_IMODE(cluster.socket.stat().st_mode) == 0o700
        assert stat.S_IMODE(cluster.data.stat().st_mode) == 0o700
        assert value_of(cluster, "SHOW listen_addresses") == ""

    def test_the_password_is_made_once_and_private(self, var_dir: Path, new_cluster: Cluster) -> None:
        assert development_cluster(var_dir).password == new_cluster.password
        assert stat.S_IMODE((var_dir / "secrets.json").stat().st_mode) == 0o600

    def test_postgresql_starts_at_once_after_a_kill(self, cluster: Cluster) -> None:
        with psycopg.connect(cluster.url(), autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        kill(cluster)
        cluster.start()
        assert value_of(cluster, "SELECT answer FROM kept") == 42

    def test_a_server_left_behind_is_found_and_stopped(self, var_dir: Path, cluster: Cluster) -> None:
        left_behind = cluster.process
        assert left_behind is not None
        later = development_cluster(var_dir)
        assert later.leftover() == left_behind.pid
        assert later.stop_leftover() is True
        assert left_behind.wait() == 0
        assert later.stop_leftover() is False

    def test_a_stale_pid_of_another_program_is_no_leftover(self, new_cluster: Cluster) -> None:
        new_cluster.start()
        kill(new_cluster)
        pid_file = new_cluster.data / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
        assert new_cluster.leftover() is None

    def test_data_of_another_version_is_refused_with_advice(self, new_cluster: Cluster) -> None:
        version = new_cluster.data / "PG_VERSION"
        version.write_text("17\n")
        try:
            with pytest.raises(EmbeddedError, match=r"was created by PostgreSQL 17; this is 18\. Dump it"):
                new_cluster.start()
        finally:
            version.write_text("18\n")


@pytest.mark.xdist_group("embedded")
def test_a_checkout_in_a_closed_folder_gets_its_database_elsewhere_when_root_runs_it(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    cluster = development_cluster(closed / "var")
    prepare(cluster, closed / "var")
    try:
        cluster.create()
        cluster.start()
        assert value_of(cluster, "SELECT 1") == 1
        assert (closed / "var" / "postgres").resolve() == cluster.home
    finally:
        cluster.stop()
        cluster.remove()


def test_an_interrupted_initdb_is_done_again(tmp_path: Path) -> None:
    cluster = development_cluster(tmp_path / "var")
    prepare(cluster, tmp_path / "var")
    try:
        cluster.own_dir(cluster.home)
        (cluster.home / "data.new").mkdir()
        (cluster.home / "data.new" / "half").touch()
        assert not cluster.data.exists()
        cluster.create()
        assert cluster.exists
        assert not (cluster.data / "half").exists()
    finally:
        cluster.remove()


def test_the_socket_moves_to_a_short_path_when_the_checkout_lies_deep() -> None:
    deep = Path("/home") / ("a" * 120) / "var" / "postgres"
    assert len(str(short_socket_dir(deep, "0123456789ab"))) <= SOCKET_DIR_LIMIT
    assert short_socket_dir(Path("/srv/finops/var/postgres"), "x") == Path("/srv/finops/var/postgres/socket")


def test_a_short_socket_folder_made_by_another_user_is_refused(tmp_path: Path) -> None:
    cluster = development_cluster(tmp_path / "var")
    link = tmp_path / "socket"
    link.symlink_to(tmp_path)
    with pytest.raises(EmbeddedError, match="is a link"):
        cluster.own_dir(link)


def test_postgresql_never_runs_as_root(tmp_path: Path) -> None:
    owner = unprivileged_owner(tmp_path)
    assert (os.geteuid() if owner is None else owner.uid) != 0


def test_a_closed_folder_anywhere_above_keeps_others_out(tmp_path: Path) -> None:
    inner = tmp_path / "closed" / "inner"
    inner.mkdir(parents=True, mode=0o755)
    stranger = Owner(54321, 54321, "stranger")
    (tmp_path / "closed").chmod(0o700)
    assert not may_enter(inner, stranger)
    assert may_enter(Path("/"), stranger)


@pytest.mark.xdist_group("embedded")
def test_a_server_that_cannot_start_is_tried_until_it_can(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a full disk: it panics, and no start succeeds before there is room."""
    messages: list[str] = []
    watch = ServerWatch(cluster, messages.append)
    monkeypatch.setattr(Backoff, "wait", lambda self, lasted: 0.1)
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE pushed AS SELECT generate_series(1, 1000)")
    control = cluster.data / "global" / "pg_control"

    def has_message(word: str, times: int = 1) -> bool:
        watch.check()
        return sum(word in line for line in messages) >= times

    kill(cluster)
    control.rename(control.with_suffix(".aside"))
    wait_until(lambda: has_message("ended with code", 3))
    control.with_suffix(".aside").rename(control)
    wait_until(lambda: has_message("PostgreSQL answers again"))
    assert value_of(cluster, "SELECT count(*) FROM pushed") == 1000
