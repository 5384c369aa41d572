"""`manage.py up`: everything a console needs on one machine, started in order and stopped together."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from accounts.models import Account
from finops import demo_box, embedded, static_build
from finops.checks import available_connections, refuse_pooler, refuse_unsafe
from finops.embedded.watch import ServerWatch
from finops.heartbeat import BEAT, WORKER
from finops.lake.storage.lake_version import OtherVersion, refuse_other_versions
from finops.lib.secrets import make_private_dir
from finops.processes import cores
from finops.supervisor import (
    HEALTH,
    LOOK_SECONDS,
    AlreadyRunning,
    Ledger,
    Program,
    StopSignals,
    Supervisor,
)
from finops.web import server
from finops.worker.programs import worker_commands
from finops.worker.queues import CONNECTIONS as WORKER_CONNECTIONS

FIRST_ANSWER_SECONDS = 60
LEAST_POOL, LARGEST_POOL = 8, 40
"""Connections of a web process; below the minimum some kinds of requests would share a single one."""


logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Run the console: PostgreSQL (unless DATABASE_URL is set), migrations, web server and worker."
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=os.environ.get("PORT", "8000"), help="default: PORT or 8000"
        )
        parser.add_argument(
            "--host", default="127.0.0.1", help="address to listen on (default: localhost only)"
        )
        parser.add_argument(
            "--no-demo", action="store_true", help="do not load demo data into an empty console"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        signals = StopSignals()
        signals.install()
        host, port, activated = options["host"], options["port"], self._activated_socket()
        if activated is not None:
            host, port = activated.getsockname()[:2]
        demo = not (options["no_demo"] or settings.PRODUCTION)
        up = Up(self, host, port, signals, demo=demo, activated=activated)
        try:
            up.run()
        except KeyboardInterrupt:
            up.say("\nStopping …")
        except OperationalError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        except (embedded.EmbeddedError, ImproperlyConfigured, OtherVersion, StepFailure) as error:
            raise CommandError(str(error)) from error
        finally:
            up.stop()

    def _activated_socket(self) -> socket.socket | None:
        try:
            return server.activated_socket()
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from error


class StepFailure(RuntimeError):
    """A step of the start failed; the message says what to do."""


class Up:
    def __init__(
        self,
        command: BaseCommand,
        host: str,
        port: int,
        signals: StopSignals,
        *,
        demo: bool,
        activated: socket.socket | None = None,
    ) -> None:
        self.command, self.activated, self.signals = command, activated, signals
        self.host, self.port, self.demo = host, port, demo
        self.local_url = server.local_url(host, port)
        self.public_url = os.environ.get("PUBLIC_URL", self.local_url).rstrip("/")
        self.ledger = Ledger(settings.VAR_DIR)
        self.cluster: embedded.Cluster | None = None
        self.supervisor = Supervisor(say=self.report, changed=self._note, signals=signals)
        self.line = ""
        self.step_program: Program | None = None
        self.server_watch: ServerWatch | None = None
        self.redis: embedded.RedisServer | None = None
        # It goes last: workers and web processes end with a broker.
        self.redis_supervisor = Supervisor(say=self.report, changed=self._note, signals=signals)

    # -- the order of things ----------------------------------------------------------------------------------

    def run(self) -> None:
        started_at = time.monotonic()
        if settings.EMBEDDED_REDIS:
            self.redis = embedded.development_redis(settings.VAR_DIR)
            settings.REDIS_URL = self.redis.url
        refuse_unsafe()
        # What this and its children write beneath var/ (cost data, uploads, logs) is for this user alone.
        os.umask(0o077)
        make_private_dir(settings.VAR_DIR)
        self._claim()
        self._stop_leftovers()
        # It outlives the web processes, so that no connection is refused while one starts again; an activated one outlives
        # this process too.
        listening = self.activated or self._bind()
        if settings.EMBEDDED_DATABASE:
            self._start_postgres()
        else:
            refuse_pooler()
        if self.redis is not None:
            self._start_redis(self.redis)
        refuse_other_versions()
        self._migrate()
        self._build_static()
        self._load_demo()
        self._start_programs(listening)
        self._show(time.monotonic() - started_at)
        self._watch()

    def stop(self) -> None:
        """Stop web servers and workers first, PostgreSQL last."""
        if self.step_program is not None:
            self.supervisor.programs.append(self.step_program)
        stopped = bool(self.supervisor.programs)
        self.supervisor.stop()
        if self.redis is not None and self.redis_supervisor.programs:
            self.redis_supervisor.stop()
            self.redis.forget()
            stopped = True
        connection.close()
        if self.cluster is not None and self.cluster.process is not None:
            self.cluster.stop(self.signals.wait)
            stopped = True
        if stopped:
            self.ledger.forget()
            self.say("Stopped.")

    # -- steps ------------------------------------------------------------------------------------------------

    def _claim(self) -> None:
        try:
            self.ledger.claim()
        except AlreadyRunning as error:
            raise CommandError(
                f"This checkout already runs (process {error.state.get('pid', '?')}) at "
                f"{error.state.get('url', 'an address it has not noted yet')}. Stop it with Ctrl-C there, or with "
                f"kill {error.state.get('pid', '')}. A second console needs its own VAR_DIR and --port."
            ) from error

    def _stop_leftovers(self) -> None:
        stopped = self.ledger.stop_leftovers()
        if settings.EMBEDDED_DATABASE:
            cluster = embedded.development_cluster(settings.VAR_DIR)
            stopped += ["PostgreSQL"] if cluster.stop_leftover() else []
        if stopped:
            self.say(f"An earlier start was killed; stopped its remaining processes: {', '.join(stopped)}.")
        self._note()

    def _bind(self) -> socket.socket:
        try:
            return server.listening_socket(self.host, self.port)
        except OSError as error:
            raise CommandError(
                f"Port {self.port} on {self.host} cannot be used ({error.strerror}): another program has it. "
                f"Choose another: `make run PORT={self.port + 1}` or `manage.py up --port {self.port + 1}`."
            ) from error

    def _start_postgres(self) -> None:
        cluster = embedded.development_cluster(settings.VAR_DIR)
        with self._step("PostgreSQL") as details:
            embedded.prepare(cluster, settings.VAR_DIR)
            is_new = not cluster.exists
            if is_new:
                cluster.create()
            self.cluster = cluster
            cluster.start(self.signals.pause)
            self.server_watch = ServerWatch(cluster, self.report)
            details.append(f"{'created and ' if is_new else ''}started in {cluster.home}")
            if cluster.owner is not None:
                details.append(f"as user {cluster.owner.name} (it refuses to run as root)")

    def _start_redis(self, redis: embedded.RedisServer) -> None:
        with self._step("Redis") as details:
            redis.prepare()
            environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
            program = Program(
                "Redis", redis.command(), environment, answers=redis.answers, heartbeats=(HEALTH,)
            )
            self.redis_supervisor.start(program)
            self._await(
                redis.answers, self.redis_supervisor, f"Redis does not answer; its log is {redis.log}."
            )
            details.append(f"started in {redis.home}")

    def _migrate(self) -> None:
        from django.db.migrations.recorder import MigrationRecorder

        with self._step("Database tables") as details:
            recorder = MigrationRecorder(connection)
            before = len(recorder.applied_migrations())
            with self.signals.interrupting():
                call_command("migrate", verbosity=0, interactive=False)
            applied = len(recorder.applied_migrations()) - before
            details.append(f"{applied} migrations applied" if applied else "up to date")

    def _build_static(self) -> None:
        with self._step("Static files") as details, self.signals.interrupting():
            details.append(static_build.build_on_change())

    def _load_demo(self) -> None:
        if not self.demo or not demo_box.is_due(settings.VAR_DIR, has_accounts=Account.objects.exists()):
            return
        with self._step("Demo data") as details:
            try:
                with demo_box.mark_loading(settings.VAR_DIR):
                    self._manage("load_demo", "--verbosity", "0")
                details.append("a year of an invented company, up to yesterday")
            except StepFailure as error:
                # No reason to refuse access to the data; the next start tries again.
                details.append(f"{error} The console runs without it")

    def _start_programs(self, listening: socket.socket) -> None:
        with self._step("Web server") as details:
            listening.listen(server.BACKLOG)
            processes, pool = web_processes()
            environment = {**self._environment(), "WEB_PROCESSES": str(processes)}
            web_environment = {"DATABASE_POOL": str(pool), **environment}
            for program in server.programs(listening, processes, web_environment, self.local_url):
                self.supervisor.start(program)
            self._await(
                lambda: server.answers(self.local_url),
                self.supervisor,
                f"The web server does not answer on port {self.port} after {FIRST_ANSWER_SECONDS} s.",
            )
            several = f", {processes} processes" if processes > 1 else ""
            details.append(f"answers on {self.host}:{self.port}{several}")
        with self._step("Workers") as details:
            # One lake query at a time: people at their pages come first.
            worker_environment = {**environment, "LAKE_CONCURRENCY": "1"}
            for name, command in worker_commands():
                self.supervisor.start(
                    Program(name, command, worker_environment, heartbeats=(BEAT if name == BEAT else WORKER,))
                )
            details.append("started")

    def _await(self, answers: Callable[[], bool], supervisor: Supervisor, failure: str) -> None:
        deadline = time.monotonic() + FIRST_ANSWER_SECONDS
        while not answers():
            supervisor.check()
            if time.monotonic() > deadline:
                raise StepFailure(failure)
            self.signals.pause(0.05)

    def _watch(self) -> None:
        """Restart programs that end, until Ctrl-C."""
        while True:
            self.signals.pause(LOOK_SECONDS)
            self.supervisor.check()
            self.redis_supervisor.check()
            if self.server_watch is not None:
                self.server_watch.check()

    # -- helpers ----------------------------------------------------------------------------------------------

    def _environment(self) -> dict[str, str]:
        own = {"PUBLIC_URL": self.public_url, "DJANGO_SETTINGS_MODULE": "finops.settings"}
        return {**os.environ, **own, "REDIS_URL": settings.REDIS_URL}

    def _manage(self, *arguments: str) -> None:
        """Run a management command in a process of its own, with the public address; the process frees its memory at
        the end."""
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
        self.step_program = Program(arguments[0], command, self._environment())
        process = self.step_program.start()
        self._note()
        while (code := process.poll()) is None:
            self.signals.pause(0.05)
        self.step_program = None
        if code != 0:
            raise StepFailure(f"manage.py {' '.join(arguments)} failed with code {code}, see above.")

    def _note(self) -> None:
        step = [] if self.step_program is None else [self.step_program]
        self.ledger.write(
            self.public_url, [*step, *self.supervisor.programs, *self.redis_supervisor.programs]
        )

    def _show(self, seconds: float) -> None:
        demo_box.update_addresses(settings.VAR_DIR / "demo.json", self.public_url)
        self.say("")
        for line in demo_box.lines(settings.VAR_DIR / "demo.json", self.public_url):
            self.say(line)
        self.say(f"Ready after {seconds:.1f} s. Ctrl-C stops all.")

    @contextmanager
    def _step(self, name: str) -> Iterator[list[str]]:
        """Print the name of a step, and at its end its result and duration. A signal that came before ends it."""
        self.signals.check()
        self.say(f"  {name:<18}", ending="")
        started_at = time.monotonic()
        details: list[str] = []
        yield details
        self.say(f"{', '.join(details)} ({time.monotonic() - started_at:.1f} s)")

    def report(self, text: str) -> None:
        """Print an event of a running program."""
        self.say(text, level=logging.WARNING)

    def say(self, text: str, ending: str = "\n", level: int = logging.INFO) -> None:
        if settings.LOG_FORMAT == "json":
            self.line += text
            if ending and self.line:
                logger.log(level, "%s", " ".join(self.line.split()))
            self.line = "" if ending else self.line
            return
        # The terminal may be gone, and what is left then is to stop in order.
        with suppress(OSError):
            self.command.stdout.write(text, ending=ending)
            self.command.stdout.flush()


def web_processes() -> tuple[int, int]:
    """The number of web processes, and of PostgreSQL connections for each: one process a core, unless WEB_PROCESSES
    and DATABASE_POOL are set or PostgreSQL has no room for them. The database must be available."""
    room = available_connections() - WORKER_CONNECTIONS
    if "WEB_PROCESSES" in os.environ:
        processes = settings.WEB_PROCESSES
    else:
        processes = max(1, min(cores(), room // LEAST_POOL))
    return processes, max(LEAST_POOL, min(settings.DATABASE_POOL or LARGEST_POOL, room // processes))
