"""pytest plugin: garbage collection is rare while tests run, and never covers objects from before the first test.

Imported modules and some ten thousand collected tests stay until the end. Without this plugin each full collection
traverses all of them, a tenth of the suite's processor time.
"""

from __future__ import annotations

import gc

import pytest

# New objects until a collection of generation 0, then collections of 0 until one of 1, and of 1 until one of 2; Python's defaults are
# 700, 10, 10. Larger values would keep gigabytes of garbage.
THRESHOLDS = (20_000, 10, 10)

gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
