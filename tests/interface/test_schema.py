"""The database's tables after all migrations, as PostgreSQL says them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection

from tests import recordings

# NOT NULL is said with the column: PostgreSQL 18 has it among the constraints too, under a name of its own.
TABLES = """
SELECT format('%s.%s  %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
        COALESCE(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''),
        CASE WHEN a.attidentity <> '' THEN ' IDENTITY ' || a.attidentity::text ELSE '' END)
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0
       AND NOT a.attisdropped
UNION ALL
SELECT format('%s CONSTRAINT %s  %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
UNION ALL
SELECT format('%s INDEX %s  %s', tablename, indexname, indexdef) FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT format('%s TRIGGER %s  %s', tgrelid::regclass, tgname, pg_get_triggerdef(oid)) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT format('%s OPTIONS  %s', relname, reloptions) FROM pg_class
 WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL
UNION ALL
SELECT format('FUNCTION %s(%s)  %s', proname, pg_get_function_identity_arguments(p.oid), md5(prosrc))
  FROM pg_proc p LEFT JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
 WHERE pronamespace = 'public'::regnamespace AND d.objid IS NULL
UNION ALL
SELECT format('EXTENSION %s', extname) FROM pg_extension
"""
_PARTITION = re.compile(r"_of_\d+")
_CASTS = re.compile(r"::(?:character varying|text)(?:\[\])?|[()]")
"""A list of choices is written one way by a migration and another way after a dump was restored."""


@pytest.mark.django_db
def test_every_table_is_as_recorded() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        lines = schema_lines(cursor.fetchall())

    recordings.compare_text("interface/schema.txt", "".join(f"{line}\n" for line in lines))


def schema_lines(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """From the rows of TABLES: each line once, sorted, without the numbers of partitions."""
    return sorted({_plain(line) for (line,) in rows})


def _plain(line: str) -> str:
    text = " ".join(_PARTITION.sub("_of_N", line).split())
    return _CASTS.sub("", text) if " CHECK " in text or " WHERE " in text else text
