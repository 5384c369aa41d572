"""*Test connection*: attempts in order, each with a finding. The list ends at the first failure, because later attempts depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from finops.connections.connector import CheckFinding, MonthConflict
from finops.lib.errors import UserError

T = TypeVar("T")


class CheckList:
    """A list of findings. Call `attempt` inside `check_list`; read `findings` afterwards."""

    def __init__(self, *, is_optional: bool = False) -> None:
        self.findings: list[CheckFinding] = []
        self._is_optional = is_optional

    def attempt(self, title: str, action: Callable[[], T]) -> T:
        """Return the result of the action. If the action raises UserError or MonthConflict, add a finding with the
        error's text as its fix, and end the list."""
        try:
            result = action()
        except UserError as error:
            self.findings.append(CheckFinding(title, False, error.message, self._is_optional))
            raise _ListEnd from error
        except MonthConflict as error:
            self.findings.append(
                CheckFinding(title, False, f"{error} Test again in a moment.", self._is_optional)
            )
            raise _ListEnd from error
        self.findings.append(CheckFinding(title, True, is_optional=self._is_optional))
        return result


class _ListEnd(Exception):
    pass


@contextmanager
def check_list(*, is_optional: bool = False) -> Iterator[CheckList]:
    checks = CheckList(is_optional=is_optional)
    try:
        yield checks
    except _ListEnd:
        return
