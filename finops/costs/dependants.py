"""Rows deleted with another row: shown before, and kept in the audit log. Higher apps register in `dependants`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.db.models import Model

from finops.lib.registry import Registry
from finops.lib.sentences import join_first, truncate

DependantFinder = Callable[[Model], list[str]]
"""A function from a row, such as a team, to its dependants in words. At most one query. The account is in scope."""

dependants: Registry[DependantFinder] = Registry("dependants")
"""Finders by the noun of the rows that they return, in the singular: `alert subscription`."""

SHOWN: Final = 3
KEPT: Final = 200
LONGEST: Final = 120


def dependants_of(row: Model) -> dict[str, list[str]]:
    """Return the row's dependants by noun in the plural, without empty nouns. One query for each finder.

    At most 200 per noun; long names are truncated. Call before the row is deleted.
    """
    names_by_noun = {noun: finder(row) for noun, finder in dependants.items()}
    return {
        f"{noun}s": [truncate(each, LONGEST) for each in names[:KEPT]]
        for noun, names in names_by_noun.items()
        if names
    }


def audit_detail(row: Model) -> dict[str, list[str]]:
    """Return the dependants for the audit log's detail: `{"alert_subscriptions": […]}`."""
    return {nouns.replace(" ", "_"): names for nouns, names in dependants_of(row).items()}


def deletion_impact_text(row: Model) -> str:
    """Return the text before a deletion, `Also deletes 2 alert subscriptions: …, and ….`; "" without any."""
    return " ".join(_sentence(nouns, names) for nouns, names in dependants_of(row).items())


def _sentence(nouns: str, names: list[str]) -> str:
    shown = join_first([f"“{name}”" for name in names], SHOWN)
    counted = f"1 {nouns.removesuffix('s')}" if len(names) == 1 else f"{len(names)} {nouns}"
    return f"Also deletes {counted}: {shown}."
