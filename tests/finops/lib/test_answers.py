from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lib.answers import fit_to_size, group_by, places_within


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(-1, 70), st.integers(0, 3))
def test_as_much_as_fits_is_made(most: int, room: int, least: int) -> None:
    largest = fit_to_size(lambda count: "x" * count, lambda text: len(text) <= room, most, least=least)

    assert largest == ("x" * min(room, most) if least <= min(room, most) else None)


def test_places_are_counted_in_each_part_alone() -> None:
    words = ["beech", "ash", "birch", "alder", "oak"]

    assert places_within(words, lambda word: word[0]) == {
        "beech": 0,
        "ash": 0,
        "birch": 1,
        "alder": 1,
        "oak": 0,
    }


def test_groups_and_their_items_come_in_the_order_of_the_items() -> None:
    groups = group_by(iter(["beech", "ash", "birch", "oak"]), lambda word: word[0])

    assert list(groups.items()) == [("b", ["beech", "birch"]), ("a", ["ash"]), ("o", ["oak"])]
