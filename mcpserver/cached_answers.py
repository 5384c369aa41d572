"""Encoded answers to repeated questions, cached in the process (ADR 0009).

An answer is cached if its handler ran no statement besides the one of `load_sources`. The answer is then determined by
the arguments, the account's row, the day, and the state that this statement returns: a repeated question reads the
state again, and gets the cached bytes while the state is the same. A question with a tag, team or split runs
further statements, and is computed each time.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import connection

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.queries.sources import Sources, load_sources
from finops.lib import clock
from finops.lib.cost_access import cost_access
from finops.lib.name_choices import is_recording
from finops.receipts import records
from mcpserver.context import ToolCall
from mcpserver.registry import Tool

MAX_ANSWERS: Final = 256
"""Cached answers of a process, 25 KB each at most."""
SECONDS: Final = 600
"""How long an answer is cached after it was computed."""

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An encoded answer, without what depends on the credential. `receipt` is its code, empty without a receipt."""

    answer: bytes
    console_url: str
    is_truncated: bool
    receipt: str


@dataclass(frozen=True, slots=True)
class _Key:
    tool: str
    arguments: bytes
    account_row: tuple[Any, ...]
    console: str
    day: date
    secret_key: str
    """Determines the code of the receipt."""


@dataclass(frozen=True, slots=True)
class _Entry:
    sources: weakref.ref[Sources]
    """Weak: a cached answer does not hold replaced bills in memory."""
    expires_at: float
    answer: EncodedAnswer


@dataclass(frozen=True, slots=True)
class AnswerLookup:
    """A call whose answer may be cached, and the state that it was asked in."""

    key: _Key
    sources: Sources

    def find(self) -> EncodedAnswer | None:
        """Return the cached answer. None without one, and for an answer whose receipt is not stored yet."""
        entry = _entries.get(self.key)
        if entry is None or entry.sources() is not self.sources or time.monotonic() > entry.expires_at:
            return None
        if not records.is_stored(self.sources.manifest.account_id, entry.answer.receipt):
            return None
        return entry.answer

    def store(self, answer: EncodedAnswer) -> None:
        entry = _Entry(weakref.ref(self.sources), time.monotonic() + SECONDS, answer)
        with _lock:
            _entries[self.key] = entry
            _entries.move_to_end(self.key)
            while len(_entries) > MAX_ANSWERS:
                _entries.popitem(last=False)


_entries: OrderedDict[_Key, _Entry] = OrderedDict()
_lock = threading.Lock()
_sources: ContextVar[Sources | None] = ContextVar("sources_of_call", default=None)


def lookup_of(tool: Tool, arguments: Mapping[str, Any], call: ToolCall) -> AnswerLookup | None:
    """Return the lookup of a call in the account's own currency, with its state; None if answers of the tool are not
    cached, the reader's cost access is limited, or the person may be asked about a filter value. One statement."""
    if not tool.is_cacheable or call.cost_access_limits or not settings.LAKE_ANSWERS_BYTES:
        return None
    if is_recording() and arguments.get("filters"):
        # A computed answer offers similar values, of which the person chooses one.
        return None
    with account_scope(call.account), cost_access(None):
        sources = load_sources(call.account)
    key = _Key(
        tool.name, _encode(arguments), _row(call.account), call.console, clock.today(), settings.SECRET_KEY
    )
    return AnswerLookup(key, sources)


def _row(account: Account) -> tuple[Any, ...]:
    """Return the columns that the check of the credential has read."""
    return tuple(
        _encode(value) if isinstance(value, dict) else value
        for name, value in account.__dict__.items()
        if name != "_state"
    )


@contextmanager
def bind_sources(lookup: AnswerLookup | None) -> Iterator[Callable[[], bool]]:
    """Make the state of the lookup available to the handler (`current_sources`). Yields a function that returns whether
    the answer can be cached, that is, whether the handler has run no statement."""
    if lookup is None:
        yield lambda: False
        return
    counter = _StatementCounter()
    token = _sources.set(lookup.sources)
    try:
        with connection.execute_wrapper(counter):
            yield lambda: counter.count == 0
    finally:
        _sources.reset(token)


class _StatementCounter:
    """A wrapper of Django's around statements (`execute_wrapper`)."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.count += 1
        return execute(*arguments)


def current_sources() -> Sources | None:
    """Return the state that the endpoint has read for this call; None if the handler has to read it."""
    return _sources.get()


def forget() -> None:
    """Clear the cache: between tests."""
    with _lock:
        _entries.clear()
