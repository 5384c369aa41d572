"""The version of the lake's files that this program reads and writes, and the versions of other programs (ADR 0086).

A file's version is part of its name, so its path shows whether this program reads it: without a query, and without a race
between check and read. Names of version 1 end with `.parquet`, of later ones with `.v2.parquet` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from django.db import connection

LAKE_VERSION: Final[int] = 1
"""The version of files that this program writes; it reads this version and earlier ones. Increase it only for a change that
the earlier version would read wrongly: not for a new column."""

APPLICATION: Final = "finops-console lake="
"""Prefix of the application name of sessions in PostgreSQL; the version of their program follows."""

_ENDING: Final = re.compile(r"\.v([0-9]{1,4})\.parquet$")

_NEWEST: Final = r"""
SELECT coalesce(max(substring(path FROM '\.v([0-9]{1,4})\.parquet$')::int), 1) FROM (
    SELECT path FROM lake_lakesegment UNION ALL SELECT path FROM lake_lakesummary
) AS stored WHERE path LIKE '%%.v%%.parquet'
"""
_OLDER_SESSIONS: Final = """
SELECT DISTINCT coalesce(host(client_addr), 'this machine') FROM pg_stat_activity
WHERE datname = current_database() AND starts_with(application_name, %(name)s)
    AND substr(application_name, length(%(name)s) + 1) ~ '^[0-9]{1,4}$'
    AND substr(application_name, length(%(name)s) + 1)::int < %(version)s
ORDER BY 1
"""


class OtherVersion(RuntimeError):
    """This program must not start with these files, or while these programs run; the message has the steps."""


def application_name() -> str:
    """The application name of this program's sessions in PostgreSQL."""
    return f"{APPLICATION}{LAKE_VERSION}"


def file_ending() -> str:
    """The ending of the names of new files."""
    return ".parquet" if LAKE_VERSION == 1 else f".v{LAKE_VERSION}.parquet"


def is_readable(path: str) -> bool:
    """Whether this program reads the file of this path."""
    match = _ENDING.search(path)
    return match is None or int(match[1]) <= LAKE_VERSION


def refuse_other_versions() -> None:
    """Check versions at the start of programs that write files. Raises OtherVersion where the lake has files that this
    program does not read, and where programs that would not read its files still run on this database. Two queries.

    Behind a pooler that gives each transaction another connection, only sessions of that moment are seen.
    """
    newest = _newest_version()
    if newest > LAKE_VERSION:
        raise OtherVersion(
            f"Files of this lake were written by a newer version of the console (version {newest}; this one reads {LAKE_VERSION}). "
            "Start the newer version. To go back, restore a backup from before the upgrade with the version that wrote it."
        )
    hosts = _hosts_of_older_programs()
    if hosts:
        raise OtherVersion(
            f"An older version of the console still runs on this database, from {', '.join(hosts)}. It cannot read the files that "
            "this version writes. In this order: 1. stop workers and beat of the older version. 2. manage.py migrate. 3. replace each "
            "web node. 4. start workers and beat of this version (docs/upgrading.md)."
        )


def _newest_version() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('lake_lakesummary') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return 1  # a new database
        cursor.execute(_NEWEST, {})
        return int(cursor.fetchone()[0])


def _hosts_of_older_programs() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(_OLDER_SESSIONS, {"name": APPLICATION, "version": LAKE_VERSION})
        return [row[0] for row in cursor.fetchall()]


def unreadable(paths: Iterable[str]) -> list[str]:
    """Return the paths among these whose files have a later version."""
    return [path for path in paths if not is_readable(path)]
