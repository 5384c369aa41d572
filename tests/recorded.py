"""Answers recorded byte by byte, so that a change of shape inside shows that it changes nothing outside.

A file a tool under tests/data/answers/. Where a change is meant, `RECORD=1 make test T=…` writes them anew, and the diff
of the files is what to review.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.db import connection

FOLDER = Path(__file__).parent / "data" / "answers"
FIRST_ID = 1_000_000


def restart_ids() -> None:
    """The next row of every table has the same key wherever and whenever this runs. Taken back with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname, sequencename FROM pg_sequences")
        for schema, name in cursor.fetchall():
            cursor.execute(f'ALTER SEQUENCE "{schema}"."{name}" RESTART WITH {FIRST_ID}')


def compare(name: str, answers: list[dict[str, Any]]) -> None:
    """Raises AssertionError where the answers are not those recorded."""
    path, text = FOLDER / f"{name}.json", json.dumps(answers, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text
