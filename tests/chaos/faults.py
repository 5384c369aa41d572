"""What goes wrong, one at a time, and how it is brought back. Each fault is a context: inside it, it is wrong."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass

import psutil

from tests.chaos.services import World
from tests.chaos.tenants import Tenant
from tests.finops.web.slow_clients import slow_clients

SLOW_CLIENTS = 200


@dataclass(frozen=True)
class Fault:
    """`needs`: the kinds of request whose own dependency is away meanwhile; their times are counted apart."""

    name: str
    make: Callable[[World, list[Tenant]], AbstractContextManager[object]]
    needs: frozenset[str] = frozenset()
    lasts: float = 6.0


def kill(part: str) -> Callable[[World, list[Tenant]], AbstractContextManager[object]]:
    """A process with these words in its name, of several one by chance."""

    def make(world: World, tenants: list[Tenant]) -> AbstractContextManager[object]:
        found = [process for name, process in world.console.programs().items() if part in name]
        if found:
            with suppress(psutil.NoSuchProcess):
                random.choice(found).kill()
        return nullcontext()

    return make


@contextmanager
def redis_away(world: World, tenants: list[Tenant]) -> Iterator[None]:
    world.redis.stop()
    try:
        yield
    finally:
        world.redis.start()


@contextmanager
def redis_hangs(world: World, tenants: list[Tenant]) -> Iterator[None]:
    world.redis.hang()
    try:
        yield
    finally:
        world.redis.go_on()


@contextmanager
def s3_hangs(world: World, tenants: list[Tenant]) -> Iterator[None]:
    world.s3.hang()
    try:
        yield
    finally:
        world.s3.go_on()


@contextmanager
def mail_away(world: World, tenants: list[Tenant]) -> Iterator[None]:
    world.mail.stop()
    try:
        yield
    finally:
        world.mail.start()


@contextmanager
def full_disk(world: World, tenants: list[Tenant]) -> Iterator[None]:
    """Of the console's folder: database, queue, uploads, cache. Nothing where no disk of its own could be mounted."""
    if world.disk is None:
        yield
        return
    filler = world.disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1024**2))
        yield
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def slow(world: World, tenants: list[Tenant]) -> Iterator[None]:
    with slow_clients(world.console.url, SLOW_CLIENTS, address="127.0.0.9"):
        yield


def hostile_files(world: World, tenants: list[Tenant]) -> AbstractContextManager[object]:
    """One tenant uploads what is no bill: random bytes that begin as Parquet, a line without end, nested JSON in tags."""
    victim = random.choice(tenants)
    files = [
        b"PAR1" + os.urandom(20_000) + b"PAR1",
        b"BilledCost," * 50_000,
        b'Tags\n"' + b'{"a":' * 20_000 + b'"\n',
    ]
    for number, file in enumerate(files):
        path = f"/a/{victim.slug}/connections/upload/"
        victim.request(
            "hostile", "POST", path, file, victim._form_headers(), form={"name": f"Hostile {number}"}
        )
    return nullcontext()


FAULTS = [
    Fault("a web process killed", kill("web server, process")),
    Fault("the web server killed", kill("web server")),
    Fault("a worker killed", kill("worker")),
    Fault("a PostgreSQL process killed", kill("PostgreSQL, process")),
    Fault("PostgreSQL killed", kill("PostgreSQL")),
    Fault("Redis away", redis_away),
    Fault("Redis hangs", redis_hangs),
    Fault("S3 hangs", s3_hangs, frozenset({"question", "page"})),
    Fault("SMTP away", mail_away),
    Fault("the disk full", full_disk, frozenset({"push", "question", "page", "import"})),
    Fault(f"{SLOW_CLIENTS} slow clients", slow),
    Fault("hostile files", hostile_files),
]
