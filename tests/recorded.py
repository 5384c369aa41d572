"""Answers and names recorded byte by byte, so that a change of shape inside shows that it changes nothing outside.

Files under tests/data/. Where a change is meant, `RECORD=1 make test T=…` writes them anew, and the diff of the files is
what to review.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.db import connection

DATA = Path(__file__).parent / "data"
FIRST_ID = 1_000_000


def restart_ids(first: int = FIRST_ID) -> None:
    """The next row of every table has the same key wherever and whenever this runs. Taken back with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname, sequencename FROM pg_sequences")
        for schema, name in cursor.fetchall():
            cursor.execute(f'ALTER SEQUENCE "{schema}"."{name}" RESTART WITH {first}')


def compare(name: str, answers: Any) -> None:
    """Raises AssertionError where the answers are not those recorded in tests/data/answers/."""
    compare_json(f"answers/{name}.json", answers)


def compare_json(file: str, value: Any) -> None:
    compare_text(file, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def compare_text(file: str, text: str) -> None:
    """Raises AssertionError where the text is not that of the file below tests/data/."""
    path = DATA / file
    if os.environ.get("RECORD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text
