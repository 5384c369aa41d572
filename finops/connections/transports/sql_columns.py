"""Matches a table's columns with FOCUS columns, and reports drift: missing, renamed or with another type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from finops.connections.connector import SourceError
from finops.costs.focus.columns import AMOUNTS, KNOWN, LENIENT, MANDATORY, TIMES, fold
from finops.lib.sentences import join_with_and, truncate

MAX_COLUMNS: Final = 500
MAX_SHOWN: Final = 5
"""Number of columns named in a finding."""

_NUMBER: Final = re.compile(
    r"(numeric|decimal|bignumeric|bigdecimal|number|fixed|(big|small|tiny|byte)?int(eger|\d+)?|long|short|byte|"
    r"float\d*|double( precision)?|real|money)"
)
_TIME: Final = re.compile(r"(date|datetime|timestamp.*)")
_NEITHER: Final = re.compile(r"(bool(ean)?|array.*|.*\[\]|record|struct.*|map.*|bytes|bytea|binary)")


class SqlColumn(NamedTuple):
    """A column and its type, as the database names them; no type if it does not report it."""

    name: str
    type: str = ""


def focus_columns(columns: Sequence[SqlColumn], field: str) -> Mapping[str, SqlColumn]:
    """Return the columns by FOCUS name, in lower case. Raises SourceError, at the config's field, that names every
    column that is missing or of an impossible type, and its likely new name."""
    if len(columns) > MAX_COLUMNS:
        raise SourceError(f"There are {len(columns)} columns; {MAX_COLUMNS} are read at most.", field=field)
    columns_by_name = {fold(each.name): each for each in columns}
    missing = [either[0] for either in MANDATORY if not any(fold(name) in columns_by_name for name in either)]
    unread_columns = other_columns(columns)
    problems = (
        [f"There is no {join_with_and([_with_guess(name, unread_columns) for name in missing])}."]
        if missing
        else []
    )
    problems += [
        f"{columns_by_name[fold(name)].name} is {truncate(columns_by_name[fold(name)].type, 60)}, not a {kind}."
        for name, kind in _KINDS.items()
        if fold(name) in columns_by_name and not _is_possible(columns_by_name[fold(name)].type, kind)
    ]
    if problems:
        raise SourceError(
            f"{' '.join(problems)} Name the columns of the table, view or query as FOCUS does, with amounts as numbers and "
            "periods as times.",
            field=field,
        )
    return columns_by_name


def other_columns(columns: Sequence[SqlColumn]) -> list[str]:
    """Return the columns that are neither FOCUS columns nor provider columns (x_): they are not read."""
    folded_names = {fold(name) for name in KNOWN}
    return [
        each.name
        for each in columns
        if fold(each.name) not in folded_names and not each.name.strip().casefold().startswith("x_")
    ]


def other_columns_text(columns: Sequence[SqlColumn]) -> str:
    """Return the columns that are not read, each with the missing FOCUS column that it may be; empty if there are none."""
    unread_columns = other_columns(columns)
    if not unread_columns:
        return ""
    there = {fold(each.name) for each in columns}
    missing = [name for name in KNOWN if fold(name) not in there]
    shown = [_with_focus_name(name, missing) for name in unread_columns[:MAX_SHOWN]]
    more = [f"{len(unread_columns) - MAX_SHOWN} more"] if len(unread_columns) > MAX_SHOWN else []
    return join_with_and([*shown, *more])


_KINDS: Final[Mapping[str, str]] = {
    **{name: "number" for name in AMOUNTS.values() if name not in LENIENT},
    **{name: "time" for name in TIMES.values() if name not in LENIENT},
}


def _is_possible(type_: str, kind: str) -> bool:
    """Return whether the type is possible. Text can hold any value, and an unknown type is accepted."""
    name = re.sub(r"\(.*", "", type_).strip().casefold()
    other = _TIME if kind == "number" else _NUMBER
    return not other.fullmatch(name) and not _NEITHER.fullmatch(name)


def _with_guess(name: str, unread_columns: Sequence[str]) -> str:
    near = _nearest(name, unread_columns)
    return f"{name} (it may be {truncate(near, 60)} now)" if near else name


def _with_focus_name(name: str, lacking: Sequence[str]) -> str:
    near = _nearest(name, lacking)
    return f"{truncate(name, 60)} ({near}?)" if near else truncate(name, 60)


def _nearest(name: str, names: Sequence[str]) -> str:
    """Return the column with the most similar name, ignoring case and punctuation; empty if none is similar."""
    folded = {fold(each[:300]): each for each in names}
    return next((folded[each] for each in difflib.get_close_matches(fold(name[:300]), folded, 1, 0.6)), "")
