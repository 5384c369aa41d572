"""Rules weighed against each other, so that each line of the bills is counted once. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from finops.insights.savings.candidates import Candidate, LineKey
from finops.insights.savings.rules import PRECEDENCE, RULES
from finops.lib.spoken import listed

_PLACE = {rule.name: place for place, rule in enumerate(PRECEDENCE)}


def weighed(candidates: Iterable[Candidate]) -> list[Candidate]:
    """In the order of the rules, each keeps the lines that no earlier one has, and says what it stands instead of.

    What proves no saving comes last: it adds nothing to a total."""
    ordered = sorted(candidates, key=lambda each: (each.saving is None, _PLACE[each.rule], each.key))
    owner: dict[LineKey, str] = {}
    kept: list[Candidate] = []
    instead: dict[str, set[str]] = defaultdict(set)
    for each in ordered:
        free = [piece for piece in each.pieces if piece.line not in owner]
        taken = {owner[piece.line] for piece in each.pieces if piece.line in owner}
        for key in taken:
            instead[key].add(each.rule)
        if not free:
            continue
        mine = each.with_pieces(free, _lowered(len(each.pieces) - len(free), taken, kept)) if taken else each
        if mine.is_worth_listing:
            kept.append(mine)
            owner |= {piece.line: mine.key for piece in free}
    return [replace(each, instead_of=frozenset(instead[each.key])) for each in kept]


def _lowered(count: int, by: Collection[str], kept: Iterable[Candidate]) -> str:
    rules = sorted({RULES[each.rule].label for each in kept if each.key in by})
    noun = "resource is" if count == 1 else "resources are"
    return f"{count} {noun} counted by {listed(rules)} instead."
