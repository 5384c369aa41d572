"""Files in the bucket that no manifest names, left by killed attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import date

from finops.connections.transports.bucket import BucketObject, StorageBucket
from finops.data_exports.layout import ExportLayout
from finops.data_exports.schemas import MonthManifest


def orphan_files(
    bucket: StorageBucket, layout: ExportLayout, listed: Mapping[str, BucketObject], stored: Collection[str]
) -> Iterator[str]:
    """Return the keys among `listed` that their month's manifest in the bucket does not name, or whose month has no
    manifest. `stored` are the keys of months in the database: a month with only those is unchanged. One read for each other
    month. Raises SourceError."""
    by_month: dict[tuple[str, date], list[str]] = defaultdict(list)
    for key in listed:
        if (place := layout.place_of(key)) is not None:
            by_month[place].append(key)
    for (dataset, month), keys in by_month.items():
        if set(keys) <= set(stored):
            continue
        # A run may have died after the manifest, and before the database had it.
        manifest = listed.get(layout.manifest(dataset, month))
        named = _names(bucket, manifest) if manifest is not None else set(stored)
        yield from (key for key in keys if key not in named)


def _names(bucket: StorageBucket, manifest: BucketObject) -> set[str]:
    read: MonthManifest = bucket.read_json(manifest, MonthManifest)
    return {file.key for file in read.files}
