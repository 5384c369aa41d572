"""*Test connection*: attempts one after the other, each a finding; what follows the first that fails would fail too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from finops.connections.connector import CheckFinding, MonthConflict
from finops.lib.errors import UserError

T = TypeVar("T")


class CheckList:
    """`attempt` within `check_list`; `findings` afterwards."""

    def __init__(self, *, is_optional: bool = False) -> None:
        self.findings: list[CheckFinding] = []
        self._is_optional = is_optional

    def attempt(self, title: str, action: Callable[[], T]) -> T:
        """What the action gives. Where it raises UserError or MonthConflict, its text is the finding's fix, and the list ends."""
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
