"""What is deleted with a row: shown before, and kept in the audit log. Higher apps add to `dependants`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.db.models import Model

from finops.lib.registry import Registry
from finops.lib.sentences import join_with_and, truncate

DependantFinder = Callable[[Model], list[str]]
"""From a row, such as a team, to what goes with it, each in words, one query at most. The account is in scope."""

dependants: Registry[DependantFinder] = Registry("dependants")
"""By what the finder returns, a noun in the singular: `alert subscription`."""

SHOWN: Final = 3
KEPT: Final = 200
LONGEST: Final = 120


def dependants_of(row: Model) -> dict[str, list[str]]:
    """By noun, in the plural, what goes with the row; nouns with nothing are left out. A query for each finder.

    At most 200 of a noun, long ones cut. Call it before the row is deleted.
    """
    names_by_noun = {noun: finder(row) for noun, finder in dependants.items()}
    return {
        f"{noun}s": [truncate(each, LONGEST) for each in names[:KEPT]]
        for noun, names in names_by_noun.items()
        if names
    }


def audit_detail(row: Model) -> dict[str, list[str]]:
    """The same for the audit log's detail: `{"alert_subscriptions": […]}`."""
    return {nouns.replace(" ", "_"): names for nouns, names in dependants_of(row).items()}


def deletion_impact_text(row: Model) -> str:
    """`Also deletes 2 alert subscriptions: …, and ….` for who is about to delete the row; "" when nothing does."""
    return " ".join(_sentence(nouns, names) for nouns, names in dependants_of(row).items())


def _sentence(nouns: str, names: list[str]) -> str:
    more = len(names) - SHOWN
    shown = [f"“{name}”" for name in names[:SHOWN]] + ([f"{more} more"] if more > 0 else [])
    counted = f"1 {nouns.removesuffix('s')}" if len(names) == 1 else f"{len(names)} {nouns}"
    return f"Also deletes {counted}: {join_with_and(shown)}."
