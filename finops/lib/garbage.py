"""Python's collector of garbage, while a program is loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """What is imported inside stays as long as the process does. To look for garbage among it, again and again, takes a
    fifth of the processor time that loading takes, and would copy what a fork shares."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
