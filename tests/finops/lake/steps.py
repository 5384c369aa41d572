"""The steps of flush, merge and void, and a way to be there before and after each.

    with watching(lambda step: …):
        flush_usage(account)          # calls it with "before _take_chunk", "after _take_chunk", "before new_file", …

Only calls of the thread that watches count.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper

from finops.lake.storage import locks, segment_rewriter, segments, storage
from finops.lake.usage import compaction, flush, usage_removal
from finops.lib import durable_files

STEPS: list[tuple[Any, str]] = [
    (locks, "lock_usage"),
    (locks, "try_lock_compaction"),
    (flush, "_take_chunk"),
    (flush, "insert_usage_rows"),
    (compaction, "_due_segments"),
    (compaction, "retire"),
    (compaction, "insert_usage_rows"),
    (usage_removal, "_remove_waiting"),
    (usage_removal, "retire"),
    (usage_removal, "insert_usage_rows"),
    (segment_rewriter, "rows_of_batch"),
    (segment_rewriter, "_rows"),
    (segments, "_write"),
    (segments, "sha256"),
    (segments, "_insert_manifest_rows"),
    (storage.Storage, "new_file"),
    (storage.LocalStorage, "put"),
    (storage, "fsync"),
    (durable_files, "fsync"),
    (Path, "replace"),
    (Path, "unlink"),
    (BaseDatabaseWrapper, "_commit"),
]


@contextmanager
def watching(at: Callable[[str], None]) -> Iterator[None]:
    watched = threading.get_ident()

    def report_step(step: str) -> None:
        if threading.get_ident() == watched:
            at(step)

    with pytest.MonkeyPatch.context() as patch:
        for place, name in STEPS:
            patch.setattr(place, name, _between(report_step, getattr(place, name), name))
        yield


def _between(report_step: Callable[[str], None], step: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(step)
    def trace(*args: Any, **kwargs: Any) -> Any:
        report_step(f"before {name}")
        result = step(*args, **kwargs)
        report_step(f"after {name}")
        return result

    return trace
