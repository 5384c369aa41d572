"""Patches of a group that only add, remove or replace members by their IDs, as sets of IDs. scim2-models evaluates a filter on each
member that is there for each that is named, and copies all for each operation."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

MAX_OTHER_OPERATIONS: Final = 100
"""Of a patch, that are for scim2-models: each may cost as much as the group has members."""
_ONE: Final = re.compile(r'members\[value eq "([0-9a-f-]{36})"\]', re.IGNORECASE)


@dataclass(frozen=True)
class MemberChange:
    """What an operation makes of the members: `ids` are added, removed, or all there are."""

    op: str
    ids: frozenset[uuid.UUID]

    def __call__(self, members: frozenset[uuid.UUID]) -> frozenset[uuid.UUID]:
        if self.op == "add":
            return members | self.ids
        return members - self.ids if self.op == "remove" else self.ids


def member_change(operation: Any) -> MemberChange | None:
    """Of an operation as `patch_operations` leaves it; None for any other, which scim2-models applies."""
    if not isinstance(operation, dict):
        return None
    op, path, value = (operation.get(name) for name in ("op", "path", "value"))
    if not isinstance(op, str) or not isinstance(path, str):
        return None
    op = op.lower()
    if op == "remove" and (one := _ONE.fullmatch(path)) and "value" not in operation:
        ids = _ids([{"value": one[1]}])
    elif (
        op in ("add", "remove", "replace") and path.lower() == "members" and isinstance(value, list) and value
    ):
        ids = _ids(value)
    else:
        return None
    return None if ids is None else MemberChange(op, ids)


def _ids(values: Sequence[Any]) -> frozenset[uuid.UUID] | None:
    """None where one is no plain ID."""
    found = set()
    for each in values:
        if not isinstance(each, dict) or each.keys() != {"value"} or not isinstance(each["value"], str):
            return None
        try:
            found.add(uuid.UUID(each["value"]))
        except ValueError:
            return None
    return frozenset(found)


def steps(operations: Sequence[Any]) -> Iterator[MemberChange | list[Any]]:
    """The operations in their order: changes of members by ID, and lists of others that follow one another."""
    for is_change, run in groupby(
        ((member_change(each), each) for each in operations), lambda pair: pair[0] is not None
    ):
        pairs = list(run)
        if is_change:
            yield from (change for change, _ in pairs if change is not None)
        else:
            yield [operation for _, operation in pairs]
