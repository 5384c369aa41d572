"""Rows that map one name to another, a list in the settings: added up to a limit, and removed one by one."""

from __future__ import annotations

from typing import TypeVar

from finops.lib.errors import UserError
from finops.unitcosts.models import CustomerAlias, UsageDimensionMapping

MappingRow = TypeVar("MappingRow", CustomerAlias, UsageDimensionMapping)


def insert(row: MappingRow, *, most: int, noun: str) -> MappingRow:
    """Raises UserError beyond `most` rows of the account in scope, ValidationError for a row that is not valid."""
    if type(row)._default_manager.count() >= most:
        raise UserError(f"An account has at most {most:,} {noun}; remove some first.")
    row.full_clean()
    row.save(force_insert=True)
    return row


def delete(model: type[MappingRow], pk: int, *, field: str, noun: str) -> MappingRow:
    """The row, which is gone then. Raises UserError where the account in scope has none."""
    row = model._default_manager.select_for_update().filter(pk=pk).first()
    if row is None:
        raise UserError(f"That {noun} is gone already.", field=field)
    row.delete()
    return row
