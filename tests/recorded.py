"""Answers and names recorded byte by byte, so that a change of shape inside shows that it changes nothing outside.

Files under tests/data/. Where a change is meant, `RECORD=1 make test T=…` writes them anew, and the diff of the files is
what to review.
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
"""Of a difference, in the message of a failure."""
DATA = Path(__file__).parent / "data"
FIRST_ID = 1_000_000


def restart_ids(first: int = FIRST_ID) -> None:
    """The next row of every table has the same key wherever and whenever this runs. Taken back with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname, sequencename FROM pg_sequences")
        for schema, name in cursor.fetchall():
            cursor.execute(f'ALTER SEQUENCE "{schema}"."{name}" RESTART WITH {first}')


def compare(name: str, answers: Any) -> None:
    """Raises AssertionError where the answers are not those recorded in tests/data/answers/. What is `msgspec.Raw` in them is
    compared byte by byte, but for white space: a line a value, so that a diff shows which it is."""
    text = msgspec.json.format(msgspec.json.encode(answers), indent=1).decode()
    # A receipt names the files of the bills, which no two runs have alike.
    text = re.sub(r'"receipt": "[A-Z-]{19}"', '"receipt": "(code)"', text)
    compare_text(f"answers/{name}.json", text + "\n")


def compare_json(file: str, value: Any) -> None:
    compare_text(file, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def compare_text(file: str, text: str) -> None:
    """Raises AssertionError where the text is not that of the file below tests/data/."""
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
    """Raises AssertionError where the folder below tests/data/ has other files, or one of them another text."""
    path = DATA / folder
    if os.environ.get("RECORD"):
        for old in path.glob("*"):
            old.unlink()
    else:
        assert sorted(each.name for each in path.iterdir()) == sorted(texts), IF_MEANT
    problems = [problem for name, text in texts.items() if (problem := _difference(f"{folder}/{name}", text))]
    assert not problems, "\n\n".join(problems)


def _difference(file: str, text: str) -> str:
    """Why the text is not that recorded; empty where it is."""
    try:
        compare_text(file, text)
    except AssertionError as error:
        return str(error)
    return ""
