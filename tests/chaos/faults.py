"""The faults of a chaos run and their repair. Each fault is a context manager that is active inside the block."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

import psutil

from tests.chaos.services import ServiceStack
from tests.chaos.tenants import Tenant
from tests.finops.web.slow_clients import idle_clients

SLOW_CLIENTS = 200
SECONDS = 6.0
STUCK_SECONDS = 20.0
"""Longer than the supervisor tolerates a missing heartbeat (finops.supervisor.SILENT_SECONDS)."""
EVERYTHING = frozenset({"push", "question", "page", "import"})
OF_LAKE = frozenset({"question", "page", "import"})

Make = Callable[[ServiceStack, list[Tenant]], AbstractContextManager[object]]


@dataclass(frozen=True)
class Fault:
    """A fault. `needs`: the kinds of requests whose dependency is down during the fault; their times have no target
    then."""

    name: str
    make: Make
    needs: frozenset[str] = frozenset()
    seconds: float = SECONDS
    needs_disk: bool = False
    """Whether the fault requires a separate file system for the console's folder."""


def send(number: signal.Signals, part: str) -> Make:
    """Return a fault that sends the signal to a random process with this text in its name."""

    def make(stack: ServiceStack, tenants: list[Tenant]) -> AbstractContextManager[object]:
        processes = [process for name, process in stack.console.programs().items() if part in name]
        if not processes:
            raise LookupError(f"no process of {part!r} runs")
        with suppress(psutil.NoSuchProcess):
            stack.chance.choice(processes).send_signal(number)
        return nullcontext()

    return make


@contextmanager
def redis_away(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    stack.redis.stop()
    try:
        yield
    finally:
        stack.redis.start()


@contextmanager
def redis_hangs(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    stack.redis.pause()
    try:
        yield
    finally:
        stack.redis.resume()


@contextmanager
def s3_hangs(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    stack.s3.pause()
    try:
        yield
    finally:
        stack.s3.resume()


@contextmanager
def mail_away(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    stack.mail.stop()
    try:
        yield
    finally:
        stack.mail.start()


@contextmanager
def full_disk(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    """Fill the file system of the console's folder, with database, queue, uploads and cache."""
    assert stack.disk is not None
    filler = stack.disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1024**2))
        yield
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def slow(stack: ServiceStack, tenants: list[Tenant]) -> Iterator[None]:
    with idle_clients(stack.console.url, SLOW_CLIENTS, "127.0.0.9"):
        yield


def hostile_files(stack: ServiceStack, tenants: list[Tenant]) -> AbstractContextManager[object]:
    """Upload files that are not bills as one tenant: random bytes that begin as Parquet, a line without an end,
    nested JSON in tags."""
    victim = stack.chance.choice(tenants)
    files = [
        b"PAR1" + os.urandom(20_000) + b"PAR1",
        b"BilledCost," * 50_000,
        b'Tags\n"' + b'{"a":' * 20_000 + b'"\n',
    ]
    for number, file in enumerate(files):
        victim.upload("hostile", f"Hostile {number}", file)
    return nullcontext()


WEB_KILLED = Fault("a web process killed", send(signal.SIGKILL, "web server"))
WORKER_KILLED = Fault("a worker killed", send(signal.SIGKILL, "worker"))
POSTGRESQL_KILLED = Fault("PostgreSQL killed", send(signal.SIGKILL, "PostgreSQL"), EVERYTHING)
REDIS_AWAY = Fault("Redis away", redis_away)
S3_HANGS = Fault("S3 hangs", s3_hangs, OF_LAKE)
MAIL_AWAY = Fault("SMTP away", mail_away)
FULL_DISK = Fault("the disk full", full_disk, EVERYTHING, needs_disk=True)
SLOW = Fault(f"{SLOW_CLIENTS} slow clients", slow)
HOSTILE = Fault("hostile files", hostile_files)

FAULTS = [
    WEB_KILLED,
    Fault("a web process stopped", send(signal.SIGSTOP, "web server"), seconds=STUCK_SECONDS),
    WORKER_KILLED,
    Fault("a worker stopped", send(signal.SIGSTOP, "worker"), seconds=STUCK_SECONDS),
    Fault("beat killed", send(signal.SIGKILL, "beat")),
    Fault(
        "a connection's PostgreSQL process killed", send(signal.SIGKILL, "PostgreSQL, process"), EVERYTHING
    ),
    POSTGRESQL_KILLED,
    REDIS_AWAY,
    Fault("Redis hangs", redis_hangs),
    S3_HANGS,
    MAIL_AWAY,
    FULL_DISK,
    SLOW,
    HOSTILE,
]
SHORT = [
    WEB_KILLED,
    WORKER_KILLED,
    POSTGRESQL_KILLED,
    REDIS_AWAY,
    S3_HANGS,
    MAIL_AWAY,
    FULL_DISK,
    SLOW,
    HOSTILE,
]
"""One fault of each group."""
