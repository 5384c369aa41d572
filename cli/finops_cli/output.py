"""Answers as a table, JSON or CSV."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finops_cli.client import Answer
from finops_cli.errors import CommandError

_ABOUT = ("resolved_filters", "applied_splits")
"""Fields of an answer that describe how it was computed."""


def print_answer(answer: Answer, how: str, rows_field: str = "") -> None:
    """Print an answer as table, JSON or CSV. Raises CommandError if the answer has no `rows_field`."""
    if how == "json":
        sys.stdout.write(answer.body.decode() + "\n")
        return
    body = answer.json
    rows = rows_of(body, rows_field)
    if how == "csv":
        print_notes(body, sys.stderr)
        write_csv(rows)
        return
    print_notes(body, sys.stdout)
    if rows:
        print()
        print_table(rows)


def print_notes(body: Mapping[str, Any], stream: Any) -> None:
    """Print the summary and its qualifications: warnings, truncation, conversion."""
    print(body.get("summary", ""), file=stream)
    for warning in body.get("warnings") or []:
        print(f"Warning: {warning}", file=stream)
    if body.get("truncated"):
        print(f"Truncated: {body['truncated']}", file=stream)
    if conversion := body.get("conversion"):
        print(f"Converted to {conversion.get('display_currency')}.", file=stream)


def rows_of(body: Mapping[str, Any], field: str = "") -> list[dict[str, Any]]:
    """Return the rows of an answer: its list of objects `field`, else `rows`, else the longest list.

    Raises CommandError for a field that is no list of objects.
    """
    lists = {name: value for name, value in body.items() if _is_rows(value)}
    if field:
        if field not in lists:
            raise CommandError(f"{field} is no list of the answer. Lists: {', '.join(lists) or 'none'}.")
        return [_flat(row) for row in lists[field]]
    if not lists.get("rows"):
        lists = {name: value for name, value in lists.items() if name not in _ABOUT}
    chosen: list[dict[str, Any]] = lists.get("rows") or max(lists.values(), key=len, default=[])
    return [_flat(row) for row in chosen]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a row with nested objects as dotted columns. Lists stay."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            cells.update(_flat(value, f"{prefix}{name}."))
        else:
            cells[prefix + name] = value
    return cells


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, default=str) if isinstance(value, list) else str(value)


def write_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Write CSV. Texts that a spreadsheet would run as a formula get a leading apostrophe: names come from bills."""
    columns = _columns(rows)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([_csv_text(name) for name in columns])
    for row in rows:
        writer.writerow([_csv_text(row.get(name)) for name in columns])


# As finops.lib.listing has them: also the wide forms of East Asian keyboards, and after what may begin a cell.
_FORMULA = re.compile(r"\s*[=@＝＠]|[+\-＋－\t\r\n]")  # noqa: RUF001
_INNER_FORMULA = re.compile(r"[;\t\r\n](?=\s*[=@＝＠]|[+\-＋－])")  # noqa: RUF001


def _csv_text(value: Any) -> str:
    text = _text(value)
    if not isinstance(value, (str, list)):
        return text
    text = _INNER_FORMULA.sub(r"\g<0>'", text)
    return f"'{text}" if _FORMULA.match(text) else text


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print columns up to the width of the terminal; numbers right-aligned."""
    columns = [name for name in _columns(rows) if any(row.get(name) not in (None, "", []) for row in rows)]
    cells = [[printable(_text(row.get(name))) for name in columns] for row in rows]
    widths = [max(len(name), *(len(line[at]) for line in cells)) for at, name in enumerate(columns)]
    numeric = [all(isinstance(row.get(name), (int, Decimal, type(None))) for row in rows) for name in columns]
    room = shutil.get_terminal_size((160, 24)).columns
    for line in [columns, ["-" * width for width in widths], *cells]:
        padded = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric)
        )
        text = "  ".join(padded).rstrip()
        print(text if len(text) <= room or not sys.stdout.isatty() else text[: room - 1] + "…")


def printable(text: str) -> str:
    """Return the text on one line, without control characters: names come from bills, and a terminal runs those."""
    return "".join(each if each.isprintable() else " " for each in text)
