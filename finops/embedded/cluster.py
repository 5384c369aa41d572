"""One data directory with its server: create, start, stop."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from finops.processes import machine_memory, process_name, tie

DATABASE = "finops"
ROLE = "finops"
MAJOR = "18"
READY_SECONDS = 180
"""After a crash, PostgreSQL reads the log since its last checkpoint: 12 seconds for 2 GB on 2 cores."""
STOP_SECONDS = 20
CONNECTIONS_PER_CORE = 40
"""Connections of a web process (DATABASE_POOL), of which there are as many as cores."""


MIN_BUFFERS = 128 * 2**20
MAX_BUFFERS = 2 * 2**30
CHECKPOINT_TIMEOUT = "15min"
"""The first write to a page after a checkpoint logs the whole page, and event ids write to random pages: at PostgreSQL's
defaults, a push with a thousand ids logged up to 760 KB instead of 273."""
MIN_WAL = 2**30
MAX_WAL = 4 * 2**30


def machine_buffers() -> int:
    """Return PostgreSQL's shared_buffers in bytes for a server of this machine: a sixteenth of its memory, while DuckDB
    has half of it. Event ids write to random pages of their index: beside three million, a thousand new ones
    take PostgreSQL 7.2 ms with 128 MB and 5.5 with 1.5 GB."""
    return min(MAX_BUFFERS, max(MIN_BUFFERS, machine_memory() // 16))


class EmbeddedError(RuntimeError):
    """The embedded server cannot do what was requested; the message says why and what helps."""


@dataclass(frozen=True)
class Owner:
    """The user the server runs as when root starts it."""

    uid: int
    gid: int
    name: str


@dataclass
class Cluster:
    """One data directory with its server. `home` contains it, and is private to the server's user."""

    home: Path
    socket: Path
    password: str
    log: Path
    owner: Owner | None
    binaries: Path
    # Only for data that may be lost: the throwaway server of the tests.
    durable: bool = True
    shared_buffers: int = MIN_BUFFERS
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def data(self) -> Path:
        return self.home / "data"

    def url(self, database: str = DATABASE) -> str:
        """The DATABASE_URL, in a form that libpq, psycopg and django-environ all read."""
        return f"postgres://{ROLE}:{quote(self.password)}@/{database}?host={quote(str(self.socket))}"

    # -- making ---------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        return (self.data / "PG_VERSION").exists()

    def create(self) -> None:
        """Run initdb in a temporary directory and rename it, so that a killed start leaves nothing half complete."""
        self.own_dir(self.home)
        draft = self.home / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        self.own_dir(draft)
        password_file = self._own_file(self.home / "password.new", self.password)
        arguments = [
            f"--pgdata={draft}",
            f"--username={ROLE}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C",
        ]
        if not self.durable:
            arguments.append("--no-sync")
        try:
            self._run("initdb", *arguments)
        finally:
            password_file.unlink()
        draft.rename(self.data)

    # -- running --------------------------------------------------------------------------------------------

    def start(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Start the server as a child of this process and return when it answers and the database exists. What `pause` raises ends
        the wait; the server runs on."""
        self._check_version()
        self.own_dir(self.socket)
        deadline = time.monotonic() + READY_SECONDS
        while not self._start_once(deadline, pause):
            # Backends of a killed server hold its shared memory until they notice, a moment later.
            pause(0.2)
        self._create_database()

    def stop(self, wait: Callable[[subprocess.Popen[bytes], float], bool] | None = None) -> None:
        """Fast shutdown: open transactions roll back, everything is written, the server ends. `wait` says whether the server ended
        in these seconds."""
        wait = wait or _has_ended
        if self.process is None:
            return
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            self.process.send_signal(number)
            if wait(self.process, STOP_SECONDS):
                break
        self.process = None

    def stop_leftover(self) -> bool:
        """Stop a server on this data directory that an earlier, killed start left running, and return whether there was
        one. Raises EmbeddedError when it does not stop."""
        pid = self.leftover()
        if pid is None:
            return False
        for mode in ("fast", "immediate"):
            completed = self._pg_ctl("stop", "-m", mode, "-w", "-t", str(STOP_SECONDS))
            if completed.returncode == 0 or self.leftover() is None:
                return True
        raise EmbeddedError(
            f"An earlier PostgreSQL (process {pid}) still runs on {self.data} and does not stop: {_last_line(completed)}"
        )

    def leftover(self) -> int | None:
        """The process id of a server that runs on this data directory and is not a child of this process."""
        if not self.exists or self._pg_ctl("status").returncode != 0:
            return None
        pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        # After a crash of the machine the number may be another program's by now.
        return pid if process_name(pid) == "postgres" else None

    def remove(self) -> None:
        """Delete the data directory and the sockets."""
        self.stop_leftover()
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.socket, ignore_errors=True)

    # -- inside ---------------------------------------------------------------------------------------------

    def _check_version(self) -> None:
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != MAJOR:
            raise EmbeddedError(
                f"{self.data} was created by PostgreSQL {version}; this is {MAJOR}. Dump it with the old version, "
                f"or remove {self.home} to start again."
            )

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the server as a child of this process, without waiting for it. It ends with this process."""
        user = None if self.owner is None else (self.owner.uid, self.owner.gid)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                tie(
                    [str(self.binaries / "postgres"), "-D", str(self.data), *self._settings()],
                    signal.SIGINT,
                    user,
                ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=_environment(),
                start_new_session=True,
            )
        return self.process

    def _start_once(self, deadline: float, pause: Callable[[float], None]) -> bool:
        """Try to start once; return False when a later attempt may succeed."""
        offset = self.log.stat().st_size if self.log.exists() else 0
        self.process = self.launch()
        while self.process.poll() is None:
            if self.answers():
                return True
            if time.monotonic() > deadline:
                self.stop()
                raise EmbeddedError(f"PostgreSQL does not answer after {READY_SECONDS} s; see {self.log}.")
            pause(0.01)
        log_output = self._log_since(offset)
        if "shared memory block" in log_output and time.monotonic() < deadline:
            return False
        raise EmbeddedError(f"PostgreSQL ended while starting (full log: {self.log}):\n{log_output.strip()}")

    def _settings(self) -> list[str]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket),
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "max_connections": str(max(200, CONNECTIONS_PER_CORE * (os.cpu_count() or 1) + 60)),
            "shared_buffers": f"{self.shared_buffers >> 13}",  # in pages of 8 KB
        }
        if self.durable:
            settings |= {
                "max_wal_size": f"{self._wal_megabytes()}MB",
                "checkpoint_timeout": CHECKPOINT_TIMEOUT,
            }
        else:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]

    def _wal_megabytes(self) -> int:
        return min(MAX_WAL, max(MIN_WAL, shutil.disk_usage(self.home).total // 20)) >> 20

    def answers(self) -> bool:
        """Whether a client can connect: not before recovery from a crash is complete."""
        try:
            psycopg.connect(self.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _create_database(self) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            existing = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone()
            if existing is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")  # a constant, no input

    def _log_since(self, position: int) -> str:
        with self.log.open("rb") as log:
            log.seek(position)
            return log.read().decode(errors="replace")

    def _pg_ctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("pg_ctl", "-D", str(self.data), *arguments, check=False)

    def _run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        try:
            completed = subprocess.run(
                [str(self.binaries / program), *arguments],
                capture_output=True,
                text=True,
                cwd=self.home,
                env=_environment(),
                check=False,
                **self._as_owner(),
            )
        except PermissionError as error:
            raise EmbeddedError(self._cannot_run(program, error)) from error
        if check and completed.returncode != 0:
            raise EmbeddedError(f"{program} failed: {_last_line(completed)}")
        return completed

    def _cannot_run(self, program: str, error: PermissionError) -> str:
        if self.owner is None:
            return f"{self.home} or {program} cannot be opened by this user ({error}). Check whether root created it."
        return (
            f"PostgreSQL must not run as root, and running {program} as {self.owner.name} fails ({error}). "
            f"Run as another user, or set DATABASE_URL to a server of your own."
        )

    def _as_owner(self) -> dict[str, Any]:
        if self.owner is None:
            return {}
        return {"user": self.owner.uid, "group": self.owner.gid, "extra_groups": []}

    def own_dir(self, path: Path) -> None:
        """Create a 0700 directory for the server. Raises EmbeddedError for one that another user created there first."""
        if path.is_symlink():
            raise EmbeddedError(f"{path} is a link; PostgreSQL's files are not put behind one.")
        uid = os.geteuid() if self.owner is None else self.owner.uid
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        owner_uid = path.stat().st_uid
        if owner_uid not in (uid, os.geteuid()):
            raise EmbeddedError(
                f"{path} belongs to user {owner_uid}, not to {uid}. Remove it, or run as that user."
            )
        self._chown(path)
        path.chmod(0o700)

    def _own_file(self, path: Path, text: str) -> Path:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        self._chown(path)
        return path

    def _chown(self, path: Path) -> None:
        if self.owner is not None:
            os.chown(path, self.owner.uid, self.owner.gid)


def _environment() -> dict[str, str]:
    """The server's environment, without variables of ours: PGDATA, PGPORT and similar ones would change its behaviour."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last_line(completed: subprocess.CompletedProcess[str]) -> str:
    lines = (completed.stderr or completed.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit code {completed.returncode}"
