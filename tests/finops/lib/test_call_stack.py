from __future__ import annotations

import resource
from collections.abc import Callable

import pytest
from django.conf import settings

from finops.lib.call_stack import in_one_chunk

CALLS = 1_000
DEPTHS = range(300)


def test_a_loop_costs_the_same_at_each_depth_of_the_stack() -> None:
    """A chunk that is mapped anew for a call is one page fault at least."""
    nested = in_one_chunk(_loop_at_depth)

    assert max(_page_faults(nested, depth) for depth in DEPTHS) < CALLS // 2


def test_values_exceptions_and_names_are_those_of_the_function() -> None:
    assert in_one_chunk(_quotient)(6, by=3) == 2
    assert in_one_chunk(_quotient).__name__ == "_quotient"
    with pytest.raises(ZeroDivisionError):
        in_one_chunk(_quotient)(1, by=0)


def test_pages_have_their_own_slots_and_static_files_and_apis_keep_theirs() -> None:
    names = settings.MIDDLEWARE
    place = names.index("finops.lib.call_stack.in_one_chunk")

    assert names.index("finops.web.static_files.StaticFilesMiddleware") < place
    assert place < names.index("finops.web.compression.CompressionMiddleware")


def _page_faults(nested: Callable[[int], None], depth: int) -> int:
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    nested(depth)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def _loop_at_depth(depth: int) -> None:
    if depth:
        _loop_at_depth(depth - 1)
        return
    for number in range(CALLS):
        _quotient(number, by=1)


def _quotient(number: float, *, by: float) -> float:
    return number / by
