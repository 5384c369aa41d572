"""Finds every URL, model and task of the project by itself, so that a new one joins the walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

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
    """A hash of the rows of every table, to tell whether anything was written."""
    tables = [name for name in connection.introspection.table_names() if name not in _OF_THE_VISIT | without]
    with connection.cursor() as cursor:
        found = {}
        for table in sorted(tables):
            cursor.execute(
                f"SELECT md5(COALESCE(string_agg(t::text, E'\\n' ORDER BY t::text), '')) FROM \"{table}\" t"
            )
            found[table] = cursor.fetchone()[0]
    return found
