"""Rules weighed against each other, so that each line of the bills is counted once. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace

from finops.insights.savings.candidates import Candidate, LineKey, Piece, names_of
from finops.insights.savings.rules import PRECEDENCE, RULES
from finops.lib.sentences import join_with_and

_PLACE = {rule.name: place for place, rule in enumerate(PRECEDENCE)}


def deduplicate_by_precedence(candidates: Iterable[Candidate]) -> list[Candidate]:
    """In the order of the rules, each keeps the lines that no earlier one has, and says what it stands instead of.

    What proves no saving comes last: it adds nothing to a total."""
    ordered = sorted(candidates, key=lambda each: (each.saving is None, _PLACE[each.rule], each.key))
    owner = _Owners()
    result: list[Candidate] = []
    instead: dict[str, set[str]] = defaultdict(set)
    for each in ordered:
        owners = [(piece, owner.owner_of(piece)) for piece in each.pieces]
        free = [piece for piece, key in owners if key is None]
        owning_keys = {key for _, key in owners if key is not None}
        for key in owning_keys:
            instead[key].add(each.rule)
        if not free:
            continue
        mine = (
            each.with_pieces(free, _lowered_text(len(each.pieces) - len(free), owning_keys, result))
            if owning_keys
            else each
        )
        if mine.is_worth_listing:
            result.append(mine)
            owner.claim(free, mine.key)
    return [replace(each, instead_of=frozenset(instead[each.key])) for each in result]


class _Owners:
    """Which recommendation has which lines: of a resource and usage type, or of a resource as a whole."""

    def __init__(self) -> None:
        self._lines: dict[LineKey, str] = {}
        self._resources: dict[tuple[str, str], str] = {}
        self._wholes: dict[tuple[str, str], str] = {}

    def owner_of(self, piece: Piece) -> str | None:
        names = _resource_keys(piece)
        owners = self._resources if piece.whole else self._wholes
        return next((owners[name] for name in names if name in owners), self._lines.get(piece.line))

    def claim(self, pieces: Iterable[Piece], key: str) -> None:
        for piece in pieces:
            self._lines[piece.line] = key
            for name in _resource_keys(piece):
                self._resources.setdefault(name, key)
                if piece.whole:
                    self._wholes[name] = key


def _resource_keys(piece: Piece) -> list[tuple[str, str]]:
    return [(piece.line.source, name) for name in sorted(names_of(piece.line.resource))]


def _lowered_text(count: int, by: Collection[str], result: Iterable[Candidate]) -> str:
    rules = sorted({RULES[each.rule].label for each in result if each.key in by})
    noun = "resource is" if count == 1 else "resources are"
    return f"{count} {noun} counted by {join_with_and(rules)} instead."
