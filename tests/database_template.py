"""One database of a run is migrated, the others are copies of it: a copy takes a tenth of the time of the migrations.

The migrated database is dumped to `.pytest_cache/`, under a digest of all migration files. The next run restores it,
in half a second of processor time in place of twelve.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from finops.embedded import development_cluster, prepare
from finops.embedded.cluster import MAJOR
from finops.embedded.paths import wheel_binaries
from tests.postgres import RUN_DIR


def template() -> str | None:
    """Return the database for `CREATE DATABASE … TEMPLATE`; None if there is none yet, and outside of a test run."""
    if RUN_DIR not in os.environ:  # a benchmark
        return None
    name = _file()
    return name.read_text() if name.exists() else None


@contextmanager
def first_migrates() -> Iterator[None]:
    """Context manager for the setup of a worker's test database. The others wait for the first, and copy its migrated
    database."""
    with Path(os.environ[RUN_DIR], "migrating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        template_name = template() or restored()
        if template_name is None:
            yield
            _keep()
            return
    connection.settings_dict["TEST"]["TEMPLATE"] = template_name
    yield


def drop_template() -> None:
    """Drop the template from a server that continues after the run."""
    if name := template():
        execute(os.environ["DATABASE_URL"], f'DROP DATABASE IF EXISTS "{name}"')


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(statement)  # the names are our own


def _keep() -> None:
    name, admin = connection.settings_dict["NAME"], os.environ["DATABASE_URL"]
    if not name.startswith("test_"):
        return  # no test of this run uses the database
    # PostgreSQL does not copy a database with connections.
    wrapper = connections["default"]
    assert isinstance(wrapper, DatabaseWrapper)
    wrapper.close()
    wrapper.close_pool()
    execute(admin, f'CREATE DATABASE "{_name()}" TEMPLATE "{name}"')
    _file().write_text(_name())
    if (dump := dump_file()) is not None:
        _write(dump)


def restored() -> str | None:
    """Load the dump of an earlier run with the same migrations into this run's server, and return the database; None
    without a dump."""
    dump = dump_file()
    if dump is None or not dump.exists():
        return None
    execute(os.environ["DATABASE_URL"], f'CREATE DATABASE "{_name()}"')
    try:
        load(dump, _url())
    except subprocess.CalledProcessError:
        execute(os.environ["DATABASE_URL"], f'DROP DATABASE "{_name()}"')
        dump.unlink()
        return None
    _file().write_text(_name())
    return _name()


def migrate(url: str) -> None:
    """Create the tables in an empty database on a test's own server, in a process with Django: from the dump, which
    exists after the setup of the run's test database, or else by the migrations."""
    dump = dump_file()
    if dump is not None and dump.exists():
        load(dump, url)
    else:
        manage = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        subprocess.run(manage, check=True, cwd=settings.BASE_DIR, env={**os.environ, "DATABASE_URL": url})


def migrate_console(var_dir: Path) -> None:
    """Create the PostgreSQL that `manage.py up` would create in this folder, with its tables, in a tenth of the time."""
    var_dir.mkdir(mode=0o700)
    cluster = development_cluster(var_dir)
    prepare(cluster, var_dir)
    cluster.create()
    cluster.start()
    migrate(cluster.url())
    cluster.stop()


def dump_file() -> Path | None:
    """Return the path of the dump of these migrations, which may not exist; None for a server that is not ours, whose
    version may differ."""
    if os.environ.get("TEST_DATABASE_URL"):
        return None
    digest = hashlib.sha256(f"{django.__version__} {MAJOR}".encode())
    for app in apps.get_app_configs():
        for file in sorted(Path(app.path, "migrations").glob("*.py")):
            digest.update(f"{app.label}/{file.name}\n".encode() + file.read_bytes())
    return Path(settings.BASE_DIR, ".pytest_cache", f"migrated-{digest.hexdigest()[:20]}.sql")


def _write(dump: Path) -> None:
    """Write the dump atomically, and delete the dumps of other migrations."""
    dump.parent.mkdir(exist_ok=True)
    for old in dump.parent.glob("migrated-*"):
        old.unlink()
    unfinished = dump.with_suffix(f".{os.getpid()}")
    _client(_url(), "pg_dump", "--no-owner", "--file", str(unfinished))
    unfinished.rename(dump)


def load(dump: Path, url: str) -> None:
    quiet = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--output", os.devnull)
    _client(url, "psql", *quiet, "--file", str(dump))


def _client(url: str, program: str, *arguments: str) -> None:
    command = [str(wheel_binaries() / program), *arguments, "--dbname", url]
    subprocess.run(command, check=True, capture_output=True)


def _url() -> str:
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{_name()}").geturl()


def _name() -> str:
    return f"migrated_{Path(os.environ[RUN_DIR]).name}"


def _file() -> Path:
    return Path(os.environ[RUN_DIR], "migrated")
