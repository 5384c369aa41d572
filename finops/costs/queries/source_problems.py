"""Sources that deliver no new data. They are read with the sources themselves (`queries/sources.py`), in one
statement. Apps above register their queries in `source_problems`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from finops.costs.answers import SourceHealth
from finops.lib.registry import Registry
from finops.lib.sentences import truncate

NAME_LENGTH: Final = 60


@dataclass(frozen=True)
class SourceProblem:
    """A problem of a source. `text` has `{name}` for its name: "syncs of {name} have failed since 2026-05-07"."""

    source_id: int
    text: str

    def words(self, source: SourceHealth) -> str:
        effect = "its newest cost may be missing" if source.rows else "it has no cost yet"
        return f"{self.text.format(name=repr(truncate(source.name, NAME_LENGTH)))}, so {effect}"


@dataclass(frozen=True)
class ProblemQuery:
    """`sql`: a SELECT of one JSON value, of `%(account)s` at the time `%(now)s`, without other parameters; `read`
    parses its text. Every answer about cost runs it, so it has to be an index lookup."""

    sql: str
    read: Callable[[str], list[SourceProblem]]


source_problems: Registry[ProblemQuery] = Registry("source problem")
