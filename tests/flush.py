"""Faster cleanup after tests of real transactions: only tables with rows are emptied. Django truncates every table,
and PostgreSQL then creates new files for the tables and their indexes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db.backends.base.operations import BaseDatabaseOperations

# Django creates these again after each flush, with a query for each model.
OF_MODELS = frozenset({Permission._meta.db_table, ContentType._meta.db_table})
REFERENCED = "SELECT DISTINCT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"


def sql_flush(
    operations: BaseDatabaseOperations, style: Any, tables: Iterable[str], **_options: object
) -> list[str]:
    """Replacement of the method of the database operations. A table that a foreign key references cannot be truncated
    alone, so its rows are deleted, after those of the tables that reference it."""
    names = {name: operations.quote_name(name) for name in tables if name not in OF_MODELS}
    if not names:
        return []
    queries = [f"SELECT '{name}' WHERE EXISTS (SELECT FROM {quoted})" for name, quoted in names.items()]
    with operations.connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(queries))
        filled = {name for (name,) in cursor.fetchall()}
        cursor.execute(REFERENCED)
        referenced = {name.strip('"') for (name,) in cursor.fetchall()} & filled
    unreferenced = [names[name] for name in sorted(filled - referenced)]
    truncate = [f"TRUNCATE {', '.join(unreferenced)}"] if unreferenced else []
    return [*truncate, *(f"DELETE FROM {names[name]}" for name in sorted(referenced))]
