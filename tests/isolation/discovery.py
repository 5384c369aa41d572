"""Finds every URL, model and task of the project by itself, so that a new one joins the walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from django.apps import apps
from django.db import connection, models
from django.urls import URLPattern, URLResolver, get_resolver

OUR_PREFIXES = ("finops", "accounts", "ingestion", "mcpserver")


@dataclasses.dataclass(frozen=True)
class Route:
    """One URL pattern: its text with converters, its view, the names of its arguments."""

    path: str
    view: Any
    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return self.path


def routes() -> list[Route]:
    return list(_routes(get_resolver().url_patterns, ""))


def _routes(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, path)
        else:
            arguments = tuple(get_arguments(path))
            yield Route(path=path, view=pattern.callback, name=pattern.name or "", arguments=arguments)


def get_arguments(path: str) -> Iterator[str]:
    for part in path.split("<")[1:]:
        yield part.split(">")[0].split(":")[-1]


def account_routes() -> list[Route]:
    return [route for route in routes() if route.path.startswith("a/<slug:slug>/")]


def our_models() -> list[type[models.Model]]:
    return [model for model in apps.get_models() if model.__module__.startswith(OUR_PREFIXES)]


def fill(route: Route, slug: str, values: dict[str, object]) -> str:
    path = "/" + route.path
    for part in route.path.split("<")[1:]:
        converter = part.split(">")[0]
        name = converter.split(":")[-1]
        path = path.replace(f"<{converter}>", slug if name == "slug" else str(values[name]))
    return path


# Written by every signed-in request, whatever it may do.
_OF_THE_VISIT = {"accounts_session", "django_migrations"}


def fingerprint(*, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """A hash of the rows of every table, to tell whether anything was written. A thousand tests ask twice: one statement
    for all tables, which PostgreSQL plans once a connection."""
    name = f"fingerprint_{crc32(' '.join(sorted(without)).encode()):x}"  # names have 63 characters at most
    with connection.cursor() as cursor:
        # psycopg deallocates every prepared statement after a ROLLBACK, also those that it did not prepare.
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE name = %s", [name])
        if cursor.fetchone() == (0,):
            rows = "md5(COALESCE(string_agg(t::text, E'\\n' ORDER BY t::text), ''))"
            tables = set(connection.introspection.table_names(cursor)) - _OF_THE_VISIT - without
            hashes = [f"SELECT '{table}', (SELECT {rows} FROM \"{table}\" t)" for table in sorted(tables)]
            cursor.execute(f'PREPARE "{name}" AS {" UNION ALL ".join(hashes)}')
        cursor.execute(f'EXECUTE "{name}"')
        return dict(cursor.fetchall())
