"""An upload for workers that are killed after one of its steps (`tests.killed_workers`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from ingestion.services import chunks, uploads

STEPS = ("_fence", "check_batch", "store_events", "_write_ledger", "_keep_lines", "_move_on", "store_chunk")


def run_upload(at: Callable[[str], None], upload_id: int) -> None:
    """Call `at` after each step of the upload's chunks. Only in a process of its own, where the steps stay replaced."""
    for name in STEPS:
        module = uploads if name == "store_chunk" else chunks
        patch.object(module, name, _followed_by(at, name, getattr(module, name))).start()
    uploads.run_upload(upload_id)


def _followed_by(at: Callable[[str], None], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        at(f"after {name}")
        return result

    return call
