"""How the rows of a test of real transactions go: of the tables that have rows, where Django truncates every table, whose
files PostgreSQL then makes anew, with those of its indexes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db.backends.base.operations import BaseDatabaseOperations

# Django makes these again after each flush, a query a model.
OF_MODELS = frozenset({Permission._meta.db_table, ContentType._meta.db_table})
REFERENCED = "SELECT DISTINCT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'"


def sql_flush(
    operations: BaseDatabaseOperations, style: Any, tables: Iterable[str], **_options: object
) -> list[str]:
    """In place of the operations' method. What a foreign key names cannot be truncated alone; its rows are deleted, and so
    after those that name them are gone."""
    names = {name: operations.quote_name(name) for name in tables if name not in OF_MODELS}
    if not names:
        return []
    looks = [f"SELECT '{name}' WHERE EXISTS (SELECT FROM {quoted})" for name, quoted in names.items()]
    with operations.connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        filled = {name for (name,) in cursor.fetchall()}
        cursor.execute(REFERENCED)
        referenced = {name.strip('"') for (name,) in cursor.fetchall()} & filled
    alone = [names[name] for name in sorted(filled - referenced)]
    truncate = [f"TRUNCATE {', '.join(alone)}"] if alone else []
    return [*truncate, *(f"DELETE FROM {names[name]}" for name in sorted(referenced))]
