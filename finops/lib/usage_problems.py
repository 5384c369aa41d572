"""Sources that deliver no new usage, for the first sentence of every answer about usage. Apps above register queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from finops.lib.registry import Registry
from finops.lib.sentences import truncate

NAMED_SOURCES: Final = 2
NAME_LENGTH: Final = 60


@dataclass(frozen=True)
class UsageProblem:
    """A source that delivers no new usage. `text` is a clause with `{name}` for its name; usage before `missing_from` is
    complete."""

    name: str
    text: str
    missing_from: date

    @property
    def words(self) -> str:
        return f"{self.text.format(name=repr(truncate(self.name, NAME_LENGTH)))}, so its newest usage may be missing"


@dataclass(frozen=True)
class UsageProblemQuery:
    """`sql`: a SELECT of one JSON value, of `%(account)s` at the time `%(now)s`, without other parameters; `read`
    parses its text. Every answer about usage runs it, so it has to be an index lookup."""

    sql: str
    read: Callable[[str], list[UsageProblem]]


usage_problems: Registry[UsageProblemQuery] = Registry("usage problem")


def read_problems(texts: Iterable[str]) -> list[UsageProblem]:
    """Return the problems of what the queries returned, in the order of their registration."""
    pairs = zip(usage_problems.values(), texts, strict=True)
    return [each for query, text in pairs for each in query.read(text)]


def problem_clauses(problems: Iterable[UsageProblem], last_day: date) -> list[str]:
    """Return a clause on each source that may lack usage of days up to `last_day`. Of all sources that are pulled, since
    nothing but its events tells which one a metric comes from."""
    return [each.words for each in problems if each.missing_from <= last_day]


def clauses_text(clauses: Sequence[str]) -> str:
    """Return clauses for the end of a first sentence: the first sources by name, the others counted."""
    more = len(clauses) - NAMED_SOURCES
    more_clauses = [f"{more} more usage sources have problems (getDataHealth)"] if more > 0 else []
    return "".join(f"; {each}" for each in [*clauses[:NAMED_SOURCES], *more_clauses])


def clause_warnings(clauses: Sequence[str]) -> list[str]:
    """Return the clauses of the sources that are named, as sentences."""
    return [f"{each[0].upper()}{each[1:]}." for each in clauses[:NAMED_SOURCES]]
