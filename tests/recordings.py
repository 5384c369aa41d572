"""Answers and names recorded byte by byte, to prove that an internal change does not affect them.

The files are in tests/data/. For an intended change `RECORD=1 make test T=…` writes them again; review the diff of
the files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from django.db import connection

IF_MEANT = "If it is meant: RECORD=1 with this test writes it anew; read the diff."
SHOWN_LINES = 60
"""The most lines of a difference in the message of a failure."""
DATA = Path(__file__).parent / "data"
FIRST_ID = 1_000_000


def restart_ids(first: int = FIRST_ID) -> None:
    """Give the next row of every table the same key in every run. Rolled back with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname, sequencename FROM pg_sequences")
        for schema, name in cursor.fetchall():
            cursor.execute(f'ALTER SEQUENCE "{schema}"."{name}" RESTART WITH {first}')


def compare(name: str, answers: Any) -> None:
    """Compare answers with tests/data/answers/. Raises AssertionError if they differ. `msgspec.Raw` values are
    compared byte by byte, except for white space: files have a line for each value, so that a diff shows which one
    changed."""
    text = msgspec.json.format(msgspec.json.encode(answers), indent=1).decode()
    # A receipt depends on the files of the bills, which differ in each run.
    text = re.sub(r'"receipt": "[A-Z-]{19}"', '"receipt": "(code)"', text)
    compare_text(f"answers/{name}.json", text + "\n")


def compare_json(file: str, value: Any) -> None:
    compare_text(file, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def compare_text(file: str, text: str) -> None:
    """Compare the text with a file below tests/data/. Raises AssertionError if they differ."""
    path = DATA / file
    if os.environ.get("RECORD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"tests/data/{file} is not recorded yet. {IF_MEANT}"
    difference = unified_diff(
        path.read_text().splitlines(), text.splitlines(), "recorded", "now", n=1, lineterm=""
    )
    assert not (shown := "\n".join(islice(difference, SHOWN_LINES))), f"{file}\n{shown}\n{IF_MEANT}"


def compare_folder(folder: str, texts: Mapping[str, str]) -> None:
    """Compare texts with the folder below tests/data/. Raises AssertionError if it has other files, or a file with
    another text."""
    path = DATA / folder
    if os.environ.get("RECORD"):
        for old in path.glob("*"):
            old.unlink()
    else:
        assert sorted(each.name for each in path.iterdir()) == sorted(texts), IF_MEANT
    problems = [problem for name, text in texts.items() if (problem := _difference(f"{folder}/{name}", text))]
    assert not problems, "\n\n".join(problems)


def _difference(file: str, text: str) -> str:
    """Return the difference from the recorded text; empty if there is none."""
    try:
        compare_text(file, text)
    except AssertionError as error:
        return str(error)
    return ""
