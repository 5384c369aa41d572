"""A billing month of an account's cost as it would be written: the files of the lake, the statement, and the digest of
both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.costs.queries.sources import load_sources
from finops.data_exports.columns import (
    PROVIDER_COLUMNS,
    TEAM,
    CostColumns,
    SourceNames,
    added_columns,
    cost_tag_columns,
    extension_columns,
    focus_columns,
)
from finops.data_exports.parquet_files import MonthFiles
from finops.lake.engine import engine
from finops.lake.engine.compiler import Query, compile_query
from finops.lake.queries import MonthSegments, month_segments
from finops.lake.schema import EXTENSION_PREFIX, TAG_PREFIX, Kind, extension_name, tag_column, tag_key
from finops.lib.errors import UserError

FORMAT: Final = "1"
"""The version of the files' format: with a new one every month is written again."""


@dataclass(frozen=True)
class CostMonth:
    """The content of a month, and its fingerprint."""

    account: Account
    segments: MonthSegments
    query: Query
    tags: dict[str, str]
    left_out: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A hash of the lake's files, which never change, and of the whole statement: names of sources, rules of cost tags,
        owners of values, columns."""
        parts = [FORMAT, self.query.identity, *(file.path for file in self.segments.files)]
        return hashlib.sha256("\x00".join(parts).encode(errors="replace")).hexdigest()

    def write(self, folder: Path, progress: Callable[[], None]) -> MonthFiles:
        """Write the month's files into the folder. Raises as `engine.read_batches` and `MonthFiles.write`."""
        files = MonthFiles(folder, self.tags)
        with self._batches() as batches:
            files.write(batches, progress)
        return files

    @contextmanager
    def _batches(self) -> Iterator[Iterator[pa.RecordBatch]]:
        """Yield the lines, some thousand at a time."""
        segments = self.segments
        with engine.read_batches(
            segments.files,
            lambda files: self.query.sql(files, segments.first_day, segments.last_day),
            account=self.account,
        ) as reader:
            schema = self.query.result
            yield (batch if batch.schema == schema else batch.cast(schema) for batch in reader)


@dataclass(frozen=True)
class ExportDimensions:
    """The console's own columns of an account, resolved for all months of a run. Two queries, and those of resolving."""

    account: Account
    context: DimensionContext
    dimensions: dict[str, Dimension]
    left_out: tuple[str, ...]

    @classmethod
    def of(cls, account: Account) -> ExportDimensions:
        """Resolve the columns. A cost tag that cannot be resolved is left out, and reported."""
        context = load_sources(account).context(account)
        names = cost_tag_columns(CostTag.objects.filter(account=account).values_list("key", flat=True))
        dimension_names = {TEAM: "team", **{name: f"cost_tag:{key}" for key, name in names.items()}}
        dimensions, left_out = {}, []
        for name, dimension in dimension_names.items():
            try:
                dimensions[name] = registry.resolve(context, dimension)
            except UserError:
                left_out.append(name)
        return cls(account, context, dimensions, tuple(left_out))

    def month(self, month: date, excluded: Sequence[str]) -> CostMonth | None:
        """Return the month; None without a line. One query."""
        segments = month_segments(self.account, month)
        if segments is None:
            return None
        dimensions = {name: each for name, each in self.dimensions.items() if name not in excluded}
        added = added_columns(dimensions, SourceNames(tuple(sorted(self.context.source_names.items()))))
        tags = {name: tag_key(name) for name in sorted(segments.columns) if name.startswith(TAG_PREFIX)}
        extensions, hidden = self._provider_columns(segments, excluded, [name for name, _ in added])
        columns = CostColumns(
            added=added,
            extensions=tuple(extensions.items()),
            tags=tuple(tags.values()),
            excluded=frozenset(excluded),
            added_keys=tuple(dict.fromkeys(key for each in dimensions.values() for key in each.tag_keys)),
        )
        query = compile_query(Kind.COST, columns, columns.keys)
        shown = {} if "Tags" in excluded else {tag_column(key): key for key in columns.tags}
        return CostMonth(self.account, segments, query, shown, (*self.left_out, *hidden))

    def _provider_columns(
        self, segments: MonthSegments, excluded: Sequence[str], added: Sequence[str]
    ) -> tuple[dict[str, str], list[str]]:
        if PROVIDER_COLUMNS in excluded:
            return {}, []
        own = [extension_name(name) for name in segments.columns if name.startswith(EXTENSION_PREFIX)]
        return extension_columns(own, [*focus_columns(), *added])
