"""The bytes in files and rows whose form neither the database nor a type defines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.apps import apps
from django.conf import settings
from django.db.models import JSONField

from finops.lake.models import LakeRollup, LakeSegment
from tests.isolation.discovery import OUR_PREFIXES

ROWS_OF_EACH = 3
_FOLDER = re.compile(r"/[\w/.-]*/finops-demo-\w+/")
_SECONDS = re.compile(r'"seconds": [\d.e-]+')
_RANDOM = re.compile(r"[0-9a-f]{12,}")


def segments_text(lake: Path) -> str:
    """Columns of the first file of every source and kind, and of the first rollup of each source."""
    paths: dict[str, str] = {}
    for segment in LakeSegment.objects.unscoped().order_by("pk"):
        paths.setdefault(f"{segment.kind} of source {segment.source_id}", segment.path)
    for rollup in LakeRollup.objects.unscoped().order_by("pk"):
        paths.setdefault("rollup", rollup.path)
    return "".join(
        f"## {name}\n{_RANDOM.sub('RANDOM', path)}\n"
        + "".join(f"{line}\n" for line in _columns(lake / path))
        + "\n"
        for name, path in paths.items()
    )


def _columns(path: Path) -> Iterator[str]:
    file = pq.read_metadata(path)
    group, schema = file.row_group(0), pq.read_schema(path)
    yield f"format {file.format_version}, metadata {sorted(key.decode() for key in file.metadata or {})}"
    for index in range(group.num_columns):
        column = group.column(index)
        kind = file.schema.column(index)
        yield (
            f"{column.path_in_schema}  {schema.field(index).type}  {column.physical_type} {kind.logical_type}  "
            f"{column.compression}  {' '.join(sorted(column.encodings))}"
        )


def json_columns() -> dict[str, list[Any]]:
    """The first rows of each JSON column, of the models that have one."""
    values_by_column: dict[str, list[Any]] = {}
    for model in sorted(apps.get_models(), key=lambda model: model._meta.db_table):
        if not model.__module__.startswith(OUR_PREFIXES):
            continue
        for field in model._meta.concrete_fields:
            if isinstance(field, JSONField):
                rows = model._base_manager.order_by("pk").values_list(field.name, flat=True)
                values_by_column[f"{model._meta.db_table}.{field.column}"] = list(rows[:ROWS_OF_EACH])
    stored = json.dumps(values_by_column).replace(f"{settings.VAR_DIR}/", "FOLDER/")
    text = _SECONDS.sub('"seconds": 0', _FOLDER.sub("FOLDER/", stored))
    same: dict[str, list[Any]] = json.loads(text)
    return same
