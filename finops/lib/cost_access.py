"""Whose cost a reader sees: all of the account, or the lines within a limit. The lake puts it into every statement it runs.

A door decides once, and everything that runs inside follows. A web process that asks for cost without a decision is refused;
workers and commands say "the whole account" (ADR 0058).
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
    """The lines that a reader sees. `condition` makes an Ibis condition of the table of cost lines, of which null is no; it is
    hashable and equal by value. `tag_keys` are the keys that it reads."""

    name: str
    condition: Callable[[Any], Any]
    tag_keys: tuple[str, ...] = ()
    whole_values: frozenset[tuple[str, str]] = frozenset()
    """Dimensions and their values, in lower case, of which every line is within the limit by its filters alone."""


class _Decision(Enum):
    UNDECIDED = "undecided"
    WHOLE = "whole account"


class NoCostAccess(RuntimeError):
    """Cost was asked for before a door decided whose cost it may be."""


class LimitedCostAccess(UserError):
    """A reader with a limit asked for what is counted over the whole account. `instead`: what she can use."""

    def __init__(self, instead: str = "") -> None:
        super().__init__(f"{REFUSED} {instead}".strip())


_scope: ContextVar[CostLimit | _Decision | None] = ContextVar("cost_access", default=None)
_outside: _Decision = _Decision.WHOLE


def require_decisions() -> None:
    """For processes that answer requests: what no door decided is refused, in any thread."""
    global _outside
    _outside = _Decision.UNDECIDED


@contextmanager
def no_decision() -> Iterator[None]:
    """Around a request, until its door decides."""
    token = _scope.set(_Decision.UNDECIDED)
    try:
        yield
    finally:
        _scope.reset(token)


@contextmanager
def cost_access(limit: CostLimit | None) -> Iterator[None]:
    """Inside, cost is that within the limit; None: of the whole account. Scopes nest; the innermost counts."""
    token = _scope.set(limit or _Decision.WHOLE)
    try:
        yield
    finally:
        _scope.reset(token)


def current_limit() -> CostLimit | None:
    """The limit in force, None for the whole account. Raises NoCostAccess where no door has decided."""
    decision = _scope.get() or _outside
    if decision is _Decision.UNDECIDED:
        raise NoCostAccess("no door has decided whose cost may be read: wrap the call in cost_access(limit)")
    return decision if isinstance(decision, CostLimit) else None


def limit_line() -> str:
    """What stands first in a file that a limited reader takes along; empty without a limit, and where no door has decided."""
    decision = _scope.get()
    return f"Cost access is limited to {decision.name}." if isinstance(decision, CostLimit) else ""


def sees_all_of(filters: Iterable[tuple[str, str]]) -> bool:
    """Whether a reader sees every line of what is narrowed to these dimensions and values, whatever lines there are."""
    limit = current_limit()
    return limit is None or any((name, value.lower()) in limit.whole_values for name, value in filters)


def sees_whole_account() -> bool:
    """Whether what is stored of the whole account may be shown. Raises NoCostAccess where no door has decided."""
    return current_limit() is None


def require_whole_account(instead: str = "") -> None:
    """For what is stored of the whole account, such as anomalies. Raises LimitedCostAccess for a limited reader, NoCostAccess
    where no door has decided."""
    if current_limit() is not None:
        raise LimitedCostAccess(instead)
