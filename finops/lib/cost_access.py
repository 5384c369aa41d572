"""Which cost a reader may see: all of the account, or the lines within a limit. The lake applies the limit to every statement.

A view or tool decides once, and everything that runs inside follows. A web process that reads cost without a decision is
refused; workers and commands say "the whole account" (ADR 0058).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

from finops.lib.errors import UserError

REFUSED = "This is not available with limited cost access."


@dataclass(frozen=True)
class CostLimit:
    """The cost lines that a reader may see. `condition` returns an Ibis condition for the table of cost lines, in which
    null counts as false; it is hashable and compares by value. `tag_keys` are the tag keys that it reads."""

    name: str
    condition: Callable[[Any], Any]
    tag_keys: tuple[str, ...] = ()
    whole_values: frozenset[tuple[str, str]] = frozenset()
    """Dimensions and values, in lower case, whose lines are all within the limit by the limit's own filters."""


class _Decision(Enum):
    UNDECIDED = "undecided"
    WHOLE = "whole account"


class NoCostAccess(RuntimeError):
    """Cost was read before anything decided which cost the reader may see."""


class LimitedCostAccess(UserError):
    """A reader with a limit requested something that is counted over the whole account. `instead`: what the reader can use."""

    def __init__(self, instead: str = "") -> None:
        super().__init__(f"{REFUSED} {instead}".strip())


_scope: ContextVar[CostLimit | _Decision | None] = ContextVar("cost_access", default=None)
_outside: _Decision = _Decision.WHOLE


def require_decisions() -> None:
    """Refuse reads of cost without a decision in any thread; for processes that serve requests."""
    global _outside
    _outside = _Decision.UNDECIDED


@contextmanager
def no_decision() -> Iterator[None]:
    """Run a request without cost access until its view or tool decides."""
    token = _scope.set(_Decision.UNDECIDED)
    try:
        yield
    finally:
        _scope.reset(token)


@contextmanager
def cost_access(limit: CostLimit | None) -> Iterator[None]:
    """Limit the cost inside the block; None: the whole account. Blocks nest; the innermost counts."""
    token = _scope.set(limit or _Decision.WHOLE)
    try:
        yield
    finally:
        _scope.reset(token)


def current_limit() -> CostLimit | None:
    """Return the limit in force, None for the whole account. Raises NoCostAccess where nothing has decided."""
    decision = _scope.get() or _outside
    if decision is _Decision.UNDECIDED:
        raise NoCostAccess("it is not set whose cost may be read: wrap the call in cost_access(limit)")
    return decision if isinstance(decision, CostLimit) else None


def limit_line() -> str:
    """Return the first line of a file for a limited reader; empty without a limit, and where nothing has decided."""
    decision = _scope.get()
    return f"Cost access is limited to {decision.name}." if isinstance(decision, CostLimit) else ""


def sees_all_of(filters: Iterable[tuple[str, str]]) -> bool:
    """Whether a reader sees every line with these dimensions and values, whatever lines there are."""
    limit = current_limit()
    return limit is None or any((name, value.lower()) in limit.whole_values for name, value in filters)


def sees_whole_account() -> bool:
    """Whether stored results of the whole account may be shown. Raises NoCostAccess where nothing has decided."""
    return current_limit() is None


def require_whole_account(instead: str = "") -> None:
    """Require access to the whole account, for stored results such as anomalies. Raises LimitedCostAccess for a limited
    reader, NoCostAccess where nothing has decided."""
    if current_limit() is not None:
        raise LimitedCostAccess(instead)
