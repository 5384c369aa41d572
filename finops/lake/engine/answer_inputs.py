"""The inputs of an answer: manifest, expressions and exchange rates, recorded during the computation for the
answer's receipt (ADR 0080).

Inside `record_inputs` a query costs a microsecond more; outside it costs nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache

from finops.lake.engine.compiler import Currency, Query
from finops.lake.storage.manifest import Manifest
from finops.lib import clock


@dataclass
class AnswerInputs:
    """The inputs of one answer. An answer without a query over cost has no manifest."""

    at: datetime = field(default_factory=clock.now)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    """By identity; more than one if the bills changed during the computation."""
    source_state: tuple[str, ...] = ()
    """The state that `load_sources` read in addition to the manifest."""
    days: tuple[date, date] | None = None
    """The first and last day of all queries that have both."""
    has_usage: bool = False
    _expressions: set[str] = field(default_factory=set)
    _rates: set[str] = field(default_factory=set)

    @property
    def expressions(self) -> str:
        return _digest(frozenset(self._expressions))

    @property
    def rates(self) -> str:
        """The exchange rates of the answer; empty if nothing was converted."""
        return _digest(frozenset(self._rates)) if self._rates else ""

    def add_query(
        self, query: Query, start: date, end: date, currency: Currency | None, manifest: Manifest
    ) -> None:
        self.manifests[manifest.identity] = manifest
        self._expressions.add(query.digest)
        if currency is not None:
            self._rates.add(currency.identity)
        if start > date.min and end < date.max:
            first, last = self.days or (start, end)
            self.days = min(first, start), max(last, end)


_inputs: ContextVar[AnswerInputs | None] = ContextVar("answer_inputs", default=None)


@contextmanager
def record_inputs() -> Iterator[AnswerInputs]:
    """Record what queries inside the block read. Blocks nest; the innermost one records."""
    inputs = AnswerInputs()
    token = _inputs.set(inputs)
    try:
        yield inputs
    finally:
        _inputs.reset(token)


def note_query(query: Query, start: date, end: date, currency: Currency | None, manifest: Manifest) -> None:
    """Record one query over cost."""
    if (inputs := _inputs.get()) is not None:
        inputs.add_query(query, start, end, currency, manifest)


def note_usage() -> None:
    if (inputs := _inputs.get()) is not None:
        inputs.has_usage = True


def note_source_state(texts: Sequence[str]) -> None:
    if (inputs := _inputs.get()) is not None:
        inputs.source_state = tuple(texts)


@lru_cache(maxsize=1_024)
def _digest(texts: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:32]
