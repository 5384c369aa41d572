"""Places of widgets on a board of twelve columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from finops.lib.errors import UserError

COLUMNS: Final = 12
MAX_Y: Final = 999
MAX_HEIGHT: Final = 20


@dataclass(frozen=True, order=True)
class Place:
    """Columns x to x + w - 1, rows y to y + h - 1, both from 0."""

    x: int
    y: int
    w: int
    h: int

    @property
    def bottom(self) -> int:
        return self.y + self.h

    def overlaps(self, other: Place) -> bool:
        is_side_by_side = self.x + self.w <= other.x or other.x + other.w <= self.x
        return not (is_side_by_side or self.bottom <= other.y or other.bottom <= self.y)


@dataclass(frozen=True)
class PlacementRequest:
    """A widget's name in messages, and its place; None requests the first free one of the given size."""

    name: str
    place: Place | None
    width: int
    height: int


def places_of(requests: Sequence[PlacementRequest]) -> list[Place]:
    """Return the place of each widget, in their order: given places unchanged, even if they overlap; the others, in
    reading order, in the first gap left by those before.

    Raises UserError for a place beyond the board, and for two widgets with the same x and y, naming both. Cost: the
    square of the number of widgets.
    """
    for each in requests:
        if each.place is not None:
            _check(each.name, each.place)
    _check_apart(requests)
    occupied = [each.place for each in requests if each.place is not None]
    places = []
    for each in requests:
        place = each.place or first_free(occupied, each.width, each.height)
        if each.place is None:
            occupied.append(place)
        places.append(place)
    return places


def first_free(occupied: Sequence[Place], width: int, height: int) -> Place:
    """Return the highest, then leftmost free place of this size. It starts at the top, or directly below a widget:
    otherwise it could move up."""
    for y in sorted({0, *(place.bottom for place in occupied)}):
        for x in range(COLUMNS - width + 1):
            place = Place(x, y, width, height)
            if not any(place.overlaps(other) for other in occupied):
                return place
    raise AssertionError("below the lowest widget is always room")


def _check(name: str, place: Place) -> None:
    limits = (
        ("x", place.x, 0, COLUMNS - 1),
        ("y", place.y, 0, MAX_Y),
        ("w", place.w, 1, COLUMNS),
        ("h", place.h, 1, MAX_HEIGHT),
    )
    for field, value, low, high in limits:
        if not low <= value <= high:
            raise UserError(
                f"{name}: position.{field} is {low} to {high}, not {value}.", field="position", value=value
            )
    if place.x + place.w > COLUMNS:
        raise UserError(
            f"{name}: x {place.x} and w {place.w} reach column {place.x + place.w}; the dashboard has "
            f"{COLUMNS} columns. At x {place.x} the maximum width is {COLUMNS - place.x}.",
            field="position",
            value=place.x + place.w,
        )


def _check_apart(requests: Sequence[PlacementRequest]) -> None:
    first: dict[tuple[int, int], str] = {}
    for each in requests:
        if each.place is None:
            continue
        at = (each.place.x, each.place.y)
        if at in first:
            raise UserError(
                f"{first[at]} and {each.name} have the same position, x {at[0]} and y {at[1]}. Change "
                "one, or remove position to use the first free place.",
                field="position",
            )
        first[at] = each.name
