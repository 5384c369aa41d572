"""Patches that only add, remove or replace members of a group by ID, applied as sets. scim2-models evaluates a filter
on each present member for each ID in the patch, and copies all members for each operation."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

MAX_OTHER_OPERATIONS: Final = 100
"""Operations of a patch that scim2-models applies: the cost of each grows with the members of the group."""
_ONE: Final = re.compile(r'members\[value eq "([0-9a-f-]{36})"\]', re.IGNORECASE)


@dataclass(frozen=True)
class MemberChange:
    """An operation on the members: add `ids`, remove them, or replace all members with them."""

    op: str
    ids: frozenset[uuid.UUID]

    def __call__(self, members: frozenset[uuid.UUID]) -> frozenset[uuid.UUID]:
        if self.op == "add":
            return members | self.ids
        return members - self.ids if self.op == "remove" else self.ids


def member_change(operation: Any) -> MemberChange | None:
    """Return the change of an operation in the form of `patch_operations`; None for any other operation, which
    scim2-models applies."""
    if not isinstance(operation, dict):
        return None
    op, path, value = (operation.get(name) for name in ("op", "path", "value"))
    if not isinstance(op, str) or not isinstance(path, str):
        return None
    op = op.lower()
    if op == "remove" and (match := _ONE.fullmatch(path)) and "value" not in operation:
        ids = _ids([{"value": match[1]}])
    elif (
        op in ("add", "remove", "replace") and path.lower() == "members" and isinstance(value, list) and value
    ):
        ids = _ids(value)
    else:
        return None
    return None if ids is None else MemberChange(op, ids)


def _ids(values: Sequence[Any]) -> frozenset[uuid.UUID] | None:
    """Return the IDs; None if a value is not a plain ID."""
    ids = set()
    for each in values:
        if not isinstance(each, dict) or each.keys() != {"value"} or not isinstance(each["value"], str):
            return None
        try:
            ids.add(uuid.UUID(each["value"]))
        except ValueError:
            return None
    return frozenset(ids)


def steps(operations: Sequence[Any]) -> Iterator[MemberChange | list[Any]]:
    """Split the operations in their order into changes of members by ID and lists of consecutive other operations."""
    for is_change, run in groupby(
        ((member_change(each), each) for each in operations), lambda pair: pair[0] is not None
    ):
        pairs = list(run)
        if is_change:
            yield from (change for change, _ in pairs if change is not None)
        else:
            yield [operation for _, operation in pairs]
