"""Where widgets stand, by generated boards."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.dashboards.placement import COLUMNS, Place, PlacementRequest, first_free, places_of
from finops.lib.errors import UserError
from tests.examples import examples


@st.composite
def _places(draw: st.DrawFn) -> Place:
    x = draw(st.integers(0, COLUMNS - 1))
    return Place(x, draw(st.integers(0, 12)), draw(st.integers(1, COLUMNS - x)), draw(st.integers(1, 5)))


@st.composite
def _boards(draw: st.DrawFn) -> list[PlacementRequest]:
    """Widgets with and without places, no two of which begin at the same point."""
    given_places = draw(st.lists(_places(), max_size=12, unique_by=lambda place: (place.x, place.y)))
    sizes = draw(st.lists(st.tuples(st.integers(1, COLUMNS), st.integers(1, 5)), max_size=12))
    requests = [PlacementRequest("", place, 3, 3) for place in given_places] + [
        PlacementRequest("", None, *size) for size in sizes
    ]
    return list(draw(st.permutations(requests)))


def _fills(places: list[Place], x: int, y: int, width: int, height: int) -> bool:
    """Whether a rectangle hits a place, cell by cell."""
    cells = {(column, row) for column in range(x, x + width) for row in range(y, y + height)}
    return any(
        (column, row) in cells
        for place in places
        for column in range(place.x, place.x + place.w)
        for row in range(place.y, place.bottom)
    )


@settings(max_examples=examples(60), deadline=None)
@given(_boards())
def test_given_places_stay_and_the_others_overlap_nothing(wanted: list[PlacementRequest]) -> None:
    places = places_of(wanted)

    for each, place in zip(wanted, places, strict=True):
        assert each.place in (None, place)
        assert place.x + place.w <= COLUMNS
    free = [index for index, each in enumerate(wanted) if each.place is None]
    for first, other in combinations(range(len(places)), 2):
        if first in free or other in free:
            assert not places[first].overlaps(places[other])


@settings(max_examples=examples(60), deadline=None)
@given(_boards())
def test_placing_what_was_placed_changes_nothing(wanted: list[PlacementRequest]) -> None:
    places = places_of(wanted)

    assert places_of([PlacementRequest("", place, 1, 1) for place in places]) == places


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(_places(), max_size=8), st.integers(1, COLUMNS), st.integers(1, 4))
def test_no_place_before_the_first_free_one_in_reading_order_is_free(
    occupied: list[Place], width: int, height: int
) -> None:
    free_place = first_free(occupied, width, height)

    before = [
        (x, y)
        for y in range(free_place.y + 1)
        for x in range(COLUMNS - width + 1)
        if (y, x) < (free_place.y, free_place.x)
    ]
    assert all(_fills(occupied, x, y, width, height) for x, y in before)


@settings(max_examples=examples(40), deadline=None)
@given(_boards(), _places())
def test_two_widgets_at_one_point_are_refused_and_both_named(
    wanted: list[PlacementRequest], place: Place
) -> None:
    twice = [
        PlacementRequest("the one", place, 1, 1),
        *wanted,
        PlacementRequest("the other", Place(place.x, place.y, 1, 1), 1, 1),
    ]
    single_places = [
        each
        for each in twice
        if each.name or each.place is None or (each.place.x, each.place.y) != (place.x, place.y)
    ]

    with pytest.raises(
        UserError, match=f"the one and the other have the same position, x {place.x} and y {place.y}"
    ):
        places_of(single_places)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place(8, 0, 6, 2), "x 8 and w 6 reach column 14; the dashboard has 12 columns"),
        (Place(12, 0, 1, 1), "position.x is 0 to 11, not 12"),
        (Place(-1, 0, 1, 1), "position.x is 0 to 11, not -1"),
        (Place(0, 1000, 1, 1), "position.y is 0 to 999, not 1000"),
        (Place(0, 0, 0, 1), "position.w is 1 to 12, not 0"),
        (Place(0, 0, 1, 21), "position.h is 1 to 20, not 21"),
    ],
    ids=["beyond", "x", "negative", "y", "w", "h"],
)
def test_a_place_beyond_the_board_is_refused(place: Place, message: str) -> None:
    with pytest.raises(UserError, match="widget 1") as problem:
        places_of([PlacementRequest("widget 1", place, 1, 1)])

    assert message in problem.value.message
