from __future__ import annotations

from collections.abc import Callable

import pytest

from finops.lib.registry import Registry


def test_entries_are_in_the_order_they_were_added() -> None:
    numbers: Registry[int] = Registry("number")
    for name, number in (("two", 2), ("one", 1), ("three", 3)):
        numbers.add(name, number)

    assert list(numbers.items()) == [("two", 2), ("one", 1), ("three", 3)]
    assert list(numbers.values()) == [2, 1, 3]
    assert (len(numbers), numbers["one"], numbers.get("four")) == (3, 1, None)


def test_a_function_is_registered_and_stays_what_it_is() -> None:
    greetings: Registry[Callable[[str], str]] = Registry("greeting")

    @greetings.register("hello")
    def greet(name: str) -> str:
        return f"Hello {name}"

    assert greetings["hello"] is greet
    assert greet("Maya") == "Hello Maya"


def test_the_same_name_twice_is_refused_and_the_first_stays() -> None:
    numbers: Registry[int] = Registry("number")
    numbers.add("one", 1)

    with pytest.raises(ValueError, match=r"^The number 'one' is registered twice\.$"):
        numbers.add("one", 2)
    with pytest.raises(ValueError, match="registered twice"):
        numbers.register("one")(3)

    assert dict(numbers) == {"one": 1}
