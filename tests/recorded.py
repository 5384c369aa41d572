"""Answers recorded byte by byte, so that a change of shape inside shows that it changes nothing outside.

A file a tool under tests/data/answers/. Where a change is meant, `RECORD=1 make test T=…` writes them anew, and the diff
of the files is what to review.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data" / "answers"
# Keys of rows, which depend on what other tests made before: as the value of a field, and in an address.
_IDS = (
    re.compile(r'(?<="id":)\d+|(?<=_id":)\d+|(?<=/)\d+(?=/)'),
    re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
)


def without_ids(text: str) -> str:
    """The text with each key of a row as the place in which it first came: 1, 2, 3."""
    numbers: dict[str, str] = {}

    def number_of(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], str(len(numbers) + 1))

    for pattern in _IDS:
        text = pattern.sub(number_of, text)
    return text


def compare(name: str, answers: list[dict[str, Any]]) -> None:
    """Raises AssertionError where the answers are not those recorded."""
    path, text = FOLDER / f"{name}.json", json.dumps(answers, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text
