"""Recorded answers and names, to prove that an internal change does not affect them.

The files are in tests/data/. For an intended change `RECORD=1 make test T=…` writes them again; review the diff of
the files.
"""

from __future__ import annotations

import json
import os
import re
from decimal import Decimal
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
GOLDEN = frozenset(
    {
        "explainSpendChange",
        "listAnomalies",
        "listBudgets",
        "listSavingsRecommendations",
        "querySpend",
        "queryUnitCost",
    }
)
"""Tools whose answers are recorded with their sentences."""
_FIGURE = re.compile(r"-?\w*[\d_]\w*(?:[.,:-]\w+)*|\b[a-z]+[A-Z]\w*")
"""A number, a date, an amount, a code with a digit or an underscore, the name of a tool."""
_DECODER = msgspec.json.Decoder(float_hook=Decimal)
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def restart_ids(first: int = FIRST_ID) -> None:
    """Give the next row of every table the same key in every run. Rolled back with the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT schemaname, sequencename FROM pg_sequences")
        for schema, name in cursor.fetchall():
            cursor.execute(f'ALTER SEQUENCE "{schema}"."{name}" RESTART WITH {first}')


def compare(name: str, answers: Any) -> None:
    """Compare answers with tests/data/answers/: those of GOLDEN whole, others by shape and figures. Raises
    AssertionError if they differ. Numbers in `msgspec.Raw` values are compared digit by digit."""
    encoded = msgspec.json.encode(answers)
    if name not in GOLDEN:
        encoded = _ENCODER.encode(recorded(_DECODER.decode(encoded)))
    text = msgspec.json.format(encoded, indent=1).decode()
    # A receipt depends on the files of the bills, which differ in each run.
    text = re.sub(r'"receipt": "[A-Z-]{19}"', '"receipt": "(code)"', text)
    compare_text(f"answers/{name}.json", text + "\n")


def recorded(value: Any) -> Any:
    """Return what is recorded of an answer: keys, numbers, codes and names; of a sentence or a title the figures and
    identifiers in it, sorted, since a test of behaviour does not fail for its wording."""
    if isinstance(value, dict):
        return {name: _figures(each) if name == "title" else recorded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [recorded(each) for each in value]
    if isinstance(value, str) and _is_sentence(value):
        return _figures(value)
    return value


def _figures(text: str) -> str:
    return " ".join(["…", *sorted(set(_FIGURE.findall(text)))])


def _is_sentence(text: str) -> bool:
    """Return whether it ends as one or has three words in lower case; "Compute Engine" and "(no team)" are names."""
    words = text.split()
    return len(words) > 1 and (text.endswith((".", "?")) or sum(word[0].islower() for word in words) > 2)


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
