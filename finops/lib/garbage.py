"""Control of Python's garbage collector while a program is loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Switch the garbage collector off inside the block. Modules imported there stay as long as the process: scanning them
    repeatedly takes a fifth of the processor time of loading, and would copy memory that a fork shares."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
