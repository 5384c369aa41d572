"""pytest plugin: Python looks for garbage rarely while tests run, and never at what is there before the first of them.

What is imported and collected, some ten thousand tests, stays until the end: without this each full look walks over all of
it, a tenth of the suite's processor time.
"""

from __future__ import annotations

import gc

import pytest

# New objects until a look at the youngest, looks until one at the next, and until a full one; Python's are 700, 10, 10. More would hold
# gigabytes of what tests left.
THRESHOLDS = (20_000, 10, 10)

gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
